#include "services/scheduler/runtime/leadership.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);
constexpr char kMe[] = "me_11111111-2222-4333-8444-555555555555";

struct World {
  explicit World(const std::string& identity = kMe)
      : lease(
            LeaseOptions{
                {"default", "example-lease"}, identity, absl::Seconds(15), absl::Seconds(10), absl::Seconds(2)},
            &api, &clock),
        leadership(Parts(&lease)) {
    FakeResource lease_kind;
    lease_kind.kind = "Lease";
    api.AddResource({"coordination.k8s.io", "v1", "leases"}, lease_kind);
  }
  LeadershipParts Parts(Lease* with) {
    LeadershipParts parts;
    parts.lease = with;
    parts.mailbox = &mailbox;
    parts.clock = &clock;
    parts.synced = [this] { return synced; };
    parts.on_taken = [this] { ++taken; };
    parts.on_lost = [this] { ++lost; };
    return parts;
  }
  // Epochs that the core was told.
  std::vector<std::string> Epochs() {
    std::vector<std::string> epochs;
    for (const Event& event : mailbox.TakeAll(absl::ZeroDuration()))
      epochs.push_back(std::get<LeadershipTaken>(event).epoch);
    return epochs;
  }

  SimulatedClock clock{kStart};
  FakeKubeApi api{{&clock, {}, false}};
  EventMailbox mailbox{10};
  bool synced = true;
  int taken = 0, lost = 0;
  Lease lease;
  Leadership leadership;
};

TEST_CASE("nobody campaigns before the cluster has been listed") {
  World world;
  world.synced = false;
  CHECK(world.leadership.Step() < absl::Seconds(1));
  CHECK_FALSE(world.leadership.Leads());
  CHECK(world.leadership.State().status.ok());
  world.synced = true;
  world.leadership.Step();
  CHECK(world.leadership.Leads());
}

TEST_CASE("the core is told once, with the time as the epoch") {
  World world;
  world.leadership.Step();
  world.clock.Advance(absl::Seconds(2));
  world.leadership.Step();
  CHECK(world.taken == 1);
  CHECK(world.Epochs() == std::vector<std::string>{"1700000000000"});
  CHECK(world.leadership.MayWrite());
  CHECK(world.leadership.Leader() == kMe);
  CHECK(world.leadership.State().note == "leads");
}

TEST_CASE("a second replica follows and takes over when the lease is given back") {
  World world;
  world.leadership.Step();
  const std::string other = "you_66666666-2222-4333-8444-555555555555";
  Lease second_lease({{"default", "example-lease"}, other, absl::Seconds(15), absl::Seconds(10), absl::Seconds(2)},
                     &world.api, &world.clock);
  Leadership second(world.Parts(&second_lease));
  second.Step();
  CHECK_FALSE(second.Leads());
  CHECK_FALSE(second.MayWrite());
  CHECK(second.State().note == std::string("follows ") + kMe);
  CHECK(second.UnknownHolder().empty());

  CHECK(world.leadership.Release().ok());
  CHECK_FALSE(world.leadership.MayWrite());
  second.Step();
  CHECK(second.Leads());
}

TEST_CASE("who cannot renew may not write, loses, and says so once") {
  World world;
  world.leadership.Step();
  world.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kRefused, absl::ZeroDuration()}; });
  CHECK(world.leadership.WriteStatus().ok());
  world.clock.Advance(absl::Seconds(11));
  CHECK(absl::IsUnavailable(world.leadership.WriteStatus()));
  for (int i = 0; i < 8; ++i) {
    world.clock.Advance(absl::Seconds(2));
    world.leadership.Step();
  }
  CHECK(absl::IsCancelled(world.leadership.WriteStatus()));
  CHECK_FALSE(world.leadership.MayWrite());
  CHECK_FALSE(world.leadership.Leads());
  CHECK(world.lost == 1);
  CHECK_FALSE(world.leadership.State().status.ok());
  CHECK(world.leadership.Step() == absl::InfiniteDuration());
  CHECK(world.lost == 1);
}

TEST_CASE("a holder that is not koord-queue is named") {
  World stranger("ingress-controller");
  stranger.leadership.Step();
  REQUIRE(stranger.leadership.Leads());
  Lease lease({{"default", "example-lease"}, kMe, absl::Seconds(15), absl::Seconds(10), absl::Seconds(2)},
              &stranger.api, &stranger.clock);
  Leadership ours(stranger.Parts(&lease));
  ours.Step();
  CHECK_FALSE(ours.Leads());
  CHECK(ours.UnknownHolder() == "ingress-controller");
  CHECK_THAT(ours.State().note, Catch::Contains("ingress-controller"));
  CHECK(ours.State().status.ok());
}

TEST_CASE("without election a process leads as soon as it is synced") {
  World world;
  Leadership alone(world.Parts(nullptr));
  world.synced = false;
  alone.Step();
  CHECK_FALSE(alone.MayWrite());
  world.synced = true;
  CHECK(alone.Step() == absl::InfiniteDuration());
  CHECK(alone.MayWrite());
  CHECK(alone.UnknownHolder().empty());
  CHECK(world.Epochs().size() == 1);
  CHECK(alone.Release().ok());
  CHECK_FALSE(alone.MayWrite());
}

TEST_CASE("a thread campaigns until it is stopped") {
  World world;
  std::thread thread([&world] { world.leadership.Run(); });
  CHECK(world.mailbox.TakeAll(absl::InfiniteDuration()).size() == 1);
  world.leadership.Stop();
  thread.join();
  CHECK(world.leadership.Leads());
}

}  // namespace
}  // namespace kq::scheduler
