#include "libs/kube/call_rate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kq {

CallRate::CallRate(double per_second, int burst, const Clock* clock) : per_second_(per_second), clock_(clock) {
  if (per_second > 0) bucket_.emplace(per_second, std::max(burst, 1));
}

absl::Status CallRate::Wait(absl::Duration patience) {
  absl::Time turn;
  {
    MutexLock lock(&mu_);
    if (!bucket_.has_value()) return absl::OkStatus();
    const absl::Time now = clock_->TimeNow();
    const absl::Duration wait = bucket_->NextFree(now) - now;
    if (wait > patience) {
      return absl::UnavailableError(absl::StrCat("held back by the limit of ", per_second_,
                                                 " calls a second; the next turn is in ", absl::FormatDuration(wait)));
    }
    turn = now + bucket_->Reserve(now);
    if (turn <= now) return absl::OkStatus();
  }
  clock_->SleepUntil(turn);
  return absl::OkStatus();
}

}  // namespace kq
