#ifndef SERVICES_VISIBILITY_OUTCOME_H_
#define SERVICES_VISIBILITY_OUTCOME_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"

namespace kq::visibility {

// How the last try of something that is tried again and again went, such as to renew
// a certificate. The log tells when it begins to fail, when it fails in other words (at
// most every ten seconds), and when it goes well again. Thread-safe.
class Outcome {
 public:
  // `part` names it in the log; `clock` must outlive the object.
  Outcome(std::string part, const Clock* clock) : part_(std::move(part)), clock_(clock) {}

  void Set(const absl::Status& last);
  // OK before the first try.
  absl::Status Last() const;
  const std::string& part() const { return part_; }

 private:
  const std::string part_;
  const Clock* const clock_;
  mutable Mutex mu_;
  absl::Status last_ ABSL_GUARDED_BY(mu_);
  absl::Status told_ ABSL_GUARDED_BY(mu_);  // the last trouble in the log
  absl::Time told_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_OUTCOME_H_
