// What users get wrong, on the real API server: each mistake is refused by the
// definitions, or is told on the object, in an event and in the snapshot; and
// everything else goes on. What is not there at the start at all (the API server,
// the definitions) is the matter of e2e/faults/api_server_test.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/objects.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "libs/api/queue.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "proto/queueing/v1/snapshot.pb.h"

namespace kq::e2e {
namespace {

namespace pb = kq::queueing::v1;

constexpr absl::Duration kPatience = absl::Minutes(3);

// A namespace, quotas whose names begin with its name, and the two processes.
class World {
 public:
  World() : ns(cluster.MakeNamespace("bad")), accounts(&cluster, ns), scheduler(Options()), controllers(Options()) {
    cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(Name("good"), "", 2));
  }
  ~World() {
    scheduler.Kill();
    controllers.Kill();
    cluster.DeleteAll(kUnits, ns);
    cluster.DeleteQuotas(ns, quotas_);
    cluster.DeleteQuotas(kQuotaNamespace, quotas_);
  }
  void Start() {
    scheduler.Start();
    controllers.Start();
  }

  // The whole name of a quota.
  std::string Name(const std::string& quota) {
    quotas_.push_back(absl::StrCat(ns, "-", quota));
    return quotas_.back();
  }
  Json Unit(const std::string& unit) { return cluster.api().Get(kUnits, {ns, unit}).value_or(Json()); }

  // The unit is told why it waits: on the object, in a condition, in an event and in
  // the snapshot.
  bool IsTold(const std::string& unit, pb::RefusalReason reason, const std::string& message) {
    return Await(kPatience, [&] {
      const absl::StatusOr<pb::UnitSnapshot> seen = scheduler.Explain(ns, unit);
      return absl::StartsWith(StringAt(Unit(unit), {"status", "message"}), message) && seen.ok() &&
             seen->refusal().reason() == reason && absl::StartsWith(seen->refusal().sentence(), message) &&
             ConditionSays(unit, "QuotaReserved", "False") && HasEvent(ns, unit, "FailedScheduling", message);
    });
  }
  bool ConditionSays(const std::string& unit, const std::string& type, const std::string& status) {
    const Json object = Unit(unit);
    const Json* conditions = Find(object, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array()) return false;
    for (const Json& condition : conditions->get_array()) {
      if (StringAt(condition, {"type"}) == type) return StringAt(condition, {"status"}) == status;
    }
    return false;
  }
  // Everything that is told here is of the type Warning.
  bool HasEvent(const std::string& where, const std::string& name, const std::string& reason,
                const std::string& message) {
    for (const Json& event : cluster.ListAll(kEvents, where)) {
      if (StringAt(event, {"involvedObject", "name"}) == name && StringAt(event, {"type"}) == "Warning" &&
          StringAt(event, {"reason"}) == reason && absl::StrContains(StringAt(event, {"message"}), message)) {
        return true;
      }
    }
    return false;
  }
  bool IsAdmitted(const std::string& unit) {
    return Await(kPatience, [&] { return StringAt(Unit(unit), {"status", "phase"}) == "Dequeued"; });
  }
  // Everything else goes on: a unit of the good quota is admitted, and finishes.
  bool GoesOn() {
    const std::string unit = absl::StrCat("good-", ++good_units_);
    cluster.Create(kUnits, ns, UnitObject(unit, absl::StrCat(ns, "-good")));
    if (!IsAdmitted(unit)) return false;
    cluster.api().Delete({.resource = kUnits, .key = {ns, unit}}).IgnoreError();
    return scheduler.Running() && controllers.Running();
  }
  // As the snapshot shows it; empty if it does not.
  pb::QuotaSnapshot Quota(const std::string& name, const std::string& where = kQuotaNamespace) const {
    const absl::StatusOr<pb::Snapshot> snapshot = scheduler.Snapshot();
    if (!snapshot.ok()) return {};
    for (const pb::QuotaSnapshot& quota : snapshot->quotas()) {
      if (quota.name() == name && quota.namespace_() == where) return quota;
    }
    return {};
  }

  TestCluster cluster;
  const std::string ns;
  const ChartAccounts accounts;
  Scheduler scheduler;
  Controllers controllers;

 private:
  ServiceOptions Options() const { return {.accounts = &accounts, .lease_namespace = ns}; }

  std::vector<std::string> quotas_;
  int good_units_ = 0;
};

Json UnitOf(const std::string& name, const std::string& quota, Json resource) {
  Json unit = UnitObject(name, quota);
  unit.as_object()["spec"] = {{"resource", std::move(resource)}};
  return unit;
}

TEST_CASE("a quota that cannot be used is told to those who wait for it, and on the quota", "[e2e]") {
  World world;
  world.Start();
  const std::string left = world.Name("left"), right = world.Name("right"), orphan = world.Name("orphan");
  const std::string empty = world.Name("empty"), negative = world.Name("negative"), huge = world.Name("huge");
  const std::string upside_down = world.Name("upside-down"), slip = world.Name("slip");
  const auto create = [&](const Json& quota) { world.cluster.Create(kQuotas, kQuotaNamespace, quota); };
  create(QuotaObject(left, right, 4));
  create(QuotaObject(right, left, 4));
  create(QuotaObject(orphan, "nowhere", 4));
  create(QuotaWith(empty, "", {{"max", JsonObject()}}));
  create(QuotaWith(negative, "", {{"max", {{"cpu", "-1"}}}}));
  create(QuotaWith(upside_down, "", {{"max", {{"cpu", "4"}}}, {"min", {{"cpu", "8"}}}}));
  create(QuotaWith(slip, "", {{"mx", {{"cpu", "4"}}}}));
  create(QuotaWith(huge, "", {{"max", {{"cpu", "100E"}}}}));
  for (const std::string& quota : {left, orphan, empty, negative, huge}) {
    world.cluster.Create(kUnits, world.ns, UnitObject(absl::StrCat("in-", quota), quota));
  }
  const auto told = [&](const std::string& quota, pb::RefusalReason reason, const std::string& message) {
    CAPTURE(quota, JsonText(world.Unit(absl::StrCat("in-", quota))), world.Quota(quota).DebugString());
    CHECK(world.IsTold(absl::StrCat("in-", quota), reason, message));
  };
  told(left, pb::QUOTA_CYCLE, "CheckUsage found cycle reference, quotaName:");
  told(orphan, pb::QUOTA_NOT_FOUND, "CheckUsage found quota not exist, quotaName:nowhere, visited quota: [");
  told(empty, pb::QUOTA_EMPTY,
       absl::StrCat("limited quotaName:", empty, ", quota spec is empty but queue unit res is not empty"));
  told(negative, pb::QUOTA_INVALID,
       absl::StrCat("limited quotaName:", negative, ", quota is invalid: spec.max.cpu: -1 is negative"));
  told(huge, pb::QUOTA_INVALID, absl::StrCat("limited quotaName:", huge, ", quota is invalid: spec.max.cpu: "));
  for (const std::string& quota : {left, right, orphan, negative, huge}) {
    CAPTURE(quota);
    CHECK(!world.Quota(quota).trouble().empty());
  }
  // And on the quota itself.
  const auto event = [&](const std::string& quota, const std::string& reason, const std::string& message) {
    CAPTURE(quota);
    CHECK(Await(kPatience, [&] { return world.HasEvent(kQuotaNamespace, quota, reason, message); }));
  };
  event(left, "QuotaCycle", "cycle reference");
  event(orphan, "QuotaNotFound", "quotaName:nowhere");
  event(negative, "QuotaInvalid", "spec.max.cpu: -1 is negative");
  event(upside_down, "MinAboveMax", "min of cpu, 8, is above its max, 4");
  event(slip, "QuotaUnknownField", "spec.mx: not a field that is read");
  CHECK(world.GoesOn());

  // What is put right is used.
  world.cluster.Kubectl(absl::StrCat("--namespace=", kQuotaNamespace, " label --overwrite elasticquota ", right,
                                     " quota.scheduling.koordinator.sh/parent="));
  CHECK(world.IsAdmitted(absl::StrCat("in-", left)));
  create(QuotaObject("nowhere", "", 4));
  CHECK(world.IsAdmitted(absl::StrCat("in-", orphan)));
  world.cluster.DeleteQuotas(kQuotaNamespace, {"nowhere"});
}

TEST_CASE("a Queue that cannot be used is told so, and its units wait", "[e2e]") {
  World world;
  world.Start();
  const std::string quota = world.Name("round"), where(kQueueNamespace);
  Json queue = QueueObject(quota);
  queue.at("spec").as_object()["queuePolicy"] = "Round";
  world.cluster.Create(kQueues, where, queue);
  world.cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(quota, "", 4));
  CHECK(Await(kPatience, [&] { return world.HasEvent(where, quota, "AddQueueFail", "\"Round\""); }));
  world.cluster.Create(kUnits, world.ns, UnitObject("waits", quota));
  CHECK(world.IsTold("waits", pb::POLICY_UNSUPPORTED,
                     absl::StrCat("queue ", quota, " has a policy that is not supported: \"Round\"")));
  CHECK(world.GoesOn());

  // What is put right is used.
  world.cluster.Kubectl(absl::StrCat("--namespace=", where, " patch queue ", quota,
                                     R"( --type=merge --patch '{"spec":{"queuePolicy":"Block"}}')"));
  CHECK(world.IsAdmitted("waits"));
}

TEST_CASE("of two quotas of one name the older counts, and the other is told", "[e2e]") {
  World world;
  world.Start();
  const std::string quota = world.Name("twice");
  world.cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(quota, "", 1));
  Clock::Real().SleepFor(absl::Milliseconds(1100));  // creation times have seconds
  world.cluster.Create(kQuotas, world.ns, QuotaObject(quota, "", 5));
  CHECK(Await(kPatience, [&] {
    return world.HasEvent(
        world.ns, quota, "QuotaNameConflict",
        absl::StrCat("not in force: ", kQuotaNamespace, "/", quota, " has the same name and is older"));
  }));
  world.cluster.Create(kUnits, world.ns, UnitObject("first", quota));
  CHECK(world.IsAdmitted("first"));
  world.cluster.Create(kUnits, world.ns, UnitObject("second", quota));
  CHECK(world.IsTold("second", pb::OVER_MAX, absl::StrCat("limited quotaName:", quota, ", limited resKey:cpu,")));
  CAPTURE(world.Quota(quota).DebugString(), world.Quota(quota, world.ns).DebugString());
  CHECK(world.Quota(quota).trouble().empty());
  CHECK(!world.Quota(quota, world.ns).trouble().empty());
  CHECK(world.GoesOn());

  CHECK(world.cluster.api().Delete({.resource = kQuotas, .key = {kQuotaNamespace, quota}}).ok());
  CHECK(world.IsAdmitted("second"));
  CHECK(world.Quota(quota, world.ns).trouble().empty());
}

TEST_CASE("a unit that cannot be understood is refused, or told by its field", "[e2e]") {
  World world;
  world.Start();
  const std::string quota = absl::StrCat(world.ns, "-good");
  const auto refused = [&](const Json& unit) { return world.cluster.api().Create(kUnits, world.ns, unit).status(); };

  // By the definition.
  const absl::Status garbage = refused(UnitOf("garbage", quota, {{"cpu", "10x"}}));
  CHECK(absl::IsInvalidArgument(garbage));
  CHECK(absl::StrContains(garbage.message(), "spec.resource.cpu"));
  Json many = UnitObject("many", quota);
  JsonArray& sets = many.at("spec").at("podSet").as_array();
  for (int i = 1; i < 9; ++i) {
    sets.push_back(sets[0]);
    sets.back().as_object()["name"] = absl::StrCat("set-", i);
  }
  const absl::Status too_many = refused(many);
  CHECK(absl::IsInvalidArgument(too_many));
  CHECK(absl::StrContains(too_many.message(), "spec.podSet"));

  // By us, where the definition cannot tell.
  Json deep = UnitObject("deep", quota);
  deep.at("spec").at("podSet").at(0).at("template").at("spec").at("containers").at(0).at("resources") = {
      {"requests", {{"cpu", "-1"}}}};
  const std::vector<std::pair<Json, std::string>> cases = {
      {UnitOf("negative", quota, {{"cpu", "-1"}}), "invalid queue unit: spec.resource.cpu: -1 is negative"},
      {UnitOf("huge", quota, {{"cpu", "100E"}}), "invalid queue unit: spec.resource.cpu: "},
      {deep, "invalid queue unit: spec.podSet[0].template.spec.containers[0].resources.requests.cpu: "},
  };
  for (const auto& [unit, message] : cases) {
    const std::string name = KeyOf(world.cluster.Create(kUnits, world.ns, unit)).name;
    CAPTURE(name);
    CHECK(world.IsTold(name, pb::UNIT_INVALID, message));
    CAPTURE(JsonText(world.Unit(name)));
    CHECK(world.scheduler.Explain(world.ns, name)->place() == pb::INVALID);
  }
  CHECK(world.GoesOn());

  // No quota label, and one that names nothing.
  Json plain = UnitObject("plain", "");
  plain.at("metadata").as_object().erase("labels");
  world.cluster.Create(kUnits, world.ns, plain);
  world.cluster.Create(kUnits, world.ns, UnitObject("lost", absl::StrCat(world.ns, "-never")));
  CHECK(Await(kPatience, [&] {
    return world.HasEvent(world.ns, "plain", "MissingQuotaLabel", "no quota label") &&
           world.HasEvent(world.ns, "lost", "QueueNotFound", absl::StrCat("queue ", world.ns, "-never not found")) &&
           world.ConditionSays("plain", "QuotaReserved", "False") &&
           world.ConditionSays("lost", "QuotaReserved", "False");
  }));
  CHECK(world.scheduler.Explain(world.ns, "plain")->refusal().reason() == pb::NO_QUOTA_LABEL);
  CHECK(world.scheduler.Explain(world.ns, "lost")->refusal().reason() == pb::QUEUE_NOT_FOUND);
  CHECK(world.GoesOn());
}

TEST_CASE("a Job that cannot be priced stays suspended and is told the field", "[e2e]") {
  World world;
  world.Start();
  const std::string quota = absl::StrCat(world.ns, "-good");
  Json job = JobObject("priceless", quota, "1s");
  job.at("spec").at("template").at("spec").at("containers").at(0).at("resources").at("requests").at("cpu") = "100E";
  world.cluster.Create(kJobs, world.ns, job);
  CHECK(Await(kPatience, [&] {
    return world.HasEvent(world.ns, "priceless", "InvalidJob",
                          "spec.template.spec.containers[0].resources.requests.cpu: ");
  }));
  world.cluster.Create(kJobs, world.ns, JobObject("sound", quota, "1s"));
  CHECK(Await(kPatience, [&] { return StringAt(world.Unit("sound"), {"status", "phase"}) == "Succeed"; }));
  CHECK(absl::IsNotFound(world.cluster.api().Get(kUnits, {world.ns, "priceless"}).status()));
  const absl::StatusOr<Json> waiting = world.cluster.api().Get(kJobs, {world.ns, "priceless"});
  REQUIRE(waiting.ok());
  CHECK(waiting->at("spec").at("suspend") == Json(true));
  CHECK(world.GoesOn());
}

TEST_CASE("a Job that asks for more than was admitted is not released, and runs when that fits", "[e2e]") {
  World world;
  world.Start();
  world.cluster.Create(kUnits, world.ns, UnitObject("first", world.Name("grows")));
  world.cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(absl::StrCat(world.ns, "-grows"), "", 1));
  REQUIRE(world.IsAdmitted("first"));
  world.cluster.Create(kJobs, world.ns, JobObject("a", absl::StrCat(world.ns, "-grows"), "1s"));
  REQUIRE(world.IsTold("a", pb::OVER_MAX, "limited quotaName:"));
  // Nobody looks while the template changes and the old price is admitted.
  world.controllers.Kill();
  const auto ask_for = [&](const char* cores) {
    const absl::StatusOr<Json> written = world.cluster.api().Patch(
        {.resource = kJobs,
         .key = {world.ns, "a"},
         .type = PatchType::kJson,
         .patch = JsonArray{{{"op", "replace"},
                             {"path", "/spec/template/spec/containers/0/resources/requests/cpu"},
                             {"value", cores}}}});
    INFO(written.status());
    REQUIRE(written.ok());
  };
  ask_for("30");
  REQUIRE(world.cluster.api().Delete({.resource = kUnits, .key = {world.ns, "first"}}).ok());
  REQUIRE(world.IsAdmitted("a"));
  world.controllers.Start();
  CHECK(Await(kPatience, [&] { return world.HasEvent(world.ns, "a", "AdmissionOutgrown", "waits in its queue"); }));
  CHECK(world.IsTold("a", pb::OVER_MAX, "limited quotaName:"));
  CHECK(world.cluster.api().Get(kJobs, {world.ns, "a"})->at("spec").at("suspend") == true);
  CHECK(world.cluster.ListAll(kPods, world.ns).empty());
  ask_for("1");
  CHECK(Await(kPatience, [&] { return StringAt(world.Unit("a"), {"status", "phase"}) == "Succeed"; }));
}

TEST_CASE("units that the original left behind count as what they hold", "[e2e]") {
  World world;
  const std::string quota = world.Name("old");
  world.cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(quota, "", 4));
  const auto leave = [&](const std::string& name, const std::string& cores, Json status) {
    world.cluster.Create(kUnits, world.ns, UnitOf(name, quota, {{"cpu", cores}}));
    const absl::StatusOr<Json> written = world.cluster.api().Patch(
        {kUnits, {world.ns, name}, Subresource::kStatus, PatchType::kMerge, {{"status", std::move(status)}}});
    REQUIRE(written.ok());
  };
  leave("dequeued", "3", {{"phase", "Dequeued"}});
  leave("running", "2", {{"phase", "Running"}, {"admissions", JsonArray()}});
  leave("waiting", "1", {{"phase", nullptr}});
  leave("over", "1", {{"phase", "Succeed"}});
  const Json untouched = world.Unit("waiting");
  REQUIRE(Find(untouched, {"status", "phase"}) == nullptr);
  world.Start();

  // More than max is held: it is shown, and nothing is admitted until it has drained.
  CHECK(Await(kPatience, [&] { return world.scheduler.Books()[quota] == 5000; }));
  CHECK(world.IsTold("waiting", pb::OVER_MAX, absl::StrCat("limited quotaName:", quota, ", limited resKey:cpu,")));
  CHECK(StringAt(world.Unit("dequeued"), {"status", "phase"}) == "Dequeued");
  CHECK(StringAt(world.Unit("running"), {"status", "phase"}) == "Running");
  leave("later", "1", {{"phase", ""}});

  const absl::StatusOr<Json> finished = world.cluster.api().Patch(
      {kUnits, {world.ns, "dequeued"}, Subresource::kStatus, PatchType::kMerge, {{"status", {{"phase", "Succeed"}}}}});
  REQUIRE(finished.ok());
  CHECK(world.IsAdmitted("waiting"));
  CHECK(world.IsAdmitted("later"));
  CHECK(Await(kPatience, [&] { return world.scheduler.Books()[quota] == 4000; }));
  CHECK(world.GoesOn());
}

}  // namespace
}  // namespace kq::e2e
