#ifndef LIBS_KUBE_CALL_RATE_H_
#define LIBS_KUBE_CALL_RATE_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"

namespace kq {

// Holds callers back to a rate: `burst` at once, then `per_second`. Turns are
// given in the order of arrival. Thread-safe.
class CallRate {
 public:
  // `per_second` 0: no limit. `clock` must outlive this.
  CallRate(double per_second, int burst, const Clock* clock);

  // Blocks until it is the caller's turn. kUnavailable at once, and no turn is
  // used up, if that would take longer than `patience`.
  absl::Status Wait(absl::Duration patience);

 private:
  const absl::Duration interval_;  // between two calls; zero: no limit
  const absl::Duration ahead_;     // how far a burst may run ahead of the rate
  const Clock* const clock_;
  Mutex mu_;
  // When the call after those admitted so far would be due at the rate alone.
  absl::Time next_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace kq

#endif  // LIBS_KUBE_CALL_RATE_H_
