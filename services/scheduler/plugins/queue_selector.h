#ifndef SERVICES_SCHEDULER_PLUGINS_QUEUE_SELECTOR_H_
#define SERVICES_SCHEDULER_PLUGINS_QUEUE_SELECTOR_H_

#include <optional>
#include <string>

#include "services/scheduler/core/policy.h"

namespace kq::scheduler {

// The queue of a unit has the name of its quota.
class QueueOfQuota : public QueueSelector {
 public:
  std::optional<std::string> QueueFor(const QueueUnit& unit) const override;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_PLUGINS_QUEUE_SELECTOR_H_
