#include "services/scheduler/runtime/leader_label.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

struct World {
  explicit World(LeaderLabelOptions options = {"kq", "me", Backoff{}}) : label(std::move(options), &api, &clock) {
    FakeResource pod;
    pod.kind = "Pod";
    api.AddResource(Pods(), pod);
    for (const char* name : {"me", "other"}) REQUIRE(api.Create(Pods(), "kq", PodObject("kq", name)).ok());
    REQUIRE(api.Create(Pods(), "elsewhere", PodObject("elsewhere", "stranger")).ok());
  }
  void Mark(const std::string& ns, const std::string& name) {
    REQUIRE(
        api.Patch({Pods(),
                   {ns, name},
                   Subresource::kNone,
                   PatchType::kMerge,
                   JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{kLeaderLabel, "true"}, {"app", "x"}}}}}}})
            .ok());
  }
  std::string LabelOf(const std::string& ns, const std::string& name) {
    return StringAt(OnServer(api, Pods(), {ns, name}), {"metadata", "labels", kLeaderLabel});
  }
  // Writes so far.
  int64_t Patches() { return api.Calls(FakeCall::Verb::kPatch); }

  SimulatedClock clock{kStart};
  FakeKubeApi api{{&clock, {}, false}};
  LeaderLabel label;
};

TEST_CASE("the label comes when it is wanted, and goes") {
  World world;
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.LabelOf("kq", "me").empty());
  CHECK(world.label.Note() == "off");
  world.label.Want();
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.LabelOf("kq", "me") == "true");
  CHECK(world.label.Note() == "on");
  const int64_t patches = world.Patches();
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.Patches() == patches);
  CHECK(world.label.TakeOff(kStart + absl::Seconds(1)).ok());
  CHECK(world.LabelOf("kq", "me").empty());
}

TEST_CASE("a label that a process before this one left is taken off at the start") {
  World world;
  world.Mark("kq", "me");
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.LabelOf("kq", "me").empty());
  CHECK(StringAt(OnServer(world.api, Pods(), {"kq", "me"}), {"metadata", "labels", "app"}) == "x");
}

TEST_CASE("the new leader takes the label off pods that an earlier one left, in its namespace alone") {
  World world;
  world.Mark("kq", "other");
  world.Mark("elsewhere", "stranger");
  world.label.Want();
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.LabelOf("kq", "me") == "true");
  CHECK(world.LabelOf("kq", "other").empty());
  CHECK(world.LabelOf("elsewhere", "stranger") == "true");
}

TEST_CASE("a patch that failed is tried again and told") {
  World world;
  world.api.set_faults([](const FakeCall& call) {
    const bool patch = call.verb == FakeCall::Verb::kPatch;
    return FakeFault{patch ? FakeFault::Kind::kUnavailable : FakeFault::Kind::kNone, absl::ZeroDuration()};
  });
  world.label.Want();
  const absl::Duration first = world.label.Step();
  CHECK(first > absl::ZeroDuration());
  CHECK(first < absl::Minutes(1));
  CHECK_THAT(world.label.Note(), Catch::StartsWith("not yet on: "));
  CHECK(world.label.Step() > first);
  world.api.set_faults(nullptr);
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.LabelOf("kq", "me") == "true");
}

TEST_CASE("taking off gives up at the deadline") {
  World world;
  world.label.Want();
  CHECK(world.label.Step() == absl::InfiniteDuration());
  world.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kRefused, absl::ZeroDuration()}; });
  CHECK_FALSE(world.label.TakeOff(kStart + absl::Milliseconds(100)).ok());
}

TEST_CASE("outside a pod nothing is labelled, and that is said") {
  World world({"kq", "", Backoff{}});
  world.label.Want();
  CHECK(world.label.Step() == absl::InfiniteDuration());
  CHECK(world.Patches() == 0);
  CHECK(world.label.Note() == "skipped: POD_NAME is not set");
  CHECK(world.label.TakeOff(kStart).ok());
}

TEST_CASE("a thread follows what is wanted") {
  World world;
  std::thread thread([&world] { world.label.Run(); });
  world.label.Want();
  while (world.LabelOf("kq", "me") != "true") std::this_thread::yield();
  world.label.Stop();
  thread.join();
  CHECK(world.label.TakeOff(kStart + absl::Seconds(1)).ok());
  CHECK(world.LabelOf("kq", "me").empty());
}

}  // namespace
}  // namespace kq::scheduler
