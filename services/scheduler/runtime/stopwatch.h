#ifndef SERVICES_SCHEDULER_RUNTIME_STOPWATCH_H_
#define SERVICES_SCHEDULER_RUNTIME_STOPWATCH_H_

#include <chrono>

#include "absl/time/time.h"

namespace kq::scheduler {

// How long something took, for metrics alone: steady, so that a jump of the
// wall clock does not show as a duration.
class Stopwatch {
 public:
  // Time since the start or the last Lap.
  absl::Duration Lap() {
    const auto now = std::chrono::steady_clock::now();
    const absl::Duration lap = absl::FromChrono(now - start_);
    start_ = now;
    return lap;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_STOPWATCH_H_
