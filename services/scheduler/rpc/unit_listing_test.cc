#include "services/scheduler/rpc/unit_listing.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

// team-a (max 4): r1 and r2 run in namespaces y and x, w-low and w-high wait, off is
// inactive. team-b: wb waits. Nobody's: lost. Also one that is finished.
std::shared_ptr<const Snapshot> Picture() {
  CoreWorld world;
  for (const std::string team : {"team-a", "team-b"}) {
    world.Add(MakeQuota(team).Max(4));
    world.Add(MakeQueue(team));
  }
  world.Add(MakeUnit("r1", "y").Cpu(2).Admitted(1, Phase::kRunning));
  world.Add(MakeUnit("r2", "x").Cpu(2).Admitted(1));
  world.Add(MakeUnit("w-low", "x").Cpu(1).Priority(1));
  world.Add(MakeUnit("w-high", "y").Cpu(1).Priority(2).Phase(Phase::kUnset));
  world.Add(MakeUnit("off", "x").Active(false));
  world.Add(MakeUnit("done", "x").Phase(Phase::kSucceed));
  world.Add(MakeUnit("wb", "x").Quota("team-b").Cpu(9));
  world.Add(MakeUnit("lost", "x").Quota(""));
  world.Add(MakeUnit("stray", "x").Quota("nowhere"));
  world.Lead();
  world.Cycle();
  return world.core().TakeSnapshot(world.now());
}

// "w-high w-low | 2 0": names, total, remaining.
std::string Listed(const Snapshot& snapshot, const UnitFilter& filter) {
  const absl::StatusOr<UnitPage> page = ListUnits(snapshot, filter);
  if (!page.ok()) return page.status().ToString();
  std::vector<std::string> names;
  for (const UnitSnapshot* unit : page->units) names.push_back(unit->unit->key.name);
  return absl::StrCat(absl::StrJoin(names, " "), " | ", page->total, " ", page->remaining);
}

std::string Listed(const UnitFilter& filter) { return Listed(*Picture(), filter); }

UnitFilter OfQuota(const std::string& quota) {
  UnitFilter filter;
  filter.quota = quota;
  return filter;
}

UnitFilter OfQueue(const std::string& queue) {
  UnitFilter filter;
  filter.queue = queue;
  return filter;
}

TEST_CASE("a queue lists what waits in it, in its order", "[unit_listing]") {
  CHECK(Listed(OfQueue("team-a")) == "w-high w-low | 2 0");
  CHECK(Listed(OfQueue("team-b")) == "wb | 1 0");
  CHECK(Listed(OfQueue("team-c")) == "NOT_FOUND: queue team-c not found");
}

TEST_CASE("a quota lists all of its units that are not finished: waiting ones first, then by key", "[unit_listing]") {
  CHECK(Listed(OfQuota("team-a")) == "w-high w-low off r2 r1 | 5 0");
  CHECK(Listed(OfQuota("team-b")) == "wb | 1 0");
}

TEST_CASE("a quota lists the units of the quotas below it, if they are asked for", "[unit_listing]") {
  CoreWorld world;
  world.Add(MakeQuota("org").Max(4));
  world.Add(MakeQuota("team").Parent("org").Max(4));
  world.Add(MakeQuota("group").Parent("team").Max(4));
  world.Add(MakeQuota("other").Max(4));
  // Not in force: what is below its namesake is not below org.
  world.Add(MakeQuota("other", "dup").Created(absl::FromUnixSeconds(2'000'000'000)).Parent("org").Max(4));
  for (const std::string quota : {"org", "team", "group", "other"}) {
    world.Add(MakeQueue(quota));
    world.Add(MakeUnit("waits-" + quota).Quota(quota).Cpu(9));
  }
  world.Add(MakeUnit("runs").Quota("group").Cpu(4).Admitted(1));
  world.Lead();
  world.Cycle();
  const auto snapshot = world.core().TakeSnapshot(world.now());
  const auto listed = [&](const std::string& quota, bool below, int64_t limit = 0) {
    UnitFilter filter = OfQuota(quota);
    filter.below = below;
    filter.limit = limit;
    return Listed(*snapshot, filter);
  };
  CHECK(listed("org", false) == "waits-org | 1 0");
  CHECK(listed("org", true) == "waits-group waits-org waits-team runs | 4 0");
  CHECK(listed("org", true, 2) == "waits-group waits-org | 4 2");
  CHECK(listed("team", true) == "waits-group waits-team runs | 3 0");
  CHECK(listed("group", true) == "waits-group runs | 2 0");
  CHECK(listed("other", true) == "waits-other | 1 0");
}

TEST_CASE("quotas that are one another's ancestors list each other once", "[unit_listing]") {
  CoreWorld world;
  world.Add(MakeQuota("a").Parent("b").Max(4));
  world.Add(MakeQuota("b").Parent("a").Max(4));
  for (const std::string quota : {"a", "b"}) {
    world.Add(MakeQueue(quota));
    world.Add(MakeUnit("in-" + quota).Quota(quota));
  }
  world.Lead();
  world.Cycle();
  UnitFilter filter = OfQuota("b");
  filter.below = true;
  CHECK(Listed(*world.core().TakeSnapshot(world.now()), filter) == "in-a in-b | 2 0");
}

TEST_CASE("an unknown quota is not found, unless units name it", "[unit_listing]") {
  CHECK(Listed(OfQuota("team-c")) == "NOT_FOUND: quota team-c not found");
  UnitFilter filter = OfQuota("nowhere");
  filter.ns = "y";
  CHECK(Listed(filter) == " | 0 0");
  CHECK(Listed(OfQuota("nowhere")) == "stray | 1 0");
}

TEST_CASE("without a queue and a quota everything is listed, each unit once", "[unit_listing]") {
  CHECK(Listed({}) == "w-high w-low wb lost off stray r2 r1 | 8 0");
}

TEST_CASE("a unit that holds a part and waits for the rest is listed once", "[unit_listing]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("half").Pods(4, 2).Admitted(1, Phase::kEnqueued));
  world.Lead();
  world.Cycle();
  const auto snapshot = world.core().TakeSnapshot(world.now());
  const absl::StatusOr<UnitPage> page = ListUnits(*snapshot, OfQuota("team-a"));
  REQUIRE(page.ok());
  CHECK(page->total == 1);
}

TEST_CASE("phase and namespace narrow the list", "[unit_listing]") {
  UnitFilter filter = OfQuota("team-a");
  filter.phase = "Enqueued";
  CHECK(Listed(filter) == "w-high w-low off | 3 0");
  filter.ns = "x";
  CHECK(Listed(filter) == "w-low off | 2 0");
  filter.phase = "Running";
  filter.ns = "";
  CHECK(Listed(filter) == "r1 | 1 0");
  filter.phase = "running";
  CHECK(Listed(filter) == " | 0 0");
}

TEST_CASE("offset and limit cut a page out of what was filtered", "[unit_listing]") {
  UnitFilter filter = OfQuota("team-a");
  filter.limit = 2;
  CHECK(Listed(filter) == "w-high w-low | 5 3");
  filter.offset = 2;
  CHECK(Listed(filter) == "off r2 | 5 1");
  filter.offset = 4;
  CHECK(Listed(filter) == "r1 | 5 0");
  filter.offset = 5;
  CHECK(Listed(filter) == " | 5 0");
  filter.offset = INT64_MAX;
  filter.limit = INT64_MAX;
  CHECK(Listed(filter) == " | 5 0");
  filter.offset = 3;
  CHECK(Listed(filter) == "r2 r1 | 5 0");
  filter.limit = 0;
  CHECK(Listed(filter) == "r2 r1 | 5 0");
}

TEST_CASE("what makes no sense is refused", "[unit_listing]") {
  UnitFilter filter;
  filter.offset = -1;
  CHECK(Listed(filter) == "INVALID_ARGUMENT: offset: -1 is negative");
  filter = {};
  filter.limit = -5;
  CHECK(Listed(filter) == "INVALID_ARGUMENT: limit: -5 is negative");
  filter = OfQueue("team-a");
  filter.quota = "team-a";
  CHECK(Listed(filter) == "INVALID_ARGUMENT: queue and quota: at most one of the two may be given");
}

TEST_CASE("a unit is found wherever it is", "[unit_listing]") {
  const auto snapshot = Picture();
  const FoundUnit waits = FindUnit(*snapshot, {"x", "w-low"});
  REQUIRE(waits.unit != nullptr);
  REQUIRE(waits.queue != nullptr);
  CHECK(waits.queue->queue.key.name == "team-a");
  CHECK(waits.unit->position == 2);
  CHECK(FindUnit(*snapshot, {"x", "lost"}).unit != nullptr);
  CHECK(FindUnit(*snapshot, {"x", "lost"}).queue == nullptr);
  CHECK(FindUnit(*snapshot, {"y", "r1"}).unit->place == Place::kAdmitted);
  CHECK(FindUnit(*snapshot, {"x", "r1"}).unit == nullptr);
  CHECK(FindUnit(*snapshot, {"x", "done"}).unit == nullptr);
}

}  // namespace
}  // namespace kq::scheduler
