#ifndef LIBS_COMMON_MAILBOX_H_
#define LIBS_COMMON_MAILBOX_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"

namespace kq {

// Many writers, one reader. The reader takes everything that is there at once,
// in the order it was posted. Bounded: beyond `limit` messages Post refuses, and
// the writer decides what that means (a watch lists again later). Thread-safe.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t limit) : limit_(limit) {}

  // False if the mailbox is full: `message` was not taken.
  [[nodiscard]] bool Post(T message) {
    MutexLock lock(&mu_);
    if (messages_.size() >= limit_) return false;
    messages_.push_back(std::move(message));
    arrived_.SignalAll();
    return true;
  }

  // For what must never be lost, such as the answer to a write: taken even
  // beyond the limit. The caller bounds how many of these there can be.
  void PostAlways(T message) {
    MutexLock lock(&mu_);
    messages_.push_back(std::move(message));
    arrived_.SignalAll();
  }

  // All messages; waits up to `timeout` if there are none and nobody called Wake.
  std::vector<T> TakeAll(absl::Duration timeout) {
    MutexLock lock(&mu_);
    if (messages_.empty() && !woken_ && timeout > absl::ZeroDuration()) arrived_.WaitFor(&mu_, timeout);
    woken_ = false;
    return std::exchange(messages_, {});
  }

  // Lets the reader return from TakeAll, or from the next one, without a message.
  void Wake() {
    MutexLock lock(&mu_);
    woken_ = true;
    arrived_.SignalAll();
  }

  size_t Size() const {
    MutexLock lock(&mu_);
    return messages_.size();
  }

 private:
  const size_t limit_;
  mutable Mutex mu_;
  CondVar arrived_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<T> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // LIBS_COMMON_MAILBOX_H_
