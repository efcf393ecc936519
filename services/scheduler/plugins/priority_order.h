#ifndef SERVICES_SCHEDULER_PLUGINS_PRIORITY_ORDER_H_
#define SERVICES_SCHEDULER_PLUGINS_PRIORITY_ORDER_H_

#include "services/scheduler/core/policy.h"

namespace kq::scheduler {

// Higher priority first, then created earlier, then by name and namespace (plugin
// name Priority). None of these changes while a unit waits unless its owner changes
// it, so the order is the same after a restart.
class PriorityOrder : public OrderPolicy {
 public:
  bool Before(const QueueUnit& a, const QueueUnit& b) const override;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_PLUGINS_PRIORITY_ORDER_H_
