#ifndef LIBS_COMMON_BACKOFF_H_
#define LIBS_COMMON_BACKOFF_H_

#include "absl/time/time.h"

namespace kq {

// Exponential delays: first, 2*first, 4*first, ... up to `limit`, each made
// longer or shorter by up to `jitter` (0.1 = 10 %). Pure: the caller brings the
// attempt and a random number, so that the same input gives the same delay.
struct Backoff {
  absl::Duration first = absl::Seconds(1);
  absl::Duration limit = absl::Minutes(1);
  double jitter = 0.1;

  // The delay before attempt number `attempt`, counted from 0. `random` is in
  // [0, 1); 0.5 means no jitter.
  absl::Duration Delay(int attempt, double random = 0.5) const;
};

}  // namespace kq

#endif  // LIBS_COMMON_BACKOFF_H_
