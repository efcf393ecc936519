#ifndef LIBS_KUBE_CALL_RATE_H_
#define LIBS_KUBE_CALL_RATE_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/common/token_bucket.h"

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
  const double per_second_;
  const Clock* const clock_;
  Mutex mu_;
  std::optional<TokenBucket> bucket_ ABSL_GUARDED_BY(mu_);  // none: no limit
};

}  // namespace kq

#endif  // LIBS_KUBE_CALL_RATE_H_
