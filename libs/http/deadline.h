#ifndef LIBS_HTTP_DEADLINE_H_
#define LIBS_HTTP_DEADLINE_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

namespace kq {

// The moment by which a blocking call must return, in steady time: a jump of
// the wall clock neither shortens nor lengthens it. A value.
class Deadline {
 public:
  // `timeout` from now; at most a day, so that infinity does not overflow.
  static Deadline After(absl::Duration timeout) {
    timeout = std::clamp(timeout, absl::ZeroDuration(), absl::Hours(24));
    return Deadline(std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout));
  }

  // What is left; zero once it has passed.
  absl::Duration Left() const {
    return std::max(absl::FromChrono(at_ - std::chrono::steady_clock::now()), absl::ZeroDuration());
  }
  bool Passed() const { return Left() == absl::ZeroDuration(); }
  // The earlier one of this and `timeout` from now.
  Deadline ButWithin(absl::Duration timeout) const { return Deadline(std::min(at_, After(timeout).at_)); }

  std::chrono::steady_clock::time_point at() const { return at_; }

 private:
  explicit Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}

  std::chrono::steady_clock::time_point at_;
};

}  // namespace kq

#endif  // LIBS_HTTP_DEADLINE_H_
