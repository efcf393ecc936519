// From when a unit waits: the same for every reader, through messages, reports and
// changes of the leader.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "services/scheduler/core/core.h"
#include "services/scheduler/core/testing/builders.h"
#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

constexpr absl::Duration kWeek = absl::Hours(7 * 24);

// Quota team-a of 4 cores with its queue, leading.
CoreWorld TeamA() {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  world.Cycle();
  return world;
}

absl::Time SinceOf(CoreWorld& world, const std::string& name) {
  const auto snapshot = world.core().TakeSnapshot(world.now());
  for (const auto& queue : snapshot->queues) {
    for (const UnitSnapshot& unit : queue->waiting) {
      if (unit.unit->key.name == name) return unit.since;
    }
  }
  return absl::InfiniteFuture();
}

// What a core that begins now with this unit says.
absl::Time AfterColdStart(const MakeUnit& unit, absl::Duration later) {
  CoreWorld world = TeamA();
  world.Pass(later);
  world.Add(unit);
  return SinceOf(world, unit.Obj().key.name);
}

TEST_CASE("a unit that was never admitted waits since its creation, whatever its messages say", "[core]") {
  CoreWorld world = TeamA();
  const absl::Time created = world.now();
  world.Pass(absl::Minutes(1));
  // The first message sets the conditions; they are no later begin of the wait.
  const auto told = ConditionsFor(Phase::kEnqueued, {}, "", world.now());
  world.Add(MakeUnit("a").Cpu(9).Created(created));
  world.Cycle();
  CHECK(SinceOf(world, "a") == created);
  const MakeUnit after =
      MakeUnit("a").Cpu(9).Created(created).Version(2).Conditions(told).Times(absl::InfinitePast(), world.now());
  world.Add(after);
  world.Add(MakeUnit(after).Version(3).Priority(5));
  CHECK(SinceOf(world, "a") == created);
  CHECK(AfterColdStart(after, absl::Hours(2)) == created);
}

TEST_CASE("field report 169: a unit that was put back waits since then, over messages and a cold start", "[core]") {
  const absl::Time start = CoreWorld().now();
  const absl::Time admitted = start + absl::Hours(1);
  const absl::Time requeued = start + absl::Hours(2);
  const absl::Time refreshed = requeued + absl::Minutes(110);
  auto conditions = ConditionsFor(Phase::kDequeued, {}, "", admitted);
  conditions = ConditionsFor(Phase::kEnqueued, conditions, "", requeued);
  const MakeUnit back = MakeUnit("a").Cpu(9).Conditions(conditions).Times(admitted, requeued);
  const MakeUnit told = MakeUnit(back).Version(2).Times(admitted, refreshed);

  CoreWorld world = TeamA();
  world.Pass(absl::Hours(2));
  world.Add(back);
  CHECK(SinceOf(world, "a") == requeued);
  world.Pass(absl::Minutes(110));
  world.Add(told);
  world.Add(MakeUnit(told).Version(3).Priority(5));  // placed anew
  CHECK(SinceOf(world, "a") == requeued);
  CHECK(AfterColdStart(told, absl::Hours(4)) == requeued);
}

TEST_CASE("who waited for its backoff to end waits in the queue since the end of it", "[core]") {
  const absl::Time admitted = CoreWorld().now();
  auto conditions = ConditionsFor(Phase::kDequeued, {}, "", admitted);
  conditions = ConditionsFor(Phase::kTimeoutBackoff, conditions, "", admitted + absl::Minutes(1));
  conditions = ConditionsFor(Phase::kEnqueued, conditions, "", admitted + absl::Minutes(6));
  const MakeUnit back = MakeUnit("a").Cpu(9).Conditions(conditions).Times(admitted, admitted + absl::Minutes(6));
  CHECK(AfterColdStart(back, absl::Hours(1)) == admitted + absl::Minutes(6));
}

TEST_CASE("without conditions a unit that was put back waits since the news of it, over messages", "[core]") {
  CoreWorld world = TeamA();
  const absl::Time admitted = world.now();
  world.Add(MakeUnit("a").Cpu(4).Admitted(1, Phase::kRunning).Times(admitted, admitted));
  world.Pass(absl::Hours(1));
  const absl::Time requeued = world.now();
  world.Add(MakeUnit("a").Cpu(9).Version(2).Times(admitted, requeued));
  CHECK(SinceOf(world, "a") == requeued);
  world.Pass(absl::Hours(1));
  const MakeUnit told = MakeUnit("a").Cpu(9).Version(3).Times(admitted, world.now()).Priority(5);
  world.Add(told);
  world.Apply(LeadershipTaken{"epoch-2"});
  CHECK(SinceOf(world, "a") == requeued);
  // A cold start knows no better than the last message.
  CHECK(AfterColdStart(told, absl::Hours(3)) == world.now());
  CHECK(world.core().BrokenInvariants() == std::vector<std::string>{});
}

TEST_CASE("field report 166: a running job that grows waits for the rest since it asked for it", "[core]") {
  CoreWorld world = TeamA();
  const absl::Time admitted = world.now();
  world.Add(MakeUnit("a").Pods(1, 2).Created(admitted).Admitted(1, Phase::kRunning).Times(admitted, admitted));
  world.Add(MakeUnit("b").Pods(1, 2).Admitted(1, Phase::kRunning));
  world.Pass(kWeek);
  const absl::Time grown = world.now();
  const MakeUnit wants =
      MakeUnit("a").Pods(2, 2).Created(admitted).Admitted(1, Phase::kRunning).Times(admitted, admitted).Version(5);
  world.Add(wants);
  world.Cycle();
  CHECK(SinceOf(world, "a") == grown);
  // Reports of its pods, and growing still more, do not move it.
  world.Pass(absl::Hours(1));
  const MakeUnit more = MakeUnit(wants).Pods(3, 2).Times(admitted, world.now()).Version(6);
  world.Add(more);
  CHECK(SinceOf(world, "a") == grown);
  // A cold start begins anew rather than count the week that it ran.
  CHECK(AfterColdStart(more, kWeek + absl::Hours(2)) == admitted + kWeek + absl::Hours(2));

  world.Add(MakeUnit(wants).Version(7));
  world.Apply(UnitRemoved{{"default", "b"}, "", 8});
  world.Cycle();
  world.Pass(absl::Seconds(1));
  const WriteFinished answer{
      {"default", "a"}, "uid-default-a", 7, world.Written(world.LastDequeue("a"), MakeUnit(wants).Version(7).Obj(), 9)};
  REQUIRE(world.core().WaitedSince(answer).has_value());
  CHECK(*world.core().WaitedSince(answer) == grown);
  world.Apply(answer);
  CHECK_FALSE(world.core().WaitedSince(answer).has_value());  // observed once
  // It grows again: another wait.
  world.Pass(absl::Hours(1));
  world.Add(MakeUnit("a").Pods(3, 2).Admitted(2, Phase::kRunning).Times(grown, grown).Version(10));
  CHECK(SinceOf(world, "a") == world.now());
}

TEST_CASE("a write that fails does not begin the wait anew, and is no admission", "[core]") {
  CoreWorld world = TeamA();
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Pass(absl::Hours(1));
  const WriteFinished failed{a.key, a.uid, a.version, absl::AbortedError("conflict")};
  const WriteFinished unwritten{a.key, a.uid, a.version, a};
  CHECK_FALSE(world.core().WaitedSince(failed).has_value());
  CHECK_FALSE(world.core().WaitedSince(unwritten).has_value());
  world.Apply(failed);
  CHECK(SinceOf(world, "a") == a.created);
}

TEST_CASE("who grows keeps waiting while its queue is away", "[core]") {
  CoreWorld world = TeamA();
  world.Add(MakeUnit("a").Pods(1, 4).Admitted(1, Phase::kRunning));
  world.Pass(absl::Hours(1));
  const absl::Time grown = world.now();
  world.Add(MakeUnit("a").Pods(2, 4).Admitted(1, Phase::kRunning).Version(5));
  world.Pass(absl::Hours(1));
  world.Apply(QueueRemoved{{"koord-queue", "team-a"}, 9});
  world.Add(MakeQueue("team-a").Version(10));
  CHECK(SinceOf(world, "a") == grown);
}

TEST_CASE("another unit under the same name has a wait of its own", "[core]") {
  CoreWorld world = TeamA();
  world.Add(MakeUnit("a").Cpu(9));
  const absl::Time created = world.now() + absl::Minutes(1);
  world.Add(MakeUnit("a").Cpu(9).Uid("second").Created(created).Version(4));
  CHECK(SinceOf(world, "a") == created);
}

}  // namespace
}  // namespace kq::scheduler
