#include "services/scheduler/rpc/snapshot_change.h"

#include <google/protobuf/util/message_differencer.h>

#include <catch2/catch.hpp>
#include <string>

#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;

v1::SnapshotChange Change(const Snapshot* before, const Snapshot& now, Detail detail = Detail::kWithUnits) {
  v1::SnapshotChange change;
  ToChange(before, now, detail, &change);
  return change;
}

CoreWorld TwoTeams() {
  CoreWorld world;
  for (const std::string team : {"team-a", "team-b"}) {
    world.Add(MakeQuota(team).Max(4));
    world.Add(MakeQueue(team));
  }
  world.Lead();
  return world;
}

TEST_CASE("the first change is the whole picture", "[snapshot_change]") {
  CoreWorld world = TwoTeams();
  world.Add(MakeUnit("lost").Quota(""));
  const auto now = world.core().TakeSnapshot(world.now());
  const v1::SnapshotChange change = Change(nullptr, *now);
  CHECK(change.whole());
  CHECK(change.id().revision() == now->revision);
  CHECK(change.queues_size() == 2);
  CHECK(change.quotas_size() == 2);
  CHECK(change.unplaced_changed());
  CHECK(change.unplaced_size() == 1);
}

TEST_CASE("another epoch is a whole picture too", "[snapshot_change]") {
  CoreWorld world = TwoTeams();
  const auto now = world.core().TakeSnapshot(world.now());
  Snapshot before = *now;
  before.epoch = "epoch-0";
  CHECK(Change(&before, *now).whole());
}

TEST_CASE("only what differs is told, and a removed part by its name", "[snapshot_change]") {
  CoreWorld world = TwoTeams();
  const auto first = world.core().TakeSnapshot(world.now());
  world.Add(MakeUnit("a").Quota("team-a").Cpu(8));
  const auto second = world.core().TakeSnapshot(world.now());
  const v1::SnapshotChange waits = Change(first.get(), *second);
  CHECK_FALSE(waits.whole());
  REQUIRE(waits.queues_size() == 1);
  CHECK(waits.queues(0).name() == "team-a");
  CHECK(waits.queues(0).waiting_size() == 1);
  CHECK(waits.quotas_size() == 0);
  CHECK_FALSE(waits.unplaced_changed());

  world.Apply(QuotaRemoved{{"kube-system", "team-b"}, 9});
  world.Apply(QueueRemoved{{std::string(kQueueNamespace), "team-b"}, 9});
  const auto third = world.core().TakeSnapshot(world.now());
  const v1::SnapshotChange removed = Change(second.get(), *third);
  REQUIRE(removed.removed_queues_size() == 1);
  CHECK(removed.removed_queues(0) == "team-b");
  REQUIRE(removed.removed_quotas_size() == 1);
  CHECK(removed.removed_quotas(0) == "kube-system/team-b");

  // Pictures may be skipped.
  const v1::SnapshotChange both = Change(first.get(), *third);
  CHECK(both.queues_size() == 1);
  CHECK(both.removed_queues_size() == 1);
}

TEST_CASE("nothing but the number changes between equal pictures", "[snapshot_change]") {
  CoreWorld world = TwoTeams();
  const auto first = world.core().TakeSnapshot(world.now());
  const auto second = world.core().TakeSnapshot(world.now());
  v1::SnapshotChange want;
  ToPictureId(*second, want.mutable_id());
  CHECK(google::protobuf::util::MessageDifferencer::Equals(Change(first.get(), *second), want));
}

TEST_CASE("without units no unit is told", "[snapshot_change]") {
  CoreWorld world = TwoTeams();
  world.Add(MakeUnit("lost").Quota(""));
  world.Add(MakeUnit("a").Quota("team-a").Cpu(8));
  const auto now = world.core().TakeSnapshot(world.now());
  const v1::SnapshotChange change = Change(nullptr, *now, Detail::kWithoutUnits);
  CHECK(change.queues_size() == 2);
  CHECK(change.queues(0).ready() == 1);
  CHECK(change.queues(0).waiting_size() == 0);
  CHECK_FALSE(change.unplaced_changed());
  CHECK(change.unplaced_size() == 0);
}

}  // namespace
}  // namespace kq::scheduler
