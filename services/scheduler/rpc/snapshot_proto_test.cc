#include "services/scheduler/rpc/snapshot_proto.h"

#include <google/protobuf/util/message_differencer.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "services/scheduler/core/testing/builders.h"
#include "services/scheduler/core/testing/world.h"

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;

UnitSnapshot PictureOf(const MakeUnit& unit, Place place) {
  UnitSnapshot picture;
  picture.unit = std::make_shared<const QueueUnit>(unit.Obj());
  picture.place = place;
  picture.since = absl::UnixEpoch();
  picture.retry_at = absl::InfinitePast();
  return picture;
}

v1::UnitSnapshot Proto(const UnitSnapshot& picture) {
  v1::UnitSnapshot out;
  ToProto(picture, &out);
  return out;
}

// "cpu=1000 memory=2"
std::string Text(const google::protobuf::RepeatedPtrField<v1::Amount>& amounts) {
  std::string text;
  for (const v1::Amount& amount : amounts) {
    absl::StrAppend(&text, text.empty() ? "" : " ", amount.resource(), "=", amount.amount());
  }
  return text;
}

RefusalDetail OverMax() {
  RefusalDetail why;
  why.refusal = Refusal::kOverMax;
  why.quota = "team-a";
  why.resource = "cpu";
  why.requested = 2000;
  why.used = 4000;
  why.limit = 5000;
  why.reserved = 1;
  why.short_by = 1000;
  why.text = "t";
  return why;
}

// A unit of which everything is known.
UnitSnapshot FullPicture() {
  QueueUnit unit = MakeUnit("j", "team").Quota("team-a").Priority(7).Pods(3, 2).Message("hello").Obj();
  unit.queue = "queue-a";
  unit.priority_class = "high";
  unit.created = absl::FromUnixMillis(1500);
  unit.consumer = {"batch/v1", "Job", {"team", "job"}, "u"};
  unit.request_text = {{"cpu", "6"}};
  unit.resource_text = {{"memory", "8Gi"}};
  unit.pods_running = 1;
  unit.pods_pending = 2;
  unit.admissions = {{"j", 2, {}, 1, {}}};
  unit.phase = Phase::kDequeued;
  UnitSnapshot picture;
  picture.unit = std::make_shared<const QueueUnit>(unit);
  picture.place = Place::kParked;
  picture.position = 4;
  picture.attempts = 9;
  picture.since = absl::FromUnixSeconds(60);
  picture.retry_at = absl::FromUnixSeconds(70);  // not resting: not told
  picture.why = std::make_shared<const RefusalDetail>(OverMax());
  return picture;
}

TEST_CASE("every field of a unit is told", "[snapshot_proto]") {
  const v1::UnitSnapshot out = Proto(FullPicture());
  CHECK(out.namespace_() == "team");
  CHECK(out.name() == "j");
  CHECK(out.uid() == "uid-team-j");
  CHECK(out.quota() == "team-a");
  CHECK(out.queue() == "team-a");  // where it waits or did, not what the object names
  CHECK(out.priority() == 7);
  CHECK(out.priority_class() == "high");
  CHECK(out.phase() == "Dequeued");
  CHECK(out.place() == v1::PARKED);
  CHECK(out.position() == 4);
  CHECK(out.refusal().reason() == v1::OVER_MAX);
  CHECK(out.refusal().quota() == "team-a");
  CHECK(out.refusal().resource() == "cpu");
  CHECK(out.refusal().requested() == 2000);
  CHECK(out.refusal().used() == 4000);
  CHECK(out.refusal().limit() == 5000);
  CHECK(out.refusal().reserved() == 1);
  CHECK(out.refusal().short_by() == 1000);
  CHECK(out.refusal().text() == "t");
  CHECK(out.refusal().sentence() == RefusalSentence(OverMax()));
  CHECK(out.message() == "hello");
  CHECK(out.attempts() == 9);
  CHECK(out.created().seconds() == 1);
  CHECK(out.created().nanos() == 500'000'000);
  CHECK(out.since().seconds() == 60);
  CHECK_FALSE(out.has_retry_at());
  REQUIRE(out.request_size() == 1);
  CHECK(out.request(0).resource() == "cpu");
  CHECK(out.request(0).quantity() == "6");
  CHECK(out.resources(0).quantity() == "8Gi");
  CHECK(out.pods_running() == 1);
  CHECK(out.pods_pending() == 2);
  CHECK(out.job_api_version() == "batch/v1");
  CHECK(out.job_kind() == "Job");
  CHECK(out.job_name() == "job");
  REQUIRE(out.pod_sets_size() == 1);
  CHECK(out.pod_sets(0).name() == "j");
  CHECK(out.pod_sets(0).count() == 3);
  CHECK(out.pod_sets(0).admitted() == 2);
  CHECK(out.pod_sets(0).running() == 1);
  CHECK(Text(out.pod_sets(0).per_pod()) == "cpu=2000");
  CHECK(Text(out.charged()) == "cpu=4000");
  CHECK(Text(out.need()) == "cpu=2000");
  CHECK_FALSE(out.invalid());
}

TEST_CASE("a unit without a phase is shown as Enqueued, and times that are not known are not told",
          "[snapshot_proto]") {
  UnitSnapshot picture = PictureOf(MakeUnit("a").Phase(Phase::kUnset).Created(absl::InfinitePast()), Place::kReady);
  picture.since = absl::InfinitePast();
  const v1::UnitSnapshot out = Proto(picture);
  CHECK(out.phase() == "Enqueued");
  CHECK_FALSE(out.has_created());
  CHECK_FALSE(out.has_since());
  CHECK_FALSE(out.has_refusal());
}

TEST_CASE("a resting unit says until when", "[snapshot_proto]") {
  UnitSnapshot picture = PictureOf(MakeUnit("a"), Place::kResting);
  picture.retry_at = absl::FromUnixSeconds(70);
  CHECK(Proto(picture).retry_at().seconds() == 70);
}

TEST_CASE("a unit whose admission is being written holds what it asked for", "[snapshot_proto]") {
  const v1::UnitSnapshot out = Proto(PictureOf(MakeUnit("a").Pods(2, 1), Place::kAssumed));
  CHECK(Text(out.charged()) == "cpu=2000");
  CHECK(Text(out.need()) == "");
}

TEST_CASE("a unit without pod sets is admitted as a whole", "[snapshot_proto]") {
  CHECK(Proto(PictureOf(MakeUnit("a").Resource({{"cpu", 5}}), Place::kReady)).pod_sets_size() == 0);
  const v1::UnitSnapshot out = Proto(PictureOf(MakeUnit("a").Resource({{"cpu", 5}}).Admitted(1), Place::kAdmitted));
  REQUIRE(out.pod_sets_size() == 1);
  CHECK(out.pod_sets(0).name() == "koord-queue/default-requirement");
  CHECK(out.pod_sets(0).admitted() == 1);
  CHECK(Text(out.charged()) == "cpu=5");
}

TEST_CASE("an invalid unit is marked", "[snapshot_proto]") {
  CHECK(Proto(PictureOf(MakeUnit("a").Invalid("spec.x: bad"), Place::kInvalid)).invalid());
}

TEST_CASE("places and reasons have one name each, none left out", "[snapshot_proto]") {
  std::set<int> places;
  for (const Place place : {Place::kUnmapped, Place::kInvalid, Place::kInactive, Place::kReady, Place::kResting,
                            Place::kParked, Place::kAssumed, Place::kAdmitted, Place::kDraining, Place::kFinished}) {
    places.insert(Proto(PictureOf(MakeUnit("a"), place)).place());
  }
  CHECK(places.size() == 10);
  CHECK(places.count(v1::PLACE_UNSPECIFIED) == 0);
  CHECK(places.size() == static_cast<size_t>(v1::Place_MAX));

  std::set<int> reasons;
  for (int i = 0; i <= static_cast<int>(Refusal::kWriteFailed); ++i) {
    RefusalDetail why;
    why.refusal = static_cast<Refusal>(i);
    v1::Refusal out;
    ToProto(why, &out);
    reasons.insert(out.reason());
  }
  CHECK(reasons.size() == static_cast<size_t>(v1::RefusalReason_MAX) + 1);
}

// team-a (min 2, max 4, under org) with one unit admitted and one waiting.
std::shared_ptr<const Snapshot> SmallWorld() {
  CoreWorld world;
  world.Add(MakeQuota("org").Max(10));
  world.Add(MakeQuota("team-a").Parent("org").Min(2).Max(4).Lends(false));
  world.Add(MakeQueue("org"));
  world.Add(MakeQueue("team-a").Priority(1000));
  world.Add(MakeUnit("runs").Cpu(3).Admitted(1));
  world.Add(MakeUnit("waits").Cpu(3));
  world.Add(MakeUnit("lost").Quota(""));
  world.Lead();
  world.Cycle();
  return world.core().TakeSnapshot(world.now());
}

TEST_CASE("a picture as a message", "[snapshot_proto]") {
  const auto snapshot = SmallWorld();
  v1::Snapshot out;
  ToProto(*snapshot, Detail::kWithUnits, &out);
  CHECK(out.id().epoch() == "epoch-1");
  CHECK(out.id().revision() == snapshot->revision);
  CHECK(out.id().synced());
  CHECK(out.id().as_of().seconds() == 3600);

  REQUIRE(out.queues_size() == 2);
  const v1::QueueSnapshot& queue = out.queues(1);
  CHECK(queue.name() == "team-a");
  CHECK(queue.policy() == "Priority");
  CHECK(queue.priority() == 1000);
  CHECK(queue.parked() == 1);
  CHECK(queue.ready() + queue.resting() + queue.assumed() == 0);
  REQUIRE(queue.waiting_size() == 1);
  CHECK(queue.waiting(0).name() == "waits");
  CHECK(queue.waiting(0).position() == 1);
  CHECK(queue.waiting(0).queue() == "team-a");

  REQUIRE(out.quotas_size() == 2);
  const v1::QuotaSnapshot& org = out.quotas(0);
  CHECK(org.name() == "org");
  CHECK(Text(org.used()) == "cpu=3000");
  CHECK(Text(org.children_used()) == "cpu=3000");
  REQUIRE(org.children_size() == 1);
  CHECK(org.children(0) == "team-a");
  CHECK(org.lends());
  const v1::QuotaSnapshot& team = out.quotas(1);
  CHECK(team.namespace_() == "kube-system");
  CHECK(team.parent() == "org");
  CHECK_FALSE(team.lends());
  CHECK(Text(team.min_amounts()) == "cpu=2000");
  CHECK(Text(team.max_amounts()) == "cpu=4000");
  CHECK(Text(team.used()) == "cpu=3000");
  CHECK(Text(team.self_used()) == "cpu=3000");
  CHECK(Text(team.guaranteed_used()) == "cpu=2000");
  REQUIRE(team.charged_size() == 1);
  CHECK(team.charged(0).name() == "runs");
  CHECK(team.charged(0).queue() == "team-a");  // although the object names none
  REQUIRE(out.unplaced_size() == 1);
  CHECK(out.unplaced(0).name() == "lost");
}

TEST_CASE("the queue of a unit is that of its quota, whatever the object names", "[snapshot_proto]") {
  const auto queue_of = [](QueueUnit unit, const std::string& named) {
    unit.queue = named;
    UnitSnapshot picture;
    picture.unit = std::make_shared<const QueueUnit>(std::move(unit));
    v1::UnitSnapshot out;
    ToProto(picture, &out);
    return out.queue();
  };
  CHECK(queue_of(MakeUnit("a").Obj(), "") == "team-a");
  CHECK(queue_of(MakeUnit("a").Obj(), "other") == "team-a");
  CHECK(queue_of(MakeUnit("a").Quota("").Obj(), "other") == "other");
  CHECK(queue_of(MakeUnit("a").Quota("").Obj(), "").empty());
}

TEST_CASE("without units only what is counted of them is told", "[snapshot_proto]") {
  v1::Snapshot with, without;
  const auto snapshot = SmallWorld();
  ToProto(*snapshot, Detail::kWithUnits, &with);
  ToProto(*snapshot, Detail::kWithoutUnits, &without);
  with.clear_unplaced();
  for (v1::QueueSnapshot& queue : *with.mutable_queues()) queue.clear_waiting();
  for (v1::QuotaSnapshot& quota : *with.mutable_quotas()) quota.clear_charged();
  CHECK(google::protobuf::util::MessageDifferencer::Equals(with, without));
}

}  // namespace
}  // namespace kq::scheduler
