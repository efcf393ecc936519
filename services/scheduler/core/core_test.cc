// What the core decides, told as stories.
#include "services/scheduler/core/core.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "services/scheduler/core/testing/builders.h"
#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

using Told = std::vector<std::string>;

// Quota team-a of `max` cores with its queue, leading, nothing to do.
CoreWorld TeamA(int64_t max, const std::string& policy = "Priority") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(max));
  world.Add(MakeQueue("team-a").Policy(policy));
  world.Lead();
  world.Cycle();
  return world;
}

Told Dequeues(Told told) {
  std::erase_if(told, [](const std::string& one) { return one.rfind("dequeue ", 0) != 0; });
  return told;
}

// Everything admitted in the last cycle is confirmed by the server.
void ConfirmAll(CoreWorld& world, const std::vector<QueueUnit>& units, uint64_t version) {
  for (const QueueUnit& unit : units) {
    world.Answer(unit, world.Written(world.LastDequeue(unit.key.name), unit, version));
  }
}

// Who waits in the one queue, in order.
std::vector<std::string> Line(CoreWorld& world) {
  std::vector<std::string> names;
  const auto snapshot = world.core().TakeSnapshot(world.now());
  for (const UnitSnapshot& unit : snapshot->queues[0]->waiting) names.push_back(unit.unit->key.name);
  return names;
}

TEST_CASE("one cycle over one queue", "[core]") {
  struct Case {
    std::string name;
    int64_t max;
    std::vector<MakeUnit> units;
    Told want;
  };
  const auto c = GENERATE(values<Case>({
      {"a unit that fits is dequeued", 10, {MakeUnit("a").Cpu(10)}, {"dequeue a"}},
      {"a unit that does not fit waits", 10, {MakeUnit("a").Cpu(11)}, {"requeue a OverMax team-a cpu"}},
      {"small ones fill the rest",
       10,
       {MakeUnit("a").Cpu(8).Priority(9), MakeUnit("b").Cpu(4).Priority(5), MakeUnit("c").Cpu(2).Priority(1)},
       {"dequeue a", "requeue b OverMax team-a cpu", "dequeue c"}},
      {"higher priority first",
       10,
       {MakeUnit("a").Cpu(6).Priority(1), MakeUnit("b").Cpu(6).Priority(2)},
       {"dequeue b", "requeue a OverMax team-a cpu"}},
      {"older first at equal priority",
       10,
       {MakeUnit("a").Cpu(6).Created(absl::FromUnixSeconds(9)), MakeUnit("b").Cpu(6).Created(absl::FromUnixSeconds(8))},
       {"dequeue b", "requeue a OverMax team-a cpu"}},
      {"a unit that asks for nothing is admitted", 0, {MakeUnit("a").Cpu(0)}, {"dequeue a"}},
      {"a unit without pod sets is priced by spec.resource",
       4,
       {MakeUnit("a").Resource(Resources{{"cpu", 4000}}), MakeUnit("b").Resource(Resources{{"cpu", 1}})},
       {"dequeue a", "requeue b OverMax team-a cpu"}},
      {"an inactive unit is told and not asked", 10, {MakeUnit("a").Cpu(1).Active(false)}, {"requeue a Inactive"}},
      {"a finished unit is not asked and holds nothing",
       4,
       {MakeUnit("a").Cpu(4).Admitted(1, Phase::kSucceed), MakeUnit("b").Cpu(4)},
       {"dequeue b"}},
      {"a running unit is charged",
       4,
       {MakeUnit("a").Cpu(4).Admitted(1, Phase::kRunning), MakeUnit("b").Cpu(1)},
       {"requeue b OverMax team-a cpu"}},
      {"a unit of the original: Dequeued without admissions is charged by spec.resource",
       4,
       {MakeUnit("a").Resource(Resources{{"cpu", 4000}}).Phase(Phase::kDequeued), MakeUnit("b").Cpu(1)},
       {"requeue b OverMax team-a cpu"}},
      {"a unit of the original with an empty phase waits",
       4,
       {MakeUnit("a").Cpu(4).Phase(Phase::kUnset)},
       {"dequeue a"}},
      {"a unit put back whose pods live is charged and not asked",
       4,
       {MakeUnit("a").Cpu(4).Admitted(1, Phase::kEnqueued), MakeUnit("b").Cpu(1)},
       {"requeue b OverMax team-a cpu"}},
      {"an invalid unit is told and hinders nobody",
       4,
       {MakeUnit("a").Cpu(1).Invalid("spec.podSet[0].count: negative"), MakeUnit("b").Cpu(4)},
       {"dequeue b", "requeue a UnitInvalid"}},
      {"an elastic unit asks for what it lacks",
       4,
       {MakeUnit("a").Pods(4, 1).Admitted(2, Phase::kRunning)},
       {"dequeue a"}},
      {"it is asked for the rest alone, not for the whole again",
       5,
       {MakeUnit("a").Pods(4, 1).Admitted(2, Phase::kRunning), MakeUnit("b").Cpu(1)},
       {"dequeue a", "dequeue b"}},
  }));
  CAPTURE(c.name);
  CoreWorld world = TeamA(c.max);
  for (const MakeUnit& unit : c.units) world.Add(unit);
  CHECK(world.Cycle() == c.want);
  CHECK(world.core().BrokenInvariants() == Told{});
}

TEST_CASE("nothing is decided before everything is listed and the lease is held", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("a").Cpu(1));
  world.Apply(Listed{ListedKind::kUnits});
  world.Apply(Listed{ListedKind::kQueues});
  world.Apply(LeadershipTaken{"e"});
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == absl::InfiniteFuture());
  world.Apply(Listed{ListedKind::kQuotas});
  CHECK(world.Cycle() == Told{"dequeue a"});
}

TEST_CASE("an admitted unit names the version it rests on and grants everything", "[core]") {
  CoreWorld world = TeamA(10);
  world.Add(MakeUnit("a").Pods(3, 2).Version(17).Attempts(4));
  world.Cycle();
  const Dequeue dequeue = world.LastDequeue("a");
  CHECK(dequeue.version == 17);
  CHECK(dequeue.attempts == 5);
  REQUIRE(dequeue.admissions.size() == 1);
  CHECK(dequeue.admissions[0].replicas == 3);
  CHECK(dequeue.now == world.now());
  CHECK(world.PlaceOf("a") == "assumed");
}

TEST_CASE("a unit is charged at once, long before the server answers", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(3));
  world.Cycle();
  world.Add(MakeUnit("b").Cpu(3));
  CHECK(world.Cycle() == Told{"requeue b OverMax team-a cpu"});
  CHECK(world.Used("team-a") == 3);
}

TEST_CASE("a finished unit makes room, and who waited for it is woken", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Add(MakeUnit("b").Cpu(4).Priority(-1));
  CHECK(world.Cycle() == Told{"dequeue a", "requeue b OverMax team-a cpu"});
  ConfirmAll(world, {a}, 5);
  CHECK(world.Cycle().empty());
  world.Add(MakeUnit("a").Cpu(4).Admitted(1, Phase::kSucceed).Version(9));
  CHECK(world.Cycle() == Told{"dequeue b"});
}

TEST_CASE("a parked unit is not asked while nothing that concerns it changes", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeQuota("team-b").Max(4));
  world.Add(MakeQueue("team-b"));
  world.Cycle();
  world.Add(MakeUnit("a").Cpu(9));
  world.Cycle();
  const int64_t asked = world.core().asked();
  const QueueUnit b = MakeUnit("b").Quota("team-b").Cpu(4).Obj();
  world.Apply(UnitUpserted{b});
  CHECK(world.Cycle() == Told{"dequeue b"});
  ConfirmAll(world, {b}, 6);
  world.Apply(UnitRemoved{b.key, b.uid, 8});
  for (int i = 0; i < 5; ++i) CHECK(world.Cycle().empty());
  CHECK(world.core().asked() == asked + 1);
}

TEST_CASE("room that is too small does not wake a large unit, room at the parent wakes those it held up", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("p").Max(6));
  world.Add(MakeQuota("team-a").Parent("p").Max(9));
  world.Add(MakeQuota("team-b").Parent("p").Max(9));
  for (const char* queue : {"p", "team-a", "team-b"}) world.Add(MakeQueue(queue));
  world.Lead();
  const QueueUnit small = MakeUnit("small").Quota("team-b").Cpu(1).Obj();
  const QueueUnit big = MakeUnit("big").Quota("team-b").Cpu(5).Obj();
  world.Apply(UnitUpserted{small});
  world.Apply(UnitUpserted{big});
  world.Cycle();
  ConfirmAll(world, {small, big}, 5);
  world.Add(MakeUnit("waits").Cpu(4));
  CHECK(world.Cycle() == Told{"requeue waits OverMax p cpu"});
  const int64_t asked = world.core().asked();
  world.Apply(UnitRemoved{small.key, small.uid, 9});
  CHECK(world.Cycle().empty());
  CHECK(world.core().asked() == asked);
  world.Apply(UnitRemoved{big.key, big.uid, 10});
  CHECK(world.Cycle() == Told{"dequeue waits"});
}

TEST_CASE("field report 92: a raised quota is noticed in the next cycle", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(5));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  world.Add(MakeQuota("team-a").Max(5).Version(2));
  CHECK(world.Cycle() == Told{"dequeue a"});
}

TEST_CASE("a quota lowered below its use admits nothing until it has drained", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  ConfirmAll(world, {a}, 5);
  world.Add(MakeQuota("team-a").Max(2).Version(6));
  world.Add(MakeUnit("b").Cpu(1));
  CHECK(world.Cycle() == Told{"requeue b OverMax team-a cpu"});
  CHECK(world.Used("team-a") == 4);
  world.Apply(UnitRemoved{a.key, a.uid, 9});
  CHECK(world.Cycle() == Told{"dequeue b"});
}

TEST_CASE("the same reason is told once, another one again, and numbers do not count", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  world.Add(MakeQuota("team-a").Max(5).Version(2));
  CHECK(world.Cycle().empty());
  world.Add(MakeQuota("team-a").MaxOf({}).Version(3));
  CHECK(world.Cycle() == Told{"requeue a QuotaEmpty team-a"});
}

TEST_CASE("a unit that is put off is told once, without an event, and what it waits for when it is back", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  world.Add(MakeUnit("a").Cpu(9).Version(2).Active(false));
  CHECK(world.Cycle() == Told{"requeue a Inactive"});
  const Requeue& requeue = std::get<Requeue>(world.last()[0]);
  CHECK_FALSE(requeue.with_event);
  world.Add(MakeUnit("a").Cpu(9).Version(3).Active(false).Message(RefusalSentence(requeue.why)));
  CHECK(world.Cycle().empty());
  world.Add(MakeUnit("a").Cpu(9).Version(4).Active(false));  // somebody took it away
  CHECK(world.Cycle() == Told{"requeue a Inactive"});
  world.Add(MakeUnit("a").Cpu(9).Version(5));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
}

TEST_CASE("an inactive unit of which the controllers said more keeps their message", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("held").Cpu(1).Active(false).Message("Held: the job was suspended by its user"));
  world.Add(MakeUnit("backoff").Cpu(1).Phase(Phase::kTimeoutBackoff).Message("backoff"));
  world.Add(MakeUnit("both").Cpu(1).Phase(Phase::kTimeoutBackoff).Active(false).Message("backoff"));
  CHECK(world.Cycle().empty());
  // The controllers come after us.
  world.Add(MakeUnit("b").Cpu(1).Active(false));
  CHECK(world.Cycle() == Told{"requeue b Inactive"});
  world.Add(MakeUnit("b").Cpu(1).Active(false).Version(2).Message("Held: the job was suspended by its user"));
  CHECK(world.Cycle().empty());
}

TEST_CASE("numbers that changed are told once the refresh interval has passed, without an event", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9));
  world.Cycle();
  world.Add(MakeUnit("a").Cpu(9).Version(2).Message(RefusalSentence(std::get<Requeue>(world.last()[0]).why)));
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == absl::InfiniteFuture());
  world.Add(MakeQuota("team-a").Max(5).Version(2));
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == world.now() + absl::Minutes(10));
  world.Add(MakeQuota("team-a").Max(6).Version(3));  // the newest numbers will be told, at the same time
  CHECK(world.Cycle().empty());
  world.Pass(absl::Minutes(10) - absl::Seconds(1));
  CHECK(world.Cycle().empty());
  world.Pass(absl::Seconds(1));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  const Requeue& refresh = std::get<Requeue>(world.last()[0]);
  CHECK(refresh.why.limit == 6000);
  CHECK_FALSE(refresh.with_event);
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == absl::InfiniteFuture());
}

TEST_CASE("after a restart old numbers on the object are refreshed like any others", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9).Message(
      "limited quotaName:team-a, limited resKey:cpu, requested 9, used 1 of 4, short by 6"));
  CHECK(world.Cycle().empty());
  world.Pass(absl::Minutes(10));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
}

TEST_CASE("numbers that are right again by the time of the refresh cause no write", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9));
  world.Cycle();
  world.Add(MakeUnit("a").Cpu(9).Version(2).Message(RefusalSentence(std::get<Requeue>(world.last()[0]).why)));
  world.Add(MakeQuota("team-a").Max(5).Version(2));
  CHECK(world.Cycle().empty());
  world.Add(MakeQuota("team-a").Max(4).Version(3));
  CHECK(world.Cycle().empty());
  world.Pass(absl::Minutes(10));
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == absl::InfiniteFuture());
}

TEST_CASE("all units together are refreshed no faster than the budget allows", "[core]") {
  CoreOptions options;
  options.refresh_spacing = absl::Seconds(1);
  CoreWorld world(1.0, options);
  world.Add(MakeQuota("team-a").Max(0));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  for (const char* name : {"a", "b", "c"}) world.Add(MakeUnit(name).Cpu(2));
  CHECK(world.Cycle().size() == 3);
  world.Add(MakeQuota("team-a").Max(1).Version(2));
  CHECK(world.Cycle().empty());
  world.Pass(absl::Minutes(10));
  Told refreshed;
  for (int second = 0; second < 4; ++second) {
    for (const std::string& told : world.Cycle()) refreshed.push_back(absl::StrCat(second, " ", told));
    world.Pass(absl::Seconds(1));
  }
  CHECK(refreshed ==
        Told{"0 requeue a OverMax team-a cpu", "0 requeue b OverMax team-a cpu", "1 requeue c OverMax team-a cpu"});
}

TEST_CASE("with refreshes off numbers alone are never told", "[core]") {
  CoreOptions options;
  options.refresh_interval = absl::ZeroDuration();
  CoreWorld world(1.0, options);
  world.Add(MakeQuota("team-a").Max(0));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  world.Add(MakeUnit("a").Cpu(2));
  CHECK(world.Cycle().size() == 1);
  world.Add(MakeQuota("team-a").Max(1).Version(2));
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == absl::InfiniteFuture());
}

TEST_CASE("a unit that never had a queue is without one since it was seen", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeUnit("a").Quota("nowhere").Cpu(1));
  world.Cycle();
  const auto snapshot = world.core().TakeSnapshot(world.now());
  REQUIRE(snapshot->unplaced->size() == 1);
  CHECK(snapshot->unplaced->front().since == world.now());
}

TEST_CASE("a restart does not tell again what the object says already", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9).Message(
      "limited quotaName:team-a, limited resKey:cpu, requested 8, used 1 of 4, short by 5"));
  CHECK(world.Cycle().empty());
  CHECK(world.PlaceOf("a") == "parked");
}

TEST_CASE("a message that got lost is told again, but not for ever", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  for (uint64_t version = 2; version <= 6; ++version) {
    world.Add(MakeUnit("a").Cpu(9).Version(version).Message("somebody else was here"));
    CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
    CHECK_FALSE(std::get<Requeue>(world.last()[0]).with_event);
  }
  world.Add(MakeUnit("a").Cpu(9).Version(7).Message("somebody else was here"));
  CHECK(world.Cycle().empty());
}

TEST_CASE("a message whose write failed is told again after a while, without another event", "[core]") {
  CoreWorld world = TeamA(4);
  world.set_tells(CoreWorld::Tells::kLost);
  world.Add(MakeUnit("a").Cpu(9));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == world.now() + absl::Seconds(1));
  world.Pass(absl::Seconds(1));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  CHECK_FALSE(std::get<Requeue>(world.last()[0]).with_event);
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == world.now() + absl::Seconds(2));
}

TEST_CASE("a reason that changes while the message is on its way is told when the answer is there", "[core]") {
  CoreWorld world = TeamA(4);
  world.set_tells(CoreWorld::Tells::kUnanswered);
  world.Add(MakeUnit("a").Cpu(9));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  world.Add(MakeQuota("team-a").MaxOf({}).Version(2));
  CHECK(world.Cycle().empty());
  world.Apply(TellFinished{{"default", "a"}, "uid-default-a", 1, true});
  CHECK(world.Cycle() == Told{"requeue a QuotaEmpty team-a"});
}

TEST_CASE("only so many units are told at a time, and all of them in the end", "[core]") {
  CoreOptions options;
  options.tells_on_the_way = 2;
  CoreWorld world(1.0, options);
  world.Add(MakeQuota("team-a").Max(0));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  world.set_tells(CoreWorld::Tells::kUnanswered);
  for (const char* name : {"a", "b", "c", "d", "e"}) world.Add(MakeUnit(name).Cpu(1));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu", "requeue b OverMax team-a cpu"});
  CHECK(world.Cycle().empty());
  world.Apply(TellFinished{{"default", "b"}, "uid-default-b", 1, true});
  CHECK(world.Cycle() == Told{"requeue c OverMax team-a cpu"});
  world.Apply(TellFinished{{"default", "a"}, "uid-default-a", 1, true});
  world.Apply(TellFinished{{"default", "c"}, "uid-default-c", 1, true});
  CHECK(world.Cycle() == Told{"requeue d OverMax team-a cpu", "requeue e OverMax team-a cpu"});
}

TEST_CASE("the echo of our own message changes nothing", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeUnit("a").Cpu(9));
  world.Cycle();
  const std::string message = RefusalSentence(std::get<Requeue>(world.last()[0]).why);
  CHECK(message == "limited quotaName:team-a, limited resKey:cpu, requested 9, used 0 of 4, short by 5");
  world.Add(MakeUnit("a").Cpu(9).Version(2).Message(message).Attempts(1));
  CHECK(world.Cycle().empty());
  CHECK(world.core().asked() == 1);
}

TEST_CASE("a failed write gives the quota back and the unit rests", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Answer(a, absl::InvalidArgumentError("no"));
  CHECK(world.Used("team-a") == 0);
  CHECK(world.PlaceOf("a") == "resting");
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == world.now() + absl::Seconds(1));
  world.Pass(absl::Seconds(1));
  CHECK(world.Cycle() == Told{"dequeue a"});
  world.Answer(a, absl::InvalidArgumentError("no"));
  CHECK(world.core().NextWakeup() == world.now() + absl::Seconds(2));
}

TEST_CASE("a conflict with news decides on the news at once", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Add(MakeUnit("a").Cpu(3).Version(2));  // while the write is on its way
  CHECK(world.PlaceOf("a") == "assumed");
  world.Answer(a, absl::AbortedError("conflict"));
  CHECK(world.Cycle() == Told{"dequeue a"});
  CHECK(world.LastDequeue("a").version == 2);
  CHECK(world.Used("team-a") == 3);
}

TEST_CASE("a conflict whose news come later is decided when they come", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Answer(a, absl::AbortedError("conflict"));
  CHECK(world.PlaceOf("a") == "resting");
  world.Add(MakeUnit("a").Cpu(4).Version(2).Message("only the message changed"));
  CHECK(world.Cycle() == Told{"dequeue a"});
}

TEST_CASE("a write on an object that is gone refunds and forgets", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Answer(a, absl::NotFoundError("gone"));
  CHECK(world.Used("team-a") == 0);
  CHECK(world.PlaceOf("a") == "gone");
  world.Apply(UnitUpserted{a});  // late news of it
  CHECK(world.PlaceOf("a") == "gone");
  world.Add(MakeUnit("a").Uid("another").Version(7).Cpu(1));
  CHECK(world.Cycle() == Told{"dequeue a"});
}

TEST_CASE("guard 1: old news do not take back what an answer said", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Version(3).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  ConfirmAll(world, {a}, 5);
  world.Add(MakeUnit("a").Cpu(4).Version(4));  // the watch lags
  CHECK(world.Used("team-a") == 4);
  CHECK(world.PlaceOf("a") == "admitted");
}

TEST_CASE("guard 2: the answer to an earlier incarnation counts for nothing", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Version(3).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Apply(UnitRemoved{a.key, a.uid, 5});
  const QueueUnit again = MakeUnit("a").Cpu(4).Version(6).Uid("second").Obj();
  world.Apply(UnitUpserted{again});
  CHECK(world.Cycle() == Told{"dequeue a"});
  world.Answer(a, absl::AbortedError("conflict"));  // of the first
  CHECK(world.Used("team-a") == 4);
  CHECK(world.PlaceOf("a") == "assumed");
}

TEST_CASE("guard 3: a removal older than what is known is ignored", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Version(3).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  // The outcome was unknown; the read found the unit deleted and made again.
  world.Answer(a, MakeUnit("a").Cpu(4).Version(7).Uid("second").Obj());
  CHECK(world.Cycle() == Told{"dequeue a"});
  world.Apply(UnitRemoved{a.key, a.uid, 6});  // the watch tells of the first one
  CHECK(world.Used("team-a") == 4);
  CHECK(world.PlaceOf("a") == "assumed");
}

TEST_CASE("a removed unit is refunded even while its write is on its way", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  world.Cycle();
  world.Apply(UnitRemoved{a.key, a.uid, 5});
  world.Add(MakeUnit("b").Cpu(4));
  CHECK(world.Cycle() == Told{"dequeue b"});
  world.Answer(a, absl::NotFoundError("gone"));
  CHECK(world.Used("team-a") == 4);
  CHECK(world.core().BrokenInvariants() == Told{});
}

TEST_CASE("a changed label moves a waiting unit to its queue and a running one's charge to its quota", "[core]") {
  CoreWorld world = TeamA(4);
  world.Add(MakeQuota("team-b").Max(1));
  world.Add(MakeQueue("team-b"));
  world.Add(MakeUnit("runs").Cpu(4).Admitted(1, Phase::kRunning));
  world.Add(MakeUnit("waits").Cpu(1));
  CHECK(world.Cycle() == Told{"requeue waits OverMax team-a cpu"});
  world.Add(MakeUnit("waits").Cpu(1).Quota("team-b").Version(2));
  CHECK(world.Cycle() == Told{"dequeue waits"});
  world.Add(MakeUnit("runs").Cpu(4).Admitted(1, Phase::kRunning).Quota("team-b").Version(3));
  CHECK(world.Used("team-a") == 0);
  CHECK(world.Used("team-b") == 5);  // above its max: it runs
}

TEST_CASE("Block: the head of a quota blocks it, and the rest is told so", "[core]") {
  CoreWorld world = TeamA(4, "Block");
  world.Add(MakeUnit("head").Cpu(9).Priority(5));
  world.Add(MakeUnit("small").Cpu(1));
  CHECK(world.Cycle() == Told{"requeue head OverMax team-a cpu", "requeue small BehindHead team-a"});
  CHECK(world.Cycle().empty());

  // field report 52: a higher one that arrives later is considered at once.
  world.Add(MakeUnit("higher").Cpu(1).Priority(9));
  CHECK(world.Cycle() == Told{"dequeue higher"});

  // The head goes: the next one's turn.
  world.Apply(UnitRemoved{{"default", "head"}, "", 9});
  CHECK(world.Cycle() == Told{"dequeue small"});
  CHECK(world.core().BrokenInvariants() == Told{});
}

TEST_CASE("Block: start order is queue order, always", "[core]") {
  CoreWorld world = TeamA(4, "Block");
  std::vector<QueueUnit> units;
  for (int i = 0; i < 6; ++i) {
    units.push_back(MakeUnit(absl::StrCat("u", i)).Cpu(i % 2 == 0 ? 4 : 1).Created(absl::FromUnixSeconds(i)).Obj());
    world.Apply(UnitUpserted{units.back()});
  }
  std::vector<std::string> started;
  uint64_t version = 10;
  for (int round = 0; round < 12; ++round) {
    for (const std::string& told : world.Cycle()) {
      if (told.rfind("dequeue ", 0) == 0) started.push_back(told.substr(8));
    }
    for (const Decision& decision : std::vector<Decision>(world.last())) {
      const auto* dequeue = std::get_if<Dequeue>(&decision);
      if (dequeue == nullptr) continue;
      const QueueUnit& unit = units[dequeue->unit.name[1] - '0'];
      world.Answer(unit, world.Written(*dequeue, unit, ++version));
      world.Apply(UnitRemoved{unit.key, unit.uid, ++version});
    }
  }
  CHECK(started == Told{"u0", "u1", "u2", "u3", "u4", "u5"});
}

TEST_CASE("a queue that turns from Block to Priority lets the small ones pass", "[core]") {
  CoreWorld world = TeamA(4, "Block");
  world.Add(MakeUnit("head").Cpu(9).Priority(5));
  world.Add(MakeUnit("small").Cpu(1));
  world.Cycle();
  world.Add(MakeQueue("team-a").Policy("Priority").Version(2));
  CHECK(world.Cycle() == Told{"dequeue small"});
}

TEST_CASE("queues of one priority take turns, within a cycle and from one to the next", "[core]") {
  // Row 68 of the field reports: all jobs of one queue went before those of the other.
  CoreWorld world;
  world.Add(MakeQuota("p").Max(4));
  for (const char* name : {"a", "b"}) {
    world.Add(MakeQuota(name).Parent("p").Max(9));
    world.Add(MakeQueue(name));
  }
  world.Add(MakeQueue("p"));
  world.Lead();
  std::map<std::string, QueueUnit> units;
  const auto add = [&](const std::string& name, const QueueUnit& unit) {
    world.Apply(UnitUpserted{unit});
    units[name] = unit;
  };
  for (int i = 1; i <= 4; ++i) {
    for (const std::string queue : {"a", "b"}) {
      const std::string name = absl::StrCat(queue, i);
      add(name, MakeUnit(name).Quota(queue).Cpu(1).Obj());
    }
  }
  add("b0", MakeUnit("b0").Quota("b").Cpu(5).Priority(9).Obj());  // never fits, and costs its queue no turn
  CHECK(Dequeues(world.Cycle()) == Told{"dequeue a1", "dequeue b1", "dequeue a2", "dequeue b2"});
  const auto ends = [&](const std::string& name) {
    world.Apply(UnitRemoved{units[name].key, units[name].uid, 100});
    return Dequeues(world.Cycle());
  };
  CHECK(ends("a1") == Told{"dequeue a3"});
  CHECK(ends("a2") == Told{"dequeue b3"});
  CHECK(ends("b1") == Told{"dequeue a4"});
  CHECK(ends("a3") == Told{"dequeue b4"});
}

TEST_CASE("queues are served by priority; of one priority first by name", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("p").Max(4));
  for (const char* name : {"a", "b", "c"}) world.Add(MakeQuota(name).Parent("p").Max(4));
  world.Add(MakeQueue("a"));
  world.Add(MakeQueue("b"));
  world.Add(MakeQueue("c").Priority(5));
  world.Add(MakeQueue("p"));
  world.Lead();
  for (const char* name : {"a", "b", "c"}) world.Add(MakeUnit(absl::StrCat("u-", name)).Quota(name).Cpu(2));
  CHECK(world.Cycle() == Told{"dequeue u-c", "dequeue u-a", "requeue u-b OverMax p cpu"});
}

TEST_CASE("a cycle stops at its limit and goes on in the next turn", "[core]") {
  CoreOptions options;
  options.asks_per_cycle = 2;
  CoreWorld world(1.0, options);
  world.Add(MakeQuota("team-a").Max(9));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  for (const char* name : {"a", "b", "c"}) world.Add(MakeUnit(name).Cpu(1));
  CHECK(world.Cycle() == Told{"dequeue a", "dequeue b"});
  CHECK(world.core().NextWakeup() == absl::InfinitePast());
  CHECK(world.Cycle() == Told{"dequeue c"});
  world.Cycle();
  CHECK(world.core().NextWakeup() == absl::InfiniteFuture());
}

TEST_CASE("a unit that leads from its admissions holds the same after a restart", "[core]") {
  CoreWorld world = TeamA(100);
  const QueueUnit part = MakeUnit("part").Pods(5, 2).Admitted(2, Phase::kRunning).Obj();
  const QueueUnit whole = MakeUnit("whole").Pods(3, 1).Obj();
  world.Apply(UnitUpserted{part});
  world.Apply(UnitUpserted{whole});
  CHECK(world.Cycle() == Told{"dequeue part", "dequeue whole"});
  const int64_t used = world.Used("team-a");
  CHECK(used == 13);
  CoreWorld restarted = TeamA(100);
  restarted.Apply(UnitUpserted{world.Written(world.LastDequeue("part"), part, 7)});
  restarted.Apply(UnitUpserted{world.Written(world.LastDequeue("whole"), whole, 8)});
  CHECK(restarted.Used("team-a") == used);
}

TEST_CASE("field report 2: a burst that just fits is admitted in one cycle and counted to the last unit", "[core]") {
  CoreWorld world = TeamA(100);
  for (int i = 0; i < 100; ++i) world.Add(MakeUnit(absl::StrCat("unit-", i)).Cpu(1));
  const Told told = world.Cycle();
  CHECK(told.size() == 100);
  CHECK(std::all_of(told.begin(), told.end(), [](const std::string& one) { return one.rfind("dequeue ", 0) == 0; }));
  CHECK(world.Used("team-a") == 100);
  world.Add(MakeUnit("one-more").Cpu(1));
  CHECK(world.Cycle() == Told{"requeue one-more OverMax team-a cpu"});
}

TEST_CASE("field report 17: a unit that finishes while its admission is on its way holds nothing", "[core]") {
  CoreWorld world = TeamA(4);
  const QueueUnit a = MakeUnit("a").Cpu(4).Obj();
  world.Apply(UnitUpserted{a});
  CHECK(world.Cycle() == Told{"dequeue a"});
  world.Add(MakeUnit("a").Cpu(4).Phase(Phase::kSucceed).Version(2));
  world.Answer(a, absl::AbortedError("conflict"));
  CHECK(world.Used("team-a") == 0);
  CHECK(world.core().BrokenInvariants() == Told{});
  world.Add(MakeUnit("b").Cpu(4));
  CHECK(world.Cycle() == Told{"dequeue b"});
}

TEST_CASE("field report 65: a restart finds the order of before, however the units come", "[core]") {
  std::vector<MakeUnit> units;
  for (int i = 0; i < 1000; ++i) {
    units.push_back(MakeUnit(absl::StrCat("unit-", i % 10, "-", i / 10), absl::StrCat("ns-", i % 3))
                        .Cpu(1)
                        .Priority(i % 7)
                        .Created(absl::UnixEpoch() + absl::Seconds(i % 50)));
  }
  std::mt19937 chance(65);
  const auto line_of = [&](absl::Duration told_after) {
    std::shuffle(units.begin(), units.end(), chance);
    CoreWorld world = TeamA(0);
    for (const MakeUnit& unit : units) {
      const absl::Time told_at = world.now() + told_after * static_cast<double>(chance() % 100);
      world.Add(MakeUnit(unit).Message(absl::StrCat("told at ", chance())).Times(absl::InfinitePast(), told_at));
    }
    world.Cycle();
    return Line(world);
  };
  const std::vector<std::string> before = line_of(absl::Seconds(1));
  CHECK(before.size() == 1000);
  CHECK(line_of(absl::Hours(1)) == before);
}

TEST_CASE("a changed priority moves a unit in its line", "[core]") {
  CoreWorld world = TeamA(0);
  world.Add(MakeUnit("b").Cpu(1).Priority(15));
  uint64_t version = 1;
  const auto with_priority = [&](int32_t priority) {
    world.Add(MakeUnit("a").Cpu(1).Priority(priority).Version(version++));
    world.Cycle();
    return Line(world);
  };
  CHECK(with_priority(10) == Told{"b", "a"});
  CHECK(with_priority(20) == Told{"a", "b"});
  CHECK(with_priority(5) == Told{"b", "a"});
}

TEST_CASE("admissions that shrink wake who waits for the room, others wake nobody", "[core]") {
  struct Case {
    std::string name;
    int64_t max;  // just what is held at first
    MakeUnit before, after;
    bool wakes;
  };
  const auto running = [](int64_t pods, int64_t admitted) {
    return MakeUnit("a").Pods(pods, 1).Admitted(admitted, Phase::kRunning);
  };
  const std::vector<Case> cases = {
      {"replicas 1 -> 0", 1, running(1, 1), running(0, 0), true},
      {"entries 1 -> 0", 1, running(1, 1), MakeUnit("a").Cpu(1).Active(false).Message("the queue unit is not active"),
       true},
      {"replicas 2 -> 1", 2, running(2, 2), running(1, 1), true},
      {"replicas 1 -> 2", 1, running(1, 1), running(2, 2), false},
      {"the same", 1, running(1, 1), running(1, 1), false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CoreWorld world = TeamA(c.max);
    world.Add(c.before);
    world.Add(MakeUnit("waits").Cpu(1));
    CHECK(world.Cycle() == Told{"requeue waits OverMax team-a cpu"});
    const int64_t asked = world.core().asked();
    world.Add(MakeUnit(c.after).Version(2));
    CHECK(world.Cycle() == (c.wakes ? Told{"dequeue waits"} : Told{}));
    CHECK(world.core().asked() == asked + (c.wakes ? 1 : 0));
  }
}

}  // namespace
}  // namespace kq::scheduler
