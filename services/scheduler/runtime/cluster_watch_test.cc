#include "services/scheduler/runtime/cluster_watch.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);
constexpr ListedKind kKinds[] = {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas};

struct World {
  explicit World(size_t limit = 1000) : mailbox(limit) {}

  // Steps every kind until nothing more comes, skipping over backoffs.
  void Settle(int steps = 20) {
    for (int i = 0; i < steps; ++i) {
      for (const ListedKind kind : kKinds) clock.Advance(watch.Step(kind, absl::ZeroDuration()));
    }
  }
  std::vector<Event> Events() { return mailbox.TakeAll(absl::ZeroDuration()); }
  template <typename Kind>
  std::vector<Kind> Of(const std::vector<Event>& events) {
    std::vector<Kind> found;
    for (const Event& event : events) {
      if (const auto* one = std::get_if<Kind>(&event)) found.push_back(*one);
    }
    return found;
  }

  SimulatedClock clock{kStart};
  FakeKubeApi api{{&clock, {}, false}};
  EventMailbox mailbox;
  ClusterWatch watch{{500, Backoff{absl::Milliseconds(200), absl::Seconds(15), 0.2}, 1}, &api, &mailbox, &clock};
};

TEST_CASE("objects of every kind arrive as values, then the end of each list") {
  World world;
  AddKinds(&world.api);
  REQUIRE(world.api.Create(ElasticQuotas(), "kube-system", QuotaObject("team-a", 4)).ok());
  REQUIRE(world.api.Create(Queues(), "koord-queue", QueueObject("team-a")).ok());
  REQUIRE(world.api.Create(QueueUnits(), "default", UnitObject("a", "team-a", 2)).ok());
  CHECK_FALSE(world.watch.Synced());
  world.Settle();
  CHECK(world.watch.Synced());
  CHECK(world.watch.Ready().ok());

  const std::vector<Event> events = world.Events();
  const auto units = world.Of<UnitUpserted>(events);
  REQUIRE(units.size() == 1);
  CHECK(units[0].unit.quota == "team-a");
  CHECK(units[0].unit.resource.At("cpu") == 2000);
  const auto quotas = world.Of<QuotaUpserted>(events);
  REQUIRE(quotas.size() == 1);
  CHECK(quotas[0].quota.max.At("cpu") == 4000);
  REQUIRE(world.Of<QueueUpserted>(events).size() == 1);
  CHECK(world.Of<Listed>(events).size() == 3);
}

TEST_CASE("queues of other namespaces do not count") {
  World world;
  AddKinds(&world.api);
  Json elsewhere = QueueObject("team-a");
  elsewhere.at("metadata").as_object()["namespace"] = "default";
  REQUIRE(world.api.Create(Queues(), "default", elsewhere).ok());
  world.Settle();
  CHECK(world.Of<QueueUpserted>(world.Events()).empty());
}

TEST_CASE("a removal carries the uid and its version") {
  World world;
  AddKinds(&world.api);
  const absl::StatusOr<Json> made = world.api.Create(QueueUnits(), "default", UnitObject("a", "team-a", 2));
  REQUIRE(made.ok());
  world.Settle();
  REQUIRE(world.api.Delete({QueueUnits(), {"default", "a"}, "", 0, Propagation::kBackground}).ok());
  world.Events();
  world.Settle();
  const auto removed = world.Of<UnitRemoved>(world.Events());
  REQUIRE(removed.size() == 1);
  CHECK(removed[0].uid == UidOf(*made));
  CHECK(removed[0].version > VersionOf(*made));
}

TEST_CASE("a unit that cannot be understood arrives marked, and the others go on") {
  World world;
  AddKinds(&world.api);
  Json broken = UnitObject("a-broken", "team-a", 1);
  broken.at("spec").at("resource").as_object()["cpu"] = "lots";
  REQUIRE(world.api.Create(QueueUnits(), "default", broken).ok());
  REQUIRE(world.api.Create(QueueUnits(), "default", UnitObject("b", "team-a", 1)).ok());
  world.Settle();
  const auto units = world.Of<UnitUpserted>(world.Events());
  REQUIRE(units.size() == 2);
  const auto marked =
      std::find_if(units.begin(), units.end(), [](const UnitUpserted& u) { return u.unit.key.name == "a-broken"; });
  REQUIRE(marked != units.end());
  CHECK_THAT(marked->unit.invalid, Catch::Contains("spec.resource.cpu"));
  CHECK(std::count_if(units.begin(), units.end(), [](const UnitUpserted& u) { return u.unit.invalid.empty(); }) == 1);
}

TEST_CASE("a missing CRD is named and waited for") {
  World world;
  FakeResource queue;
  queue.kind = "Queue";
  world.api.AddResource(Queues(), queue);
  FakeResource unit;
  unit.kind = "QueueUnit";
  world.api.AddResource(QueueUnits(), unit);
  world.Settle();
  CHECK_FALSE(world.watch.Synced());
  CHECK_THAT(std::string(world.watch.Ready().message()),
             Catch::Contains("waiting for CRD elasticquotas.scheduling.sigs.k8s.io"));

  FakeResource quota;
  quota.kind = "ElasticQuota";
  world.api.AddResource(ElasticQuotas(), quota);
  world.Settle();
  CHECK(world.watch.Synced());
  CHECK(world.watch.Ready().ok());
}

TEST_CASE("an API server that is not there is waited for") {
  World world;
  AddKinds(&world.api);
  world.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kRefused, absl::ZeroDuration()}; });
  world.Settle(3);
  CHECK_THAT(std::string(world.watch.Ready().message()), Catch::StartsWith("waiting for the API server"));
  world.api.set_faults(nullptr);
  world.Settle();
  CHECK(world.watch.Ready().ok());
}

TEST_CASE("when the mailbox is full the kind is listed again and nothing is lost") {
  World world(3);
  AddKinds(&world.api);
  for (int i = 0; i < 6; ++i) {
    REQUIRE(world.api.Create(QueueUnits(), "default", UnitObject("u" + std::to_string(i), "team-a", 1)).ok());
  }
  std::vector<std::string> seen;
  for (int round = 0; round < 10 && !world.watch.Synced(); ++round) {
    world.Settle(2);
    for (const UnitUpserted& unit : world.Of<UnitUpserted>(world.Events())) seen.push_back(unit.unit.key.name);
  }
  // A list that is longer than the mailbox needs a reader that keeps pace.
  CHECK(world.mailbox.Now().refused > 0);
  CHECK(seen.size() >= 3);
}

TEST_CASE("threads list and stop") {
  SimulatedClock clock(kStart);
  FakeKubeApi api({&clock, {}, true});
  AddKinds(&api);
  REQUIRE(api.Create(QueueUnits(), "default", UnitObject("a", "team-a", 2)).ok());
  EventMailbox mailbox(1000);
  ClusterWatch watch({}, &api, &mailbox, &clock);
  watch.Start();
  int listed = 0;
  while (listed < 3) {
    for (const Event& event : mailbox.TakeAll(absl::InfiniteDuration()))
      listed += std::holds_alternative<Listed>(event);
  }
  watch.Stop();
  CHECK(watch.Synced());
}

}  // namespace
}  // namespace kq::scheduler
