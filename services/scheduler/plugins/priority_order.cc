#include "services/scheduler/plugins/priority_order.h"

namespace kq::scheduler {

bool PriorityOrder::Before(const QueueUnit& a, const QueueUnit& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.created != b.created) return a.created < b.created;
  if (a.key.name != b.key.name) return a.key.name < b.key.name;
  return a.key.ns < b.key.ns;
}

}  // namespace kq::scheduler
