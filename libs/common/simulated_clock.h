#ifndef LIBS_COMMON_SIMULATED_CLOCK_H_
#define LIBS_COMMON_SIMULATED_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"

namespace kq {

// A clock that stands still until a test moves it. A thread in SleepUntil blocks
// until the clock has reached its deadline:
//
//   SimulatedClock clock(kStart);
//   std::thread worker([&] { clock.SleepFor(absl::Seconds(5)); done = true; });
//   clock.AwaitSleepers(1);          // the worker sleeps now
//   clock.Advance(absl::Seconds(5)); // ... and goes on
//
// Thread-safe.
class SimulatedClock : public Clock {
 public:
  explicit SimulatedClock(absl::Time start = absl::UnixEpoch()) : now_(start) {}

  absl::Time TimeNow() const override;
  void SleepUntil(absl::Time deadline) const override;

  void Advance(absl::Duration duration);
  // May go backwards, as the machine's clock may.
  void SetTime(absl::Time now);

  // Blocks until at least `count` threads sleep on this clock.
  void AwaitSleepers(int count) const;

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  mutable int sleepers_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace kq

#endif  // LIBS_COMMON_SIMULATED_CLOCK_H_
