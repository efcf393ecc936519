#ifndef LIBS_KUBE_FORWARD_TIME_H_
#define LIBS_KUBE_FORWARD_TIME_H_

#include "absl/time/time.h"
#include "libs/common/clock.h"

namespace kq {

// A time that follows a clock forwards and stands still when the clock is set
// back, so that a wait measured with it is never longer than it was meant.
// Only for differences: after a jump it is no longer the time of day. Not
// thread-safe.
class ForwardTime {
 public:
  // `clock` must outlive it.
  explicit ForwardTime(const Clock* clock) : clock_(clock), wall_(clock->TimeNow()), now_(wall_) {}

  absl::Time Now() {
    const absl::Time wall = clock_->TimeNow();
    if (wall > wall_) now_ += wall - wall_;
    wall_ = wall;
    return now_;
  }

 private:
  const Clock* clock_;
  absl::Time wall_;
  absl::Time now_;
};

}  // namespace kq

#endif  // LIBS_KUBE_FORWARD_TIME_H_
