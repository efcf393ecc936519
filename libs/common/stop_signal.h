#ifndef LIBS_COMMON_STOP_SIGNAL_H_
#define LIBS_COMMON_STOP_SIGNAL_H_

#include <algorithm>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"

namespace kq {

// By which one thread tells others to end, and by which these rest between two turns:
//
//   do {
//     Work();
//   } while (stop.WaitFor(absl::Seconds(1)));
//
// Thread-safe.
class StopSignal {
 public:
  // Ends all waits, now and later.
  void Stop() {
    const MutexLock lock(&mu_);
    stopped_ = true;
    called_.SignalAll();
  }

  bool stopped() const {
    const MutexLock lock(&mu_);
    return stopped_;
  }

  // Blocks until `duration` has passed; false at once when Stop is called, or was. In
  // steady time: a wall clock that is set back does not lengthen the rest of a leader
  // who must renew his lease.
  bool WaitFor(absl::Duration duration) const {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto end = now() + absl::ToChronoNanoseconds(std::clamp(duration, absl::ZeroDuration(), absl::Hours(24)));
    const MutexLock lock(&mu_);
    while (!stopped_ && now() < end) called_.WaitFor(&mu_, absl::FromChrono(end - now()));
    return !stopped_;
  }

 private:
  mutable Mutex mu_;
  mutable CondVar called_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace kq

#endif  // LIBS_COMMON_STOP_SIGNAL_H_
