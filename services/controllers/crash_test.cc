// Crashes and faults of the wire: whatever is lost, the job is un-suspended once and
// its unit says in the end what it would have said.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/controllers/testing/job_world.h"

namespace kq::controllers {
namespace {

// How often the job's controller saw it go from suspended to not suspended.
class SuspendCount {
 public:
  void Look(const JobWorld& world) {
    const bool suspended = world.Suspended("a");
    if (was_ && !suspended) ++count_;
    was_ = suspended;
  }
  int count() const { return count_; }

 private:
  bool was_ = true;
  int count_ = 0;
};

// The whole life of a job; a process that dies is replaced by a new one.
class Life {
 public:
  // Dies at write number `write` of all; -1: never.
  Life(int write, WatchedApi::Death death) : write_(write), death_(death) {
    world_.Start();
    if (write_ >= 0) world_.process_api().DieAt(write_, death_);
  }

  void Run() {
    world_.CreateJob("a");
    Go();
    world_.Admit("a");
    Go();
    world_.SetJobStatus("a", "{'active':1,'startTime':'2025-11-29T21:00:01Z'}");
    world_.CreatePod("a", 0, "Running");
    Go();
    CHECK(world_.Phase("a") == "Running");
    CHECK(world_.Admissions("a") == "a=1/1");
    world_.SetJobStatus("a", "{'active':0,'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]}");
    world_.SetPodPhase("a", 0, "Succeeded");
    Go();
    CHECK(world_.Phase("a") == "Succeed");
    CHECK(world_.Admissions("a") == "");
  }

  int resumed() const { return suspends_.count(); }
  size_t writes() const { return world_.writes.size(); }
  bool died() const { return died_; }

 private:
  void Go() {
    world_.Advance(absl::Seconds(5));
    suspends_.Look(world_);
    if (world_.process_api().dead()) {
      died_ = true;
      world_.Start();
      world_.Advance(absl::Seconds(5));
      suspends_.Look(world_);
    }
  }

  JobWorld world_;
  const int write_;
  const WatchedApi::Death death_;
  SuspendCount suspends_;
  bool died_ = false;
};

}  // namespace

TEST_CASE("a crash between any two writes: the job is released once") {
  const auto death = GENERATE(WatchedApi::Death::kBeforeWrite, WatchedApi::Death::kAfterWrite);
  Life undisturbed(-1, death);
  undisturbed.Run();
  CHECK(undisturbed.resumed() == 1);
  const int writes = static_cast<int>(undisturbed.writes());
  REQUIRE(writes == 4);
  for (int at = 0; at < writes; ++at) {
    CAPTURE(at);
    Life life(at, death);
    life.Run();
    CHECK(life.died());
    CHECK(life.resumed() == 1);
    // Nothing was done twice.
    CHECK(static_cast<int>(life.writes()) == writes);
  }
}

TEST_CASE("whatever the wire does, jobs come to their end") {
  // Every call may fail in every way; the seed tells when.
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{21}));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto chance = [&random](int percent) { return random() % 100 < static_cast<uint64_t>(percent); };
  JobWorld world;
  bool faulty = true;
  world.process_faults = [&](const FakeCall& call) {
    using Kind = FakeFault::Kind;
    constexpr Kind kKinds[] = {Kind::kConflict, Kind::kTooManyRequests, Kind::kUnavailable, Kind::kRefused,
                               Kind::kInternal, Kind::kAnswerLost,      Kind::kRequestLost, Kind::kLate};
    if (!faulty || !chance(20)) return FakeFault{};
    const Kind kind = kKinds[random() % std::size(kKinds)];
    const bool reads =
        call.verb == FakeCall::Verb::kList || call.verb == FakeCall::Verb::kWatch || call.verb == FakeCall::Verb::kGet;
    return FakeFault{reads && kind == Kind::kLate ? Kind::kUnavailable : kind};
  };
  world.process_watch_faults = [&](const KubeResource&) {
    constexpr FakeWatchFault kKinds[] = {FakeWatchFault::kCut, FakeWatchFault::kDuplicate, FakeWatchFault::kReorder,
                                         FakeWatchFault::kGone, FakeWatchFault::kHold};
    return faulty && chance(10) ? kKinds[random() % std::size(kKinds)] : FakeWatchFault::kNone;
  };
  world.Start();
  for (int i = 0; i < 10; ++i) world.CreateJob(absl::StrCat("j", i));
  const auto name = [](int i) { return absl::StrCat("j", i); };
  std::vector<int> released(10, 0);
  std::vector<bool> was_suspended(10, true);
  const auto look = [&] {
    for (int i = 0; i < 10; ++i) {
      const bool suspended = world.Suspended(name(i));
      if (was_suspended[i] && !suspended) ++released[i];
      was_suspended[i] = suspended;
    }
  };
  for (int step = 0; step < 60; ++step) {
    world.Advance(absl::Milliseconds(200));
    if (chance(10)) world.api().LandLate();
    look();
    const int i = static_cast<int>(random() % 10);
    if (world.Phase(name(i)) == "Enqueued") world.Admit(name(i));
    if (!world.Suspended(name(i)) && chance(30)) {
      world.SetJobStatus(name(i), "{'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]}");
    }
    if (chance(5)) world.Start();
  }
  faulty = false;
  world.api().LandLate();
  world.Advance(absl::Seconds(60));
  look();
  for (int i = 0; i < 10; ++i) {
    if (world.Phase(name(i)) == "Enqueued") world.Admit(name(i));
  }
  world.Advance(absl::Seconds(5));
  look();
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    CHECK_FALSE(world.Suspended(name(i)));
    CHECK(released[i] == 1);
    world.SetJobStatus(name(i), "{'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]}");
  }
  world.Advance(absl::Seconds(5));
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    CHECK(world.Phase(name(i)) == "Succeed");
    CHECK(world.Admissions(name(i)) == "");
  }
}

}  // namespace kq::controllers
