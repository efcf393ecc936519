#include "libs/kube/call_rate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kq {

CallRate::CallRate(double per_second, int burst, const Clock* clock)
    : interval_(per_second > 0 ? absl::Seconds(1) / per_second : absl::ZeroDuration()),
      ahead_(interval_ * (std::max(burst, 1) - 1)),
      clock_(clock) {}

absl::Status CallRate::Wait(absl::Duration patience) {
  if (interval_ == absl::ZeroDuration()) return absl::OkStatus();
  absl::Time turn;
  {
    MutexLock lock(&mu_);
    const absl::Time now = clock_->TimeNow();
    const absl::Time due = std::max(next_, now);
    turn = due - ahead_;
    if (turn - now > patience) {
      return absl::UnavailableError(absl::StrCat("held back by the limit of ", absl::Seconds(1) / interval_,
                                                 " calls a second; the next turn is in ",
                                                 absl::FormatDuration(turn - now)));
    }
    next_ = due + interval_;
    if (turn <= now) return absl::OkStatus();
  }
  clock_->SleepUntil(turn);
  return absl::OkStatus();
}

}  // namespace kq
