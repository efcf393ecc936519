#include "libs/common/simulated_clock.h"

namespace kq {

absl::Time SimulatedClock::TimeNow() const {
  MutexLock lock(&mu_);
  return now_;
}

void SimulatedClock::SleepUntil(absl::Time deadline) const {
  MutexLock lock(&mu_);
  if (now_ >= deadline) return;
  ++sleepers_;
  changed_.SignalAll();
  while (now_ < deadline) changed_.WaitFor(&mu_, absl::InfiniteDuration());
  --sleepers_;
}

void SimulatedClock::Advance(absl::Duration duration) {
  MutexLock lock(&mu_);
  now_ += duration;
  changed_.SignalAll();
}

void SimulatedClock::SetTime(absl::Time now) {
  MutexLock lock(&mu_);
  now_ = now;
  changed_.SignalAll();
}

void SimulatedClock::AwaitSleepers(int count) const {
  MutexLock lock(&mu_);
  while (sleepers_ < count) changed_.WaitFor(&mu_, absl::InfiniteDuration());
}

}  // namespace kq
