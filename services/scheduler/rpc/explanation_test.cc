#include "services/scheduler/rpc/explanation.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;

v1::Explanation Explained(CoreWorld* world, const std::string& name, double oversell = 1) {
  const auto snapshot = world->core().TakeSnapshot(world->now());
  const auto explanation = Explain(*snapshot, {"default", name}, ExplainOptions{oversell});
  INFO(explanation.status().message());
  REQUIRE(explanation.ok());
  return *explanation;
}

// "team-a:cpu=1000 org:" - what is short at each level.
std::string Short(const v1::Explanation& explanation) {
  std::string text;
  for (const v1::QuotaLevel& level : explanation.levels()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", level.quota(), ":");
    for (const v1::Amount& amount : level.short_by()) absl::StrAppend(&text, amount.resource(), "=", amount.amount());
  }
  return text;
}

TEST_CASE("a unit behind others: position, what is short where, and what it waits for", "[explanation]") {
  CoreWorld world;
  world.Add(MakeQuota("org").Max(6));
  world.Add(MakeQuota("team-a").Parent("org").Max(4));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("runs").Cpu(3).Admitted(1));
  world.Add(MakeUnit("first").Cpu(2).Priority(2));
  world.Add(MakeUnit("second").Cpu(5).Priority(1));
  world.Lead();
  world.Cycle();

  const v1::Explanation first = Explained(&world, "first");
  CHECK(first.ahead() == 0);
  CHECK(first.queue_length() == 2);
  CHECK(Short(first) == "team-a:cpu=1000 org:");
  CHECK(first.waits_for() == "1 more cpu in quota team-a: units of it end, or its max is raised");
  CHECK(first.unit().refusal().short_by() == 1000);
  REQUIRE(first.levels_size() == 2);
  CHECK(first.levels(0).used(0).amount() == 3000);
  CHECK(first.levels(0).max(0).amount() == 4000);
  CHECK(first.levels(1).used(0).amount() == 3000);

  const v1::Explanation second = Explained(&world, "second");
  CHECK(second.ahead() == 1);
  CHECK(Short(second) == "team-a:cpu=4000 org:cpu=2000");
  // No unit's end will ever help it.
  CHECK(
      second.waits_for() ==
      "the max of quota team-a to be raised: alone it asks for 5 cpu, and max is 4; and then 2 more cpu in quota org");

  const v1::Explanation runs = Explained(&world, "runs");
  CHECK(runs.waits_for() == "");
  CHECK(runs.queue_length() == 0);
  CHECK(Short(runs) == "team-a: org:");
}

TEST_CASE("what is kept for others is short at the level that keeps it", "[explanation]") {
  CoreWorld world;
  world.Add(MakeQuota("org").Max(10));
  world.Add(MakeQuota("team-a").Parent("org").Min(4).Max(10));
  world.Add(MakeQuota("team-b").Parent("org").Min(4).Max(10).Lends(false));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("big").Cpu(8));
  world.Lead();
  world.Cycle();
  const v1::Explanation big = Explained(&world, "big");
  CHECK(big.unit().refusal().reason() == v1::GUARANTEED_TO_OTHERS);
  CHECK(Short(big) == "team-a: org:cpu=2000");
  CHECK(big.levels(1).short_by(0).amount() == big.unit().refusal().short_by());
  CHECK_THAT(big.waits_for(), Catch::StartsWith("2 more cpu in quota org: ") && Catch::Contains("the 4 kept"));
}

TEST_CASE("the shortage is the one that the policy told, whatever the oversell rate", "[explanation]") {
  for (const double oversell : {1.0, 1.25, 2.0}) {
    CAPTURE(oversell);
    CoreWorld world(oversell);
    world.Add(MakeQuota("team-a").Max(4));
    world.Add(MakeQueue("team-a"));
    world.Add(MakeUnit("runs").Cpu(3).Admitted(1));
    world.Add(MakeUnit("waits").Cpu(9));
    world.Lead();
    world.Cycle();
    const v1::Explanation waits = Explained(&world, "waits", oversell);
    CHECK(waits.levels(0).short_by(0).amount() == waits.unit().refusal().short_by());
  }
}

TEST_CASE("an empty max lacks everything", "[explanation]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a"));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("waits").Cpu(2));
  world.Lead();
  world.Cycle();
  const v1::Explanation waits = Explained(&world, "waits");
  CHECK(Short(waits) == "team-a:cpu=2000");
  CHECK(waits.waits_for() == "quota team-a to be given a max");
}

TEST_CASE("a cycle and a missing parent end the path", "[explanation]") {
  CoreWorld world;
  world.Add(MakeQuota("a").Parent("b").Max(4));
  world.Add(MakeQuota("b").Parent("a").Max(4));
  world.Add(MakeQuota("c").Parent("gone").Max(4));
  for (const std::string queue : {"a", "b", "c"}) world.Add(MakeQueue(queue));
  world.Add(MakeUnit("in-cycle").Quota("a").Cpu(1));
  world.Add(MakeUnit("orphan").Quota("c").Cpu(1));
  world.Lead();
  world.Cycle();
  CHECK(Short(Explained(&world, "in-cycle")) == "a: b:");
  CHECK_THAT(Explained(&world, "in-cycle").waits_for(), Catch::Contains("they lead back to it"));
  CHECK(Short(Explained(&world, "orphan")) == "c:");
  CHECK(Explained(&world, "orphan").waits_for() == "an ElasticQuota named gone");
}

TEST_CASE("of two quotas with one name the older one is explained", "[explanation]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a", "new").Created(absl::FromUnixSeconds(9)).Max(99));
  world.Add(MakeQuota("team-a", "old").Created(absl::FromUnixSeconds(1)).Max(4));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("waits").Cpu(9));
  world.Lead();
  world.Cycle();
  world.Add(MakeQuota("other").Max(4));
  world.Add(MakeUnit("alone").Quota("other").Cpu(9));
  const v1::Explanation waits = Explained(&world, "waits");
  CHECK(waits.levels(0).max(0).amount() == 4000);
  CHECK(waits.quota_namespace() == "old");
  REQUIRE(waits.shadowed_quotas_size() == 1);
  CHECK(waits.shadowed_quotas(0) == "new/team-a");
  CHECK(Explained(&world, "alone").shadowed_quotas_size() == 0);
}

TEST_CASE("each level that is short is named, the one that refused first", "[explanation]") {
  CoreWorld world;
  world.Add(MakeQuota("root").Max(20));
  world.Add(MakeQuota("org").Parent("root").Max(4));
  world.Add(MakeQuota("x").Parent("org").Max(4));
  world.Add(MakeQueue("x"));
  world.Add(MakeUnit("runs").Quota("x").Cpu(4).Admitted(1));
  world.Add(MakeUnit("waits").Quota("x").Cpu(3));
  world.Lead();
  world.Cycle();
  const v1::Explanation waits = Explained(&world, "waits");
  CHECK(Short(waits) == "x:cpu=3000 org:cpu=3000 root:");
  CHECK(waits.waits_for() ==
        "3 more cpu in quota x: units of it end, or its max is raised; and then 3 more cpu in quota org");
}

TEST_CASE("nothing is known of units that are not there or finished", "[explanation]") {
  CoreWorld world;
  world.Add(MakeUnit("done").Phase(Phase::kFailed));
  world.Lead();
  const auto snapshot = world.core().TakeSnapshot(world.now());
  const auto explanation = Explain(*snapshot, {"default", "done"}, {});
  CHECK(explanation.status().code() == absl::StatusCode::kNotFound);
  CHECK(explanation.status().message() == "no unfinished queue unit default/done");
}

TEST_CASE("units without a quota or queue say what is missing", "[explanation]") {
  CoreWorld world;
  world.Add(MakeUnit("lost").Quota(""));
  world.Add(MakeUnit("stray").Quota("nowhere"));
  world.Add(MakeUnit("bad").Invalid("spec.resource.cpu: -1 is negative"));
  world.Add(MakeUnit("off").Active(false));
  world.Lead();
  world.Cycle();
  CHECK_THAT(Explained(&world, "lost").waits_for(), Catch::Contains("quota.scheduling.koordinator.sh/name"));
  CHECK_THAT(Explained(&world, "stray").waits_for(), Catch::StartsWith("a queue named nowhere"));
  CHECK(Explained(&world, "bad").waits_for() == "the queue unit to be corrected (spec.resource.cpu: -1 is negative)");
  CHECK(Explained(&world, "off").waits_for() == "spec.active to be set to true");
}

TEST_CASE("every refusal and every place has an event that ends it", "[explanation]") {
  UnitSnapshot picture;
  picture.unit = std::make_shared<const QueueUnit>(MakeUnit("a").Obj());
  picture.retry_at = absl::UnixEpoch();
  for (int i = 0; i <= static_cast<int>(Refusal::kWriteFailed); ++i) {
    CAPTURE(i);
    RefusalDetail why;
    why.refusal = static_cast<Refusal>(i);
    why.quota = "q";
    why.resource = "cpu";
    picture.place = Place::kParked;
    picture.why = std::make_shared<const RefusalDetail>(why);
    CHECK_FALSE(WaitsFor(picture).empty());
  }
  picture.place = Place::kResting;
  CHECK(WaitsFor(picture) == "the next try at 1970-01-01T00:00:00Z");
  picture.place = Place::kReady;
  CHECK(WaitsFor(picture) == "its turn in the next cycle");
  picture.place = Place::kAssumed;
  CHECK(WaitsFor(picture) == "the API server to take its admission");
  picture.place = Place::kDraining;
  CHECK(WaitsFor(picture) == "its pods to be gone");
  picture.place = Place::kAdmitted;
  CHECK(WaitsFor(picture) == "");
}

}  // namespace
}  // namespace kq::scheduler
