#include "services/scheduler/plugins/queue_selector.h"

namespace kq::scheduler {

std::optional<std::string> QueueOfQuota::QueueFor(const QueueUnit& unit) const {
  if (unit.quota.empty()) return std::nullopt;
  return unit.quota;
}

}  // namespace kq::scheduler
