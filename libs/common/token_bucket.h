#ifndef LIBS_COMMON_TOKEN_BUCKET_H_
#define LIBS_COMMON_TOKEN_BUCKET_H_

#include <algorithm>

#include "absl/time/time.h"

namespace kq {

// Limits a rate: `per_second` actions in the long run, up to `burst` at once.
// Full at the start. Pure: the time is an argument; one that lies before an
// earlier one counts as that one. Not thread-safe.
class TokenBucket {
 public:
  // REQUIRES: per_second > 0, burst >= 1.
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Takes one token if there is one.
  [[nodiscard]] bool TryTake(absl::Time now) {
    Refill(now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  // Takes one token, from the future if need be, and returns how long the
  // caller must wait before it acts. Callers bound how many wait.
  [[nodiscard]] absl::Duration Reserve(absl::Time now) {
    Refill(now);
    tokens_ -= 1;
    return tokens_ >= 0 ? absl::ZeroDuration() : absl::Seconds(-tokens_ / per_second_);
  }

  // From when on TryTake succeeds; `now` if it does already.
  absl::Time NextFree(absl::Time now) {
    Refill(now);
    return tokens_ >= 1 ? now : now + absl::Seconds((1 - tokens_) / per_second_) + absl::Nanoseconds(1);
  }

 private:
  void Refill(absl::Time now) {
    if (last_ == absl::InfinitePast()) last_ = now;
    if (now <= last_) return;
    tokens_ = std::min(burst_, tokens_ + absl::ToDoubleSeconds(now - last_) * per_second_);
    last_ = now;
  }

  double per_second_;
  double burst_;
  double tokens_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace kq

#endif  // LIBS_COMMON_TOKEN_BUCKET_H_
