#include "services/scheduler/sim/cluster.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/api/codec.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/sim/replaying_api.h"

namespace kq::scheduler {
namespace {

constexpr size_t kUnitNames = 10;
const char* const kQuotaNames[] = {"p", "a", "b", "c"};
// Labels of units; "x" is a quota that nobody makes, "" is none.
const char* const kLabels[] = {"a", "a", "a", "a", "a", "b", "b", "b", "b", "c", "c", "p", "x", ""};

Json Status(Phase phase) { return {{"status", {{"phase", std::string(PhaseName(phase))}}}}; }

int64_t MaxOf(const std::string& quota) { return quota == "p" ? 10 : quota == "c" ? 6 : 8; }

template <typename T>
std::vector<T> ParseAll(const std::vector<Json>& objects, absl::StatusOr<T> (*parse)(const Json&)) {
  std::vector<T> parsed;
  for (const Json& object : objects) {
    absl::StatusOr<T> value = parse(object);
    if (value.ok()) parsed.push_back(*std::move(value));
  }
  return parsed;
}

}  // namespace

Cluster::Cluster(Weather weather, Chance* chance, SimulatedClock* clock)
    : weather_(weather), chance_(chance), server_({.clock = clock}) {
  server_.AddResource(QueueUnits(),
                      {.kind = "QueueUnit", .status_subresource = true, .default_status = {{"phase", "Enqueued"}}});
  server_.AddResource(kq::scheduler::Queues(), {.kind = "Queue", .status_subresource = true});
  server_.AddResource(ElasticQuotas(), {.kind = "ElasticQuota", .status_subresource = true});
  server_.AddResource({"", "v1", "events"}, {.kind = "Event"});
  users_ = server_.Connect();
  faulty_ = server_.Connect([this](const FakeCall& call) { return FaultFor(call); },
                            [this](const KubeResource&) { return WatchFault(); });
  scheduler_api_ = NewReplayingApi(
      faulty_.get(), [this]() -> size_t { return weather_.faults && chance_->OneIn(12) ? 1 + chance_->Pick(6) : 0; });
}

FakeFault Cluster::FaultFor(const FakeCall& call) {
  using Kind = FakeFault::Kind;
  if (!weather_.faults) return {};
  const bool write =
      call.verb != FakeCall::Verb::kList && call.verb != FakeCall::Verb::kWatch && call.verb != FakeCall::Verb::kGet;
  if (!chance_->OneIn(write ? 3 : 10)) return {};
  static constexpr Kind kReads[] = {Kind::kUnavailable, Kind::kRefused, Kind::kTooManyRequests, Kind::kInternal};
  static constexpr Kind kWrites[] = {
      Kind::kConflict,   Kind::kTooManyRequests, Kind::kUnavailable, Kind::kRefused, Kind::kInternal, Kind::kAnswerLost,
      Kind::kAnswerLost, Kind::kRequestLost,     Kind::kRequestLost, Kind::kLate,    Kind::kLate};
  FakeFault fault;
  fault.kind = write ? kWrites[chance_->Pick(std::size(kWrites))] : kReads[chance_->Pick(std::size(kReads))];
  if (call.verb == FakeCall::Verb::kList && chance_->OneIn(3)) fault.kind = Kind::kGone;
  return fault;
}

FakeWatchFault Cluster::WatchFault() {
  if (!weather_.faults) return FakeWatchFault::kNone;
  switch (chance_->Pick(40)) {
    case 0:
      return FakeWatchFault::kCut;
    case 1:
      return FakeWatchFault::kDuplicate;
    case 2:
    case 3:
      return FakeWatchFault::kReorder;
    case 4:
      return chance_->OneIn(4) ? FakeWatchFault::kGone : FakeWatchFault::kNone;
    default:
      return chance_->OneIn(4) ? FakeWatchFault::kHold : FakeWatchFault::kNone;
  }
}

void Cluster::UserActs() {
  // At first there must be something to be admitted to.
  if (chance_->OneIn(Quotas().size() < std::size(kQuotaNames) ? 2 : 16)) return QuotaActs();
  if (chance_->OneIn(24)) return QueueActs();
  const std::vector<QueueUnit> units = Units();
  if (units.size() < kUnitNames && chance_->OneIn(2)) return CreateUnit();
  if (!units.empty()) ChangeUnit(units[chance_->Pick(units.size())]);
}

void Cluster::ServerActs() {
  switch (chance_->Pick(12)) {
    case 0:
      server_.Compact();
      break;
    case 1:
      server_.CutWatches();
      break;
    case 2:
      server_.SendBookmark(QueueUnits());
      break;
    default:
      server_.LandLate();
      break;
  }
}

Json Cluster::UnitSpec() const {
  const int64_t count = 1 + static_cast<int64_t>(chance_->Pick(3));
  const std::string cpu = absl::StrCat(1 + chance_->Pick(count == 1 ? 7 : 3));
  const Json pod = {
      {"name", "main"},
      {"count", count},
      {"template", {{"spec", {{"containers", Json{{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}}}};
  return {{"priority", static_cast<int64_t>(chance_->Pick(3))}, {"podSet", JsonArray{pod}}};
}

void Cluster::CreateUnit() {
  const std::string name = absl::StrCat("u", chance_->Pick(kUnitNames));
  const std::string label = kLabels[chance_->Pick(std::size(kLabels))];
  JsonObject labels;
  if (!label.empty()) labels["quota.scheduling.koordinator.sh/name"] = label;
  // Fails if the name is taken; somebody else acts then.
  users_
      ->Create(QueueUnits(), "ns",
               {{"apiVersion", kQueueingApiVersion},
                {"kind", "QueueUnit"},
                {"metadata", {{"name", name}, {"namespace", "ns"}, {"labels", labels}}},
                {"spec", UnitSpec()}})
      .IgnoreError();
}

void Cluster::PatchUnit(const QueueUnit& unit, const Json& patch, Subresource subresource) {
  users_->Patch({QueueUnits(), unit.key, subresource, PatchType::kMerge, patch}).IgnoreError();
}

void Cluster::ChangeUnit(const QueueUnit& unit) {
  if (chance_->OneIn(IsFinished(unit.phase) ? 1 : 3)) {
    users_->Delete({QueueUnits(), unit.key}).IgnoreError();
    // Often made again at once, under the same name.
    if (!chance_->OneIn(4)) {
      const std::string label = kLabels[chance_->Pick(5)];
      users_
          ->Create(QueueUnits(), "ns",
                   {{"apiVersion", kQueueingApiVersion},
                    {"kind", "QueueUnit"},
                    {"metadata",
                     {{"name", unit.key.name},
                      {"namespace", "ns"},
                      {"labels", {{"quota.scheduling.koordinator.sh/name", label}}}}},
                    {"spec", UnitSpec()}})
          .IgnoreError();
    }
    return;
  }
  const bool holds = HoldsQuota(unit.phase) || !unit.admissions.empty();
  if (holds) return ChangeHoldingUnit(unit);
  if (!IsFinished(unit.phase)) return ChangeWaitingUnit(unit);
}

void Cluster::ChangeWaitingUnit(const QueueUnit& unit) {
  if (!unit.active || chance_->OneIn(12)) {
    return PatchUnit(unit, {{"spec", {{"active", !unit.active}}}}, Subresource::kNone);
  }
  switch (chance_->Pick(10)) {
    case 1: {
      const std::string label = kLabels[chance_->Pick(std::size(kLabels))];
      const Json value = label.empty() ? Json(nullptr) : Json(label);
      return PatchUnit(unit, {{"metadata", {{"labels", {{"quota.scheduling.koordinator.sh/name", value}}}}}},
                       Subresource::kNone);
    }
    case 2:
    case 3:
      return PatchUnit(unit, {{"spec", UnitSpec()}}, Subresource::kNone);
    case 4:
      return PatchUnit(unit, {{"metadata", {{"annotations", {{"note", absl::StrCat(chance_->Pick(1000))}}}}}},
                       Subresource::kNone);
    default:
      break;
  }
  // Started by hand.
  if (weather_.users_exceed) {
    PatchUnit(unit,
              {{"status", {{"phase", "Running"}, {"admissions", JsonArray{{{"name", "main"}, {"replicas", 1}}}}}}},
              Subresource::kStatus);
  }
}

void Cluster::ChangeHoldingUnit(const QueueUnit& unit) {
  const Json nothing_held = {
      {"status", {{"phase", chance_->OneIn(2) ? "Succeed" : "Failed"}, {"admissions", JsonArray()}}}};
  switch (chance_->Pick(weather_.users_exceed ? 8 : 6)) {
    case 0:
      return PatchUnit(unit, Status(Phase::kRunning), Subresource::kStatus);
    case 1:
      return PatchUnit(unit, Status(Phase::kEnqueued), Subresource::kStatus);  // put back, its pods live
    case 2:
      if (IsWaiting(unit.phase))
        return PatchUnit(unit, {{"status", {{"admissions", JsonArray()}}}}, Subresource::kStatus);
      return PatchUnit(unit, {{"metadata", {{"annotations", {{"note", absl::StrCat(chance_->Pick(1000))}}}}}},
                       Subresource::kNone);
    case 3:
      return PatchUnit(unit, {{"spec", {{"priority", static_cast<int64_t>(chance_->Pick(3))}}}}, Subresource::kNone);
    case 6:
      return PatchUnit(unit, {{"spec", UnitSpec()}}, Subresource::kNone);
    case 7:
      return PatchUnit(
          unit, {{"metadata", {{"labels", {{"quota.scheduling.koordinator.sh/name", kLabels[chance_->Pick(7)]}}}}}},
          Subresource::kNone);
    default:
      return PatchUnit(unit, nothing_held, Subresource::kStatus);
  }
}

Json Cluster::QuotaJson(const std::string& name) {
  const bool leaf = name == "a" || name == "b";
  const int64_t max = weather_.users_exceed ? static_cast<int64_t>(chance_->Pick(10)) : MaxOf(name);
  std::string parent = leaf ? "p" : "";
  if (weather_.users_exceed && chance_->OneIn(4)) parent = kQuotaNames[chance_->Pick(std::size(kQuotaNames))];
  return {{"apiVersion", kQuotaApiVersion},
          {"kind", "ElasticQuota"},
          {"metadata",
           {{"name", name},
            {"namespace", "kube-system"},
            {"labels",
             {{"quota.scheduling.koordinator.sh/parent", parent},
              {"quota.scheduling.koordinator.sh/allow-lent-resource", chance_->OneIn(2) ? "true" : "false"},
              {"koord-queue/queue-policy", chance_->OneIn(2) ? "Block" : "Priority"}}}}},
          {"spec", {{"max", {{"cpu", absl::StrCat(max)}}}, {"min", {{"cpu", absl::StrCat(chance_->Pick(4))}}}}}};
}

void Cluster::QuotaActs() {
  const std::string name = kQuotaNames[chance_->Pick(std::size(kQuotaNames))];
  const ObjectKey key{"kube-system", name};
  // While a leaf is away its units do not count for its parent, which may fill up.
  const bool leaf = name == "a" || name == "b";
  if (chance_->OneIn(8) && (!leaf || weather_.users_exceed)) {
    users_->Delete({ElasticQuotas(), key}).IgnoreError();
    return;
  }
  const Json quota = QuotaJson(name);
  if (users_->Create(ElasticQuotas(), "kube-system", quota).ok()) return;
  JsonObject patch = quota.as_object();
  patch.erase("apiVersion");
  users_->Patch({ElasticQuotas(), key, Subresource::kNone, PatchType::kMerge, patch}).IgnoreError();
}

void Cluster::QueueActs() {
  const ObjectKey key{std::string(kQueueNamespace), kQuotaNames[chance_->Pick(std::size(kQuotaNames))]};
  if (chance_->OneIn(4)) {
    users_->Delete({kq::scheduler::Queues(), key}).IgnoreError();
    return;
  }
  const Json patch = {{"spec",
                       {{"priority", static_cast<int64_t>(chance_->Pick(3))},
                        {"queuePolicy", chance_->OneIn(2) ? "Block" : "Priority"}}}};
  users_->Patch({kq::scheduler::Queues(), key, Subresource::kNone, PatchType::kMerge, patch}).IgnoreError();
}

std::vector<QueueUnit> Cluster::Units() const {
  return ParseAll<QueueUnit>(server_.Objects(QueueUnits()), ParseQueueUnit);
}
std::vector<Queue> Cluster::Queues() const {
  return ParseAll<Queue>(server_.Objects(kq::scheduler::Queues()), ParseQueue);
}
std::vector<Quota> Cluster::Quotas() const { return ParseAll<Quota>(server_.Objects(ElasticQuotas()), ParseQuota); }

std::vector<std::string> Cluster::ExceededLimits() const {
  std::map<std::string, Quota> quotas;
  for (Quota& quota : Quotas()) quotas.emplace(quota.key.name, std::move(quota));
  std::map<std::string, int64_t> used;
  for (const QueueUnit& unit : Units()) {
    const int64_t held = Held(unit).At("cpu");
    std::string level = unit.quota;
    for (size_t depth = 0; !level.empty() && depth <= std::size(kQuotaNames); ++depth) {
      used[level] += held;
      const auto quota = quotas.find(level);
      level = quota == quotas.end() ? "" : quota->second.parent;
    }
  }
  std::vector<std::string> exceeded;
  for (const auto& [name, quota] : quotas) {
    const int64_t max = quota.max.At("cpu");
    if (used[name] > max)
      exceeded.push_back(absl::StrCat("quota ", name, ": the server's units hold ", used[name], "m of ", max, "m"));
  }
  return exceeded;
}

}  // namespace kq::scheduler
