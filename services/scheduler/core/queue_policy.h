#ifndef SERVICES_SCHEDULER_CORE_QUEUE_POLICY_H_
#define SERVICES_SCHEDULER_CORE_QUEUE_POLICY_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace kq::scheduler {

// In which order a queue asks its units; what each means is in pending_queue.h.
enum class QueuePolicy { kPriority, kBlock };

// Of spec.queuePolicy; empty is Priority. Nothing if it is not supported.
std::optional<QueuePolicy> QueuePolicyFromName(absl::string_view name);

absl::string_view QueuePolicyName(QueuePolicy policy);  // "Block"

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_QUEUE_POLICY_H_
