#ifndef LIBS_COMMON_CLOCK_H_
#define LIBS_COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace kq {

// The time of the outside world. Pure code takes `now` as an argument instead;
// only shells hold a Clock. The method names are those of a newer Abseil.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual absl::Time TimeNow() const = 0;
  // Blocks until the clock shows `deadline` or later.
  virtual void SleepUntil(absl::Time deadline) const = 0;
  void SleepFor(absl::Duration duration) const { SleepUntil(TimeNow() + duration); }

  // The machine's clock. Lives for ever.
  static const Clock& Real();
};

}  // namespace kq

#endif  // LIBS_COMMON_CLOCK_H_
