#include "services/visibility/outcome.h"

#include "libs/common/log.h"

namespace kq::visibility {
namespace {

constexpr absl::Duration kBetweenWords = absl::Seconds(10);

}  // namespace

void Outcome::Set(const absl::Status& last) {
  const absl::Time now = clock_->TimeNow();
  const MutexLock lock(&mu_);
  if (last.ok()) {
    if (!last_.ok()) KQ_LOG(Info, "In order again", {{"part", part_}});
  } else if (last_.ok() || (last != told_ && now - told_at_ >= kBetweenWords)) {
    KQ_LOG(Warning, "Not in order", {{"part", part_}, {"err", last}});
    told_ = last;
    told_at_ = now;
  }
  last_ = last;
}

absl::Status Outcome::Last() const {
  const MutexLock lock(&mu_);
  return last_;
}

}  // namespace kq::visibility
