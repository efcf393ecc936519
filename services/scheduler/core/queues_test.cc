// Queues follow their quotas, and units that have no queue are told.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "services/scheduler/core/core.h"
#include "services/scheduler/core/testing/builders.h"
#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

using Told = std::vector<std::string>;

TEST_CASE("a quota gets a queue, once", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4));
  CHECK(world.Cycle() == Told{"create queue team-a Priority"});
  CHECK(world.Cycle().empty());
  world.Apply(QueueWriteFinished{"team-a", absl::OkStatus()});
  CHECK(world.Cycle().empty());  // the watch has not told yet
  world.Add(MakeQueue("team-a"));
  CHECK(world.Cycle().empty());
}

TEST_CASE("a queue is made as the original makes it", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4).Policy("Block").Parent("p"));
  world.Cycle();
  REQUIRE(world.last().size() == 2);  // the other one says that there is no quota p
  const auto& create = std::get<CreateQueue>(world.last()[0]);
  CHECK(create.queue.key == ObjectKey{"koord-queue", "team-a"});
  CHECK(create.queue.priority == 1000);
  CHECK(create.queue.policy == "Block");
  CHECK(create.queue.carried_policy == "Block");
  CHECK(create.parent_quota == "p");
}

TEST_CASE("a queue that could not be created is tried again after a while", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4));
  world.Cycle();
  world.Apply(QueueWriteFinished{"team-a", absl::NotFoundError("namespace koord-queue is not there")});
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == world.now() + absl::Seconds(1));
  world.Pass(absl::Seconds(1));
  CHECK(world.Cycle() == Told{"create queue team-a Priority"});
}

TEST_CASE("a queue that comes and goes before the watch shows it is made again", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4));
  world.Cycle();
  world.Apply(QueueWriteFinished{"team-a", absl::OkStatus()});
  CHECK(world.Cycle().empty());
  CHECK(world.core().NextWakeup() == world.now() + absl::Seconds(10));
  world.Pass(absl::Seconds(10));
  CHECK(world.Cycle() == Told{"create queue team-a Priority"});
}

TEST_CASE("field report 179: the first unit of a queue that is being made is limited like any other", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeUnit("a").Cpu(9));
  CHECK(world.Cycle() == Told{"create queue team-a Priority"});  // no QueueNotFound: it is about to come
  CHECK(world.PlaceOf("a") == "unmapped");
  world.Add(MakeQueue("team-a"));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
}

TEST_CASE("a queue vanishes with its quota, when nobody is charged any more", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("a").Cpu(4).Admitted(1, Phase::kRunning));
  world.Cycle();
  world.Apply(QuotaRemoved{{"kube-system", "team-a"}, 5});
  CHECK(world.Cycle().empty());
  world.Apply(UnitRemoved{{"default", "a"}, "", 9});
  CHECK(world.Cycle() == Told{"delete queue team-a"});
  CHECK(world.Cycle().empty());
  world.Apply(QueueRemoved{{"koord-queue", "team-a"}, 12});
  CHECK(world.Cycle().empty());
}

TEST_CASE("a queue made by hand is never deleted", "[core]") {
  CoreWorld world;
  world.Add(MakeQueue("by-hand").ByHand());
  world.Lead();
  CHECK(world.Cycle().empty());
}

TEST_CASE("spec 12.1 defect 28: a hand edit of the policy survives, a changed label is carried over", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a").Policy("Block"));  // edited by hand; no label was ever carried
  world.Lead();
  CHECK(world.Cycle().empty());
  world.Add(MakeQuota("team-a").Max(5).Version(2));
  CHECK(world.Cycle().empty());
  world.Add(MakeQuota("team-a").Max(5).Policy("Priority").Version(3));
  CHECK(world.Cycle() == Told{"update queue team-a Priority"});
}

TEST_CASE("spec 12.1 defects 15, 27: an unsupported policy is told and the last good one stays", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a").Policy("Block"));
  world.Lead();
  world.Cycle();
  world.Add(MakeQueue("team-a").Policy("Round").Version(2));
  CHECK(world.Cycle() == Told{"notify team-a AddQueueFail"});
  world.Add(MakeUnit("a").Cpu(1));
  CHECK(world.Cycle() == Told{"dequeue a"});
  const auto snapshot = world.core().TakeSnapshot(world.now());
  CHECK_THAT(snapshot->queues[0]->trouble,
             Catch::Contains("\"Round\" is not supported; the one before it stays in force"));
  CHECK(snapshot->queues[0]->policy == "Block");
  CHECK_FALSE(snapshot->queues[0]->admits_nothing);
}

TEST_CASE("a queue that begins with an unsupported policy admits nothing and says so", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a").Policy("FIFO"));
  world.Add(MakeUnit("a").Cpu(1));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a AddQueueFail", "requeue a PolicyUnsupported team-a"});
  const auto snapshot = world.core().TakeSnapshot(world.now());
  CHECK(snapshot->queues[0]->admits_nothing);
  CHECK(snapshot->queues[0]->policy.empty());
  CHECK(world.Cycle().empty());
  world.Add(MakeQueue("team-a").Policy("Priority").Version(2));
  CHECK(world.Cycle() == Told{"dequeue a"});
}

TEST_CASE("a queue that never had a supported policy has none, also when its admission checks go", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a").Policy("FIFO").Check("prov"));
  world.Lead();
  world.Cycle();
  world.Add(MakeQueue("team-a").Policy("FIFO").Version(2));
  CHECK(world.Cycle() == Told{"notify team-a AddQueueFail"});
  world.Add(MakeUnit("a").Cpu(1));
  CHECK(world.Cycle() == Told{"requeue a PolicyUnsupported team-a"});
}

TEST_CASE("an unsupported label makes a Priority queue and an event on the quota", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeQuota("team-a").Max(4).Policy("Round"));
  CHECK(world.Cycle() == Told{"create queue team-a Priority", "notify team-a UnsupportedQueuePolicy"});
}

TEST_CASE("a queue that names admission checks admits nothing and says so", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a").Check("prov"));
  world.Add(MakeUnit("a").Cpu(1));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a AddQueueFail", "requeue a ChecksUnsupported team-a"});
  CHECK_THAT(RefusalSentence(std::get<Requeue>(world.last()[1]).why), Catch::Contains("prov"));
}

TEST_CASE("QueueNotFound: once, and again only after the unit had a queue in between", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeUnit("a").Cpu(1).Quota("nobody"));
  CHECK(world.Cycle() == Told{"requeue a QueueNotFound nobody", "notify a QueueNotFound"});
  CHECK(std::get<Notify>(world.last()[1]).message == "queue nobody not found for queueUnit default/a");
  CHECK_FALSE(std::get<Requeue>(world.last()[0]).with_event);
  world.Add(MakeUnit("a").Cpu(1).Quota("nobody").Version(2).Message("queue nobody not found for queueUnit default/a"));
  world.Add(MakeUnit("a").Cpu(1).Quota("nobody").Priority(3).Version(3).Message(
      "queue nobody not found for queueUnit default/a"));
  CHECK(world.Cycle().empty());

  world.Add(MakeQueue("nobody").ByHand());
  CHECK(world.Cycle() == Told{"requeue a QuotaNotFound nobody"});
  world.Add(MakeUnit("a").Cpu(1).Quota("nobody").Priority(3).Version(4).Message(
      RefusalSentence(std::get<Requeue>(world.last()[0]).why)));
  world.Apply(QueueRemoved{{"koord-queue", "nobody"}, 9});
  CHECK(world.Cycle() == Told{"requeue a QueueNotFound nobody", "notify a QueueNotFound"});
}

TEST_CASE("a restart does not repeat QueueNotFound", "[core]") {
  CoreWorld world;
  world.Add(MakeUnit("a").Cpu(1).Quota("nobody").Message("queue nobody not found for queueUnit default/a"));
  world.Lead();
  CHECK(world.Cycle().empty());
}

TEST_CASE("field report 28: a unit without a quota label is told within one cycle, once", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeUnit("a").Cpu(1).Quota(""));
  CHECK(world.Cycle() == Told{"requeue a NoQuotaLabel", "notify a MissingQuotaLabel"});
  CHECK(world.Cycle().empty());
  CHECK(world.PlaceOf("a") == "unmapped");
  world.Add(MakeQueue("team-a"));
  world.Add(MakeQuota("team-a").Max(1));
  world.Add(MakeUnit("a").Cpu(1).Quota("team-a").Version(2));
  CHECK(world.Cycle() == Told{"dequeue a"});
}

TEST_CASE("a second quota of one name is told and counts for nothing", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a", "one").Max(4).Created(absl::FromUnixSeconds(1)));
  world.Add(MakeQuota("team-a", "two").Max(9).Created(absl::FromUnixSeconds(2)));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a QuotaNameConflict"});
  CHECK(world.Cycle().empty());
  world.Add(MakeUnit("a").Cpu(5));
  CHECK(world.Cycle() == Told{"requeue a OverMax team-a cpu"});
  const auto snapshot = world.core().TakeSnapshot(world.now());
  REQUIRE(snapshot->quotas.size() == 2);
  CHECK(snapshot->quotas[0]->trouble.empty());
  CHECK(snapshot->quotas[0]->shadowed_by == std::nullopt);
  CHECK(snapshot->quotas[1]->shadowed_by == ObjectKey{"one", "team-a"});
  CHECK_THAT(snapshot->quotas[1]->trouble, Catch::Contains("one/team-a has the same name and is older"));
}

TEST_CASE("a quota without a max admits nothing, which its picture says beside a warning", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a"));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  world.Cycle();
  CHECK_THAT(world.core().TakeSnapshot(world.now())->quotas[0]->trouble, Catch::Contains("team-a"));
  world.Add(MakeQuota("team-a").Max(4).Version(2));
  world.Cycle();
  CHECK(world.core().TakeSnapshot(world.now())->quotas[0]->trouble.empty());
}

TEST_CASE("what is wrong with a quota is an event on it, once until it is mended", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Invalid("spec.max.cpu: \"x\" is no quantity"));
  world.Add(MakeQuota("team-b").Max(1).Parent("nobody"));
  world.Add(MakeQuota("loop-1").Max(1).Parent("loop-2"));
  world.Add(MakeQuota("loop-2").Max(1).Parent("loop-1"));
  world.Add(MakeQuota("upside-down").Min(8).Max(4));
  for (const char* queue : {"team-a", "team-b", "loop-1", "loop-2", "upside-down"}) world.Add(MakeQueue(queue));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify loop-1 QuotaCycle", "notify loop-2 QuotaCycle", "notify team-a QuotaInvalid",
                              "notify team-b QuotaNotFound", "notify upside-down MinAboveMax"});
  world.Add(MakeQuota("team-c").Max(1));
  world.Add(MakeQueue("team-c"));
  CHECK(world.Cycle().empty());

  const auto upside_down = [&world] { return *world.core().TakeSnapshot(world.now())->quotas.back(); };
  CHECK_THAT(upside_down().warning, Catch::StartsWith("min of cpu, ") && Catch::Contains("is above its max"));
  CHECK(upside_down().trouble.empty());

  world.Add(MakeQuota("team-a").Max(4).Version(2));
  world.Add(MakeQuota("upside-down").Min(4).Max(4).Version(2));
  CHECK(world.Cycle().empty());
  CHECK(upside_down().warning.empty());
  world.Add(MakeQuota("team-a").Invalid("spec.min: expected an object").Version(3));
  CHECK(world.Cycle() == Told{"notify team-a QuotaInvalid"});
}

TEST_CASE("a field of a quota that nobody reads is an event on it, once until it is mended, and the quota is in force",
          "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4).UnknownFields("spec.mn"));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a QuotaUnknownField"});
  CHECK(std::get<Notify>(world.last()[0]).message ==
        "spec.mn: not a field that is read; those are spec.min and spec.max");
  world.Add(MakeUnit("a").Cpu(4));
  CHECK(world.Cycle() == Told{"dequeue a"});
  CHECK(world.core().TakeSnapshot(world.now())->quotas[0]->trouble.empty());

  world.Add(MakeQuota("team-a").Max(4).Version(2));
  CHECK(world.Cycle().empty());
  world.Add(MakeQuota("team-a").Max(4).UnknownFields("spec.mn").Version(3));
  CHECK(world.Cycle() == Told{"notify team-a QuotaUnknownField"});
}

TEST_CASE("field report 37: an amount that is most likely a mistake is an event on its quota, which is in force",
          "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").MaxOf({{"cpu", 4000}, {"hugepages-2Mi", 256}}));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a QuotaAmountOdd"});
  const std::string text = "spec.max: hugepages-2Mi: 256 bytes is not a multiple of the page size 2Mi; is 256Mi meant?";
  CHECK(std::get<Notify>(world.last()[0]).message == text);
  CHECK(world.core().TakeSnapshot(world.now())->quotas[0]->warning == text);
  world.Add(MakeUnit("a").Cpu(4));
  CHECK(world.Cycle() == Told{"dequeue a"});

  world.Add(MakeQuota("team-a").MaxOf({{"cpu", 4000}, {"hugepages-2Mi", 256 << 20}}).Version(2));
  CHECK(world.Cycle().empty());
  CHECK(world.core().TakeSnapshot(world.now())->quotas[0]->warning.empty());
}

TEST_CASE("a lending label that is neither true nor false is an event on its quota, which lends", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4).OddLends("No"));
  world.Add(MakeQueue("team-a"));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a QuotaLabelOdd"});
  const std::string text =
      "label quota.scheduling.koordinator.sh/allow-lent-resource: \"No\" is neither true nor false: what is free of "
      "its "
      "min is lent";
  CHECK(std::get<Notify>(world.last()[0]).message == text);
  CHECK(world.core().TakeSnapshot(world.now())->quotas[0]->warning == text);
  world.Add(MakeQuota("team-a").Max(4).Version(2));
  CHECK(world.Cycle().empty());
  CHECK(world.core().TakeSnapshot(world.now())->quotas[0]->warning.empty());
}

TEST_CASE("a queue without a quota of its name says so, and no longer once there is one", "[core]") {
  CoreWorld world;
  const auto queue = [&world] { return world.core().TakeSnapshot(world.now())->queues[0]; };
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a").ByHand());
  world.Lead();
  world.Cycle();
  CHECK(queue()->trouble.empty());
  world.Apply(QuotaRemoved{MakeQuota("team-a").Obj().key, 2});
  CHECK(queue()->trouble == "no ElasticQuota is named team-a");
  CHECK(queue()->admits_nothing);
  world.Add(MakeQueue("team-a").ByHand().Check("prov").Version(2));  // what it would say with a quota comes first
  CHECK_THAT(queue()->trouble, Catch::Contains("admission checks"));
  world.Add(MakeQueue("team-a").ByHand().Version(3));
  world.Add(MakeQuota("team-a").Max(4).Version(3));
  CHECK(queue()->trouble.empty());
  CHECK_FALSE(queue()->admits_nothing);
}

TEST_CASE("an admitted unit whose quota is gone is still shown", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeUnit("runs").Cpu(4).Admitted(1, Phase::kRunning));
  world.Lead();
  CHECK(world.PlaceOf("runs") == "admitted");
  CHECK(world.core().TakeSnapshot(world.now())->unplaced->empty());
  world.Apply(QuotaRemoved{{"kube-system", "team-a"}, 5});
  CHECK(world.PlaceOf("runs") == "admitted");
  CHECK(world.core().TakeSnapshot(world.now())->unplaced->size() == 1);
  world.Apply(UnitRemoved{{"default", "runs"}, "", 9});
  CHECK(world.PlaceOf("runs") == "gone");
}

TEST_CASE("units of a deleted queue are unmapped, and admitted ones keep their charge", "[core]") {
  CoreWorld world;
  world.Add(MakeQuota("team-a").Max(4));
  world.Add(MakeQueue("team-a"));
  world.Add(MakeUnit("runs").Cpu(4).Admitted(1, Phase::kRunning));
  world.Add(MakeUnit("waits").Cpu(4));
  world.Lead();
  world.Cycle();
  world.Apply(QueueRemoved{{"koord-queue", "team-a"}, 5});
  CHECK(world.PlaceOf("waits") == "unmapped");
  CHECK(world.Used("team-a") == 4);
  CHECK(world.Cycle() == Told{"create queue team-a Priority"});
  CHECK(world.core().BrokenInvariants() == Told{});
}

TEST_CASE("field report 121: whoever does not lead keeps the newest trouble of a queue alone", "[core]") {
  CoreWorld world;
  for (const char* name : {"team-a", "mended", "gone"}) world.Add(MakeQuota(name).Max(4));
  for (uint64_t edit = 1; edit <= 50; ++edit) {
    for (const char* name : {"team-a", "mended", "gone"})
      world.Add(MakeQueue(name).Policy(absl::StrCat("Round-", edit)).Version(edit));
    CHECK(world.Cycle().empty());
  }
  world.Add(MakeQueue("mended").Version(51));
  world.Apply(QuotaRemoved{{"kube-system", "gone"}, 51});
  world.Apply(QueueRemoved{{"koord-queue", "gone"}, 52});
  world.Lead();
  CHECK(world.Cycle() == Told{"notify team-a AddQueueFail"});
  CHECK_THAT(std::get<Notify>(world.last()[0]).message, Catch::Contains("\"Round-50\""));
  CHECK(world.Cycle().empty());
}

TEST_CASE("field report 154: a queue that admits nothing hinders no other in the same cycle", "[core]") {
  CoreWorld world;
  for (const char* name : {"bad", "good"}) world.Add(MakeQuota(name).Max(4));
  world.Add(MakeQueue("bad").Policy("FIFO").Priority(9));
  world.Add(MakeQueue("good").Priority(1));
  world.Add(MakeUnit("a").Quota("bad").Cpu(1));
  world.Add(MakeUnit("b").Quota("good").Cpu(1));
  world.Lead();
  CHECK(world.Cycle() == Told{"notify bad AddQueueFail", "requeue a PolicyUnsupported bad", "dequeue b"});
}

TEST_CASE("a unit without a queue that is deleted and made anew is told anew", "[core]") {
  CoreWorld world;
  world.Lead();
  world.Add(MakeUnit("a").Quota("nowhere").Cpu(1));
  const Told first = world.Cycle();
  CHECK(std::count(first.begin(), first.end(), "notify a QueueNotFound") == 1);
  CHECK(world.Cycle().empty());
  world.Apply(UnitRemoved{{"default", "a"}, "uid-default-a", 5});
  CHECK(world.PlaceOf("a") == "gone");
  world.Add(MakeUnit("a").Quota("nowhere").Cpu(1).Uid("second").Version(6));
  CHECK(world.Cycle() == first);
}

}  // namespace
}  // namespace kq::scheduler
