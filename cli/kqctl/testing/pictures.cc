#include "cli/kqctl/testing/pictures.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

namespace kq::kqctl::testing {
namespace {

namespace v1 = queueing::v1;

constexpr int64_t kGi = int64_t{1} << 30;

using List = std::vector<std::pair<std::string, int64_t>>;

void Fill(const List& entries, google::protobuf::RepeatedPtrField<v1::Amount>* out) {
  for (const auto& [resource, amount] : entries) {
    v1::Amount* entry = out->Add();
    entry->set_resource(resource);
    entry->set_amount(amount);
  }
}

google::protobuf::Timestamp Before(absl::Duration age) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(kNow - age));
  return timestamp;
}

void FillId(v1::PictureId* id) {
  id->set_epoch("koord-queue-0_7f3a");
  id->set_revision(42);
  id->set_synced(true);
  *id->mutable_as_of() = Before(absl::Seconds(90));
}

v1::QuotaSnapshot* AddQuota(const std::string& name, const std::string& parent, v1::Snapshot* out) {
  v1::QuotaSnapshot* quota = out->add_quotas();
  quota->set_namespace_("kube-system");
  quota->set_name(name);
  quota->set_parent(parent);
  quota->set_lends(true);
  return quota;
}

v1::QueueSnapshot* AddQueue(const std::string& name, int32_t priority, v1::Snapshot* out) {
  v1::QueueSnapshot* queue = out->add_queues();
  queue->set_name(name);
  queue->set_policy("Priority");
  queue->set_priority(priority);
  return queue;
}

v1::UnitSnapshot Unit(const std::string& name, v1::Place place, int64_t position) {
  v1::UnitSnapshot unit;
  unit.set_namespace_("default");
  unit.set_name(name);
  unit.set_quota("team-a");
  unit.set_phase("Enqueued");
  unit.set_place(place);
  unit.set_position(position);
  unit.set_job_kind("Job");
  unit.set_job_name(name);
  *unit.mutable_created() = Before(absl::Minutes(5));
  *unit.mutable_since() = Before(absl::Minutes(4));
  return unit;
}

v1::UnitSnapshot Waiting() {
  v1::UnitSnapshot unit = Unit("train-big", v1::PARKED, 1);
  unit.set_priority(10);
  unit.set_attempts(3);
  unit.set_message("limited quotaName:team-a, limited resKey:cpu, requested 2, used 3500m of 4, short by 1500m");
  v1::Refusal* why = unit.mutable_refusal();
  why->set_reason(v1::OVER_MAX);
  why->set_quota("team-a");
  why->set_resource("cpu");
  why->set_short_by(1500);
  why->set_sentence(unit.message());
  v1::PodSetSnapshot* pods = unit.add_pod_sets();
  pods->set_name("worker");
  pods->set_count(2);
  Fill({{"cpu", 1000}, {"memory", kGi}}, pods->mutable_per_pod());
  Fill({{"cpu", 2000}, {"memory", 2 * kGi}}, unit.mutable_need());
  return unit;
}

v1::UnitSnapshot Running() {
  v1::UnitSnapshot unit = Unit("train", v1::ADMITTED, 0);
  unit.set_phase("Running");
  Fill({{"cpu", 3500}, {"memory", 3 * kGi}}, unit.mutable_charged());
  return unit;
}

}  // namespace

v1::Snapshot Picture() {
  v1::Snapshot snapshot;
  FillId(snapshot.mutable_id());
  AddQueue("lonely", 7, &snapshot)->set_trouble("queue lonely names admission checks, which are not supported yet");
  v1::QueueSnapshot* team = AddQueue("team-a", 1000, &snapshot);
  team->set_parked(1);
  team->set_resting(1);
  AddQueue("team-b", 1000, &snapshot)->set_policy("Block");

  Fill({{"pods", 12}}, AddQuota("empty", "koordinator-root-quota", &snapshot)->mutable_used());
  v1::QuotaSnapshot* lonely = AddQuota("lonely", "gone", &snapshot);
  Fill({{"cpu", 1000}}, lonely->mutable_max_amounts());
  lonely->set_trouble("CheckUsage found quota not exist, quotaName:gone, visited quota: [lonely]");
  v1::QuotaSnapshot* org = AddQuota("org", "koordinator-root-quota", &snapshot);
  org->add_children("team-a");
  org->add_children("team-b");
  Fill({{"cpu", 20000}}, org->mutable_max_amounts());
  Fill({{"cpu", 3500}, {"memory", 3 * kGi}}, org->mutable_used());
  v1::QuotaSnapshot* a = AddQuota("team-a", "org", &snapshot);
  Fill({{"cpu", 2000}}, a->mutable_min_amounts());
  Fill({{"cpu", 4000}, {"memory", 8 * kGi}}, a->mutable_max_amounts());
  Fill({{"cpu", 3500}, {"memory", 3 * kGi}}, a->mutable_used());
  v1::QuotaSnapshot* b = AddQuota("team-b", "org", &snapshot);
  b->set_lends(false);
  Fill({{"cpu", 4000}, {"nvidia.com/gpu", 8}}, b->mutable_min_amounts());
  Fill({{"cpu", 8000}, {"nvidia.com/gpu", 8}}, b->mutable_max_amounts());
  v1::QuotaSnapshot* shadowed = AddQuota("team-b", "", &snapshot);
  shadowed->set_namespace_("dev");
  shadowed->set_shadowed_by("kube-system/team-b");
  shadowed->set_trouble("not in force: kube-system/team-b has the same name and is older");
  return snapshot;
}

v1::ListUnitsResponse Units() {
  v1::ListUnitsResponse response;
  FillId(response.mutable_id());
  *response.add_units() = Waiting();
  v1::UnitSnapshot resting = Unit("train-small", v1::RESTING, 2);
  resting.mutable_refusal()->set_reason(v1::WRITE_FAILED);
  *response.add_units() = resting;
  v1::UnitSnapshot lost = Unit("lost", v1::UNMAPPED, 0);
  lost.clear_quota();
  lost.mutable_refusal()->set_reason(v1::NO_QUOTA_LABEL);
  *response.add_units() = lost;
  *response.add_units() = Running();
  response.set_total(4);
  return response;
}

v1::Explanation Explained() {
  v1::Explanation explanation;
  FillId(explanation.mutable_id());
  *explanation.mutable_unit() = Waiting();
  explanation.set_waits_for("1500m more cpu in quota team-a: units of it end, or its max is raised");
  explanation.set_queue_length(2);
  v1::QuotaLevel* team = explanation.add_levels();
  team->set_quota("team-a");
  Fill({{"cpu", 3500}, {"memory", 3 * kGi}}, team->mutable_used());
  Fill({{"cpu", 2000}}, team->mutable_min());
  Fill({{"cpu", 4000}, {"memory", 8 * kGi}}, team->mutable_max());
  Fill({{"cpu", 1500}}, team->mutable_short_by());
  v1::QuotaLevel* org = explanation.add_levels();
  org->set_quota("org");
  Fill({{"cpu", 3500}, {"memory", 3 * kGi}}, org->mutable_used());
  Fill({{"cpu", 20000}}, org->mutable_max());
  return explanation;
}

v1::DecisionsResponse Decided() {
  v1::DecisionsResponse response;
  FillId(response.mutable_id());
  v1::DecisionRecord* admitted = response.add_decisions();
  admitted->set_sequence(17);
  *admitted->mutable_time() = Before(absl::Minutes(2));
  admitted->set_kind("Dequeue");
  admitted->set_namespace_("default");
  admitted->set_name("train");
  admitted->set_detail("admitted worker=2");
  v1::DecisionRecord* refused = response.add_decisions();
  refused->set_sequence(18);
  *refused->mutable_time() = Before(absl::Minutes(1));
  refused->set_kind("Requeue");
  refused->set_namespace_("default");
  refused->set_name("train-big");
  *refused->mutable_refusal() = Waiting().refusal();
  refused->set_detail(refused->refusal().sentence());
  response.set_dropped(16);
  return response;
}

void CheckGolden(const std::string& name, const std::string& text) {
  if (const char* folder = std::getenv("KQCTL_WRITE_GOLDEN"); folder != nullptr) {
    std::ofstream(std::string(folder) + "/" + name) << text;
  }
  std::ifstream file("cli/kqctl/testdata/" + name);
  INFO(name);
  CHECK(file.good());
  CHECK(text == std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

}  // namespace kq::kqctl::testing
