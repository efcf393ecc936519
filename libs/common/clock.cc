#include "libs/common/clock.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace kq {
namespace {

class RealClock : public Clock {
 public:
  absl::Time TimeNow() const override { return absl::Now(); }

  // In steps, because the machine's clock may be set while we sleep.
  void SleepUntil(absl::Time deadline) const override {
    for (absl::Duration left = deadline - TimeNow(); left > absl::ZeroDuration(); left = deadline - TimeNow()) {
      absl::SleepFor(std::min(left, absl::Minutes(1)));
    }
  }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock* const clock = new RealClock;  // never destroyed: threads may outlive main
  return *clock;
}

}  // namespace kq
