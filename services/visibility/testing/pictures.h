#ifndef SERVICES_VISIBILITY_TESTING_PICTURES_H_
#define SERVICES_VISIBILITY_TESTING_PICTURES_H_

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/scheduler_client/picture.h"

namespace kq::visibility {

inline queueing::v1::UnitSnapshot WaitingUnit(const std::string& name, const std::string& quota, int position) {
  queueing::v1::UnitSnapshot unit;
  unit.set_namespace_("default");
  unit.set_name(name);
  unit.set_uid("uid-" + name);
  unit.set_quota(quota);
  unit.set_queue(quota);
  unit.set_phase("Enqueued");
  unit.set_place(queueing::v1::PARKED);
  unit.set_position(position);
  for (auto* list : {unit.mutable_request(), unit.mutable_resources()}) {
    for (const auto& [resource, quantity] : {std::pair("cpu", "4"), std::pair("memory", "8Gi")}) {
      queueing::v1::Quantity* added = list->Add();
      added->set_resource(resource);
      added->set_quantity(quantity);
    }
  }
  return unit;
}

inline queueing::v1::UnitSnapshot RunningUnit(const std::string& name, const std::string& quota) {
  queueing::v1::UnitSnapshot unit = WaitingUnit(name, quota, 0);
  unit.set_phase("Running");
  unit.set_place(queueing::v1::ADMITTED);
  unit.set_pods_running(1);
  unit.add_charged()->set_amount(4000);
  return unit;
}

// Queue and quota team-a: `waiting` units w-1, w-2, ... and two that run, b and a.
inline std::shared_ptr<const Picture> TeamPicture(int waiting) {
  auto picture = std::make_shared<Picture>();
  picture->id.set_epoch("e");
  picture->id.set_revision(7);
  auto queue = std::make_shared<queueing::v1::QueueSnapshot>();
  queue->set_name("team-a");
  for (int i = 1; i <= waiting; ++i) *queue->add_waiting() = WaitingUnit(absl::StrCat("w-", i), "team-a", i);
  picture->queues["team-a"] = queue;
  auto quota = std::make_shared<queueing::v1::QuotaSnapshot>();
  quota->set_namespace_("kube-system");
  quota->set_name("team-a");
  *quota->add_charged() = RunningUnit("b", "team-a");
  *quota->add_charged() = RunningUnit("a", "team-a");
  picture->quotas["kube-system/team-a"] = quota;
  return picture;
}

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_TESTING_PICTURES_H_
