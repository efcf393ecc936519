#include "services/scheduler/runtime/scheduler_loop.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "libs/common/simulated_clock.h"
#include "services/scheduler/runtime/event_json.h"
#include "services/scheduler/runtime/testing/open_door.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

// Notes what the loop does, in order.
class Notes : public DecisionSink, public TurnRecorder, public TurnObserver {
 public:
  explicit Notes(const SnapshotPublisher* publisher) : publisher_(publisher) {}

  void Submit(const Decision& decision) override {
    submitted.push_back(std::string(DecisionKind(decision)));
    revision_at_submit = publisher_->Latest()->revision;
  }
  void Record(const Turn& turn) override { recorded.push_back(turn); }
  void OnEvent(const Event&) override { ++events; }
  void OnAdmitted(absl::Time since, absl::Time now) override { waits.push_back(now - since); }
  void OnTurn(const Turn& turn, const TurnTimes& times, const std::vector<Core::AskCount>&) override {
    ++turns;
    asked += turn.asked;
    CHECK(times.Total() >= absl::ZeroDuration());
  }

  std::vector<std::string> submitted;
  uint64_t revision_at_submit = 0;
  std::vector<Turn> recorded;
  std::vector<absl::Duration> waits;
  int events = 0;
  int turns = 0;
  int64_t asked = 0;

 private:
  const SnapshotPublisher* const publisher_;
};

struct World {
  explicit World(SchedulerLoopOptions options = {})
      : loop(std::move(options), {&core, &mailbox, &publisher, &notes, &clock, &notes, {&notes}}) {}

  void Post(Event event) {
    const bool taken = mailbox.Post(std::move(event));
    REQUIRE(taken);
  }
  void ListAll() {
    Post(QuotaUpserted{QuotaValue("team-a", 1, 4000)});
    Post(QueueUpserted{QueueValue("team-a", 2)});
    for (const ListedKind kind : {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas}) Post(Listed{kind});
  }
  std::string Epoch() const {
    const auto latest = publisher.Latest();
    return latest == nullptr ? "" : latest->epoch;
  }
  void Turn() { loop.RunTurn(absl::ZeroDuration()); }
  bool Submitted(const std::string& kind) const {
    return std::find(notes.submitted.begin(), notes.submitted.end(), kind) != notes.submitted.end();
  }

  OpenDoor door;
  SimulatedClock clock{kStart};
  EventMailbox mailbox{1000};
  SnapshotPublisher publisher;
  Core core{door.Options()};
  Notes notes{&publisher};
  SchedulerLoop loop;
};

TEST_CASE("pictures that take too large a share are left out, and the last one comes by itself") {
  SchedulerLoopOptions options;
  options.snapshot_share = 1e-12;  // after any picture the next one comes a second later
  World world(options);
  world.ListAll();
  world.Turn();
  const uint64_t first = world.publisher.Latest()->revision;
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Turn();
  CHECK(world.publisher.Latest()->revision == first);
  world.clock.Advance(absl::Milliseconds(999));
  world.Turn();
  CHECK(world.publisher.Latest()->revision == first);
  world.clock.Advance(absl::Milliseconds(1));
  world.Turn();
  CHECK(world.publisher.Latest()->revision == first + 1);
  CHECK(world.publisher.Latest()->queues[0]->waiting.size() == 1);
}

TEST_CASE("nothing is decided or published before every kind is listed") {
  World world;
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Post(QuotaUpserted{QuotaValue("team-a", 1, 4000)});
  world.Post(LeadershipTaken{"1"});
  world.Post(Listed{ListedKind::kUnits});
  world.Turn();
  CHECK(world.notes.submitted.empty());
  CHECK(world.publisher.Latest() == nullptr);
  REQUIRE(world.notes.recorded.size() == 1);
  CHECK_FALSE(world.notes.recorded[0].cycled);
}

TEST_CASE("a follower is synced and decides nothing, a leader decides at once") {
  int leading = 0;
  SchedulerLoopOptions options;
  options.on_leading = [&leading] { ++leading; };
  World world(options);
  world.ListAll();
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Turn();
  CHECK(world.publisher.Latest()->synced);
  CHECK_FALSE(world.Submitted("Dequeue"));
  CHECK(leading == 0);

  world.Post(LeadershipTaken{"77"});
  world.Turn();
  CHECK(world.Submitted("Dequeue"));
  CHECK(world.publisher.Latest()->epoch == "77");
  CHECK(leading == 1);
  world.Turn();
  CHECK(leading == 1);
}

TEST_CASE("an admission is observed once it is confirmed, with the time that the unit waited") {
  World world;
  world.ListAll();
  world.Post(LeadershipTaken{"1"});
  QueueUnit unit = UnitValue("a", 3, 1000);
  unit.created = kStart - absl::Seconds(5);
  world.Post(UnitUpserted{unit});
  world.Turn();
  CHECK(world.notes.waits.empty());
  world.clock.Advance(absl::Seconds(1));
  const auto& decisions = *world.notes.recorded.back().decisions;
  const auto& dequeue = std::get<Dequeue>(decisions.back());
  QueueUnit written = unit;
  written.version = 4;
  written.phase = Phase::kDequeued;
  written.admissions = dequeue.admissions;
  for (int i = 0; i < 2; ++i) world.Post(WriteFinished{unit.key, unit.uid, 3, written});
  world.Turn();
  CHECK(world.notes.waits == std::vector<absl::Duration>{absl::Seconds(6)});
}

TEST_CASE("the picture is published before the decisions are handed over") {
  World world;
  world.ListAll();
  world.Post(LeadershipTaken{"1"});
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Turn();
  REQUIRE(world.Submitted("Dequeue"));
  CHECK(world.notes.revision_at_submit == world.publisher.Latest()->revision);
  CHECK(world.notes.revision_at_submit > 0);
}

TEST_CASE("inside a turn there is one time, and it never goes back") {
  World world;
  world.ListAll();
  world.Turn();
  world.clock.SetTime(kStart - absl::Hours(1));
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Turn();
  REQUIRE(world.notes.recorded.size() == 2);
  CHECK(world.notes.recorded[1].now == kStart);
}

TEST_CASE("a turn in which nothing happened is not recorded") {
  World world;
  world.ListAll();
  world.Turn();
  CHECK(world.notes.recorded.size() == 1);
  world.Turn();
  world.Turn();
  CHECK(world.notes.recorded.size() == 1);
  CHECK(world.notes.turns == 3);
  CHECK(world.loop.turns() == 3);
}

TEST_CASE("every event is shown to the observer and recorded") {
  World world;
  world.ListAll();
  world.Turn();
  CHECK(world.notes.events == 5);
  CHECK(world.notes.recorded[0].events->size() == 5);
}

TEST_CASE("a failed write is tried again when its rest is over, without an event") {
  World world;
  world.ListAll();
  world.Post(LeadershipTaken{"1"});
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Turn();
  world.Post(WriteFinished{{"default", "a"}, "uid-a", 3, absl::PermissionDeniedError("no")});
  world.Turn();
  const auto dequeues = [&world] {
    return std::count(world.notes.submitted.begin(), world.notes.submitted.end(), "Dequeue");
  };
  CHECK(dequeues() == 1);
  REQUIRE(world.core.NextWakeup() < absl::InfiniteFuture());
  world.clock.SetTime(world.core.NextWakeup());
  world.Turn();
  CHECK(dequeues() == 2);
}

TEST_CASE("the time of the last turn shows whether the loop still turns") {
  World world;
  CHECK(world.loop.LastTurn() == kStart);
  world.clock.Advance(absl::Minutes(1));
  CHECK(world.loop.LastTurn() == kStart);
  world.Turn();
  CHECK(world.loop.LastTurn() == kStart + absl::Minutes(1));
}

TEST_CASE("Run turns until Stop") {
  SchedulerLoopOptions options;
  options.idle_limit = absl::Hours(1);
  World world(options);
  std::thread decision([&world] { world.loop.Run(); });
  world.ListAll();
  world.Post(LeadershipTaken{"1"});
  for (uint64_t seen = 0; world.Epoch() != "1";) {
    const auto newer = world.publisher.AwaitNewer(seen, absl::InfiniteDuration());
    seen = newer == nullptr ? 0 : newer->revision;
  }
  world.loop.Stop();
  decision.join();
  const int64_t turns = world.loop.turns();
  CHECK(turns > 0);
}

TEST_CASE("with the check on, sound books pass") {
  SchedulerLoopOptions options;
  options.check_invariants = true;
  World world(options);
  world.ListAll();
  world.Post(LeadershipTaken{"1"});
  world.Post(UnitUpserted{UnitValue("a", 3, 1000)});
  world.Turn();
  CHECK(world.Submitted("Dequeue"));
}

}  // namespace
}  // namespace kq::scheduler
