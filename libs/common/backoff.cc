#include "libs/common/backoff.h"

#include <algorithm>

namespace kq {

absl::Duration Backoff::Delay(int attempt, double random) const {
  absl::Duration delay = std::min(first, limit);
  // Ends early: once the limit is reached no further attempt changes anything.
  for (int i = 0; i < attempt && delay < limit && delay > absl::ZeroDuration(); ++i) {
    delay = std::min(delay * 2, limit);
  }
  return delay * (1.0 + jitter * (2.0 * random - 1.0));
}

}  // namespace kq
