#ifndef SERVICES_SCHEDULER_RUNTIME_TESTING_OPEN_DOOR_H_
#define SERVICES_SCHEDULER_RUNTIME_TESTING_OPEN_DOOR_H_

#include <optional>
#include <string>

#include "services/scheduler/core/core.h"
#include "services/scheduler/core/policy.h"

namespace kq::scheduler {

// The simplest policies there are, for tests of what surrounds the core: a unit
// waits in the queue of its quota's name, in the order of the keys, and may run
// while its quota's max has room for it.
class OpenDoor : public QueueSelector, public OrderPolicy, public AdmissionPolicy {
 public:
  std::optional<std::string> QueueFor(const QueueUnit& unit) const override {
    if (unit.quota.empty()) return std::nullopt;
    return unit.quota;
  }
  bool Before(const QueueUnit& a, const QueueUnit& b) const override { return a.key < b.key; }
  Verdict Check(const QueueUnit&, const Resources& need, const QuotaPath& path) const override {
    if (!path.trouble().ok()) return path.trouble();
    if ((path.used(0) + need).FitsWithin(path.max(0))) return {};
    Verdict verdict;
    verdict.refusal.refusal = Refusal::kOverMax;
    verdict.refusal.quota = path.name(0);
    verdict.refusal.resource = "cpu";
    verdict.refusal.requested = need.At("cpu");
    verdict.refusal.used = path.used(0).At("cpu");
    verdict.refusal.limit = path.max(0).At("cpu");
    verdict.refusal.short_by = verdict.refusal.used + verdict.refusal.requested - verdict.refusal.limit;
    return verdict;
  }

  // Options with these policies; `this` must outlive the core.
  CoreOptions Options() const {
    CoreOptions options;
    options.selector = this;
    options.order = this;
    options.admission = {this};
    return options;
  }
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_TESTING_OPEN_DOOR_H_
