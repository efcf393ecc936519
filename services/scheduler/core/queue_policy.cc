#include "services/scheduler/core/queue_policy.h"

namespace kq::scheduler {

std::optional<QueuePolicy> QueuePolicyFromName(absl::string_view name) {
  if (name.empty() || name == "Priority") return QueuePolicy::kPriority;
  if (name == "Block") return QueuePolicy::kBlock;
  return std::nullopt;
}

absl::string_view QueuePolicyName(QueuePolicy policy) {
  switch (policy) {
    case QueuePolicy::kPriority:
      return "Priority";
    case QueuePolicy::kBlock:
      return "Block";
  }
  return "";
}

}  // namespace kq::scheduler
