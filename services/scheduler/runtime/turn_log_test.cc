#include "services/scheduler/runtime/turn_log.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libs/common/captured_stderr.h"
#include "libs/common/log.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

// What is written to stderr meanwhile, at this verbosity.
std::string Logged(int verbosity, const std::function<void()>& work) {
  return CapturedStderr([&] {
    SetLogVerbosity(verbosity);
    work();
    SetLogVerbosity(0);
  });
}

Turn TurnOf(std::vector<Event> events, std::vector<Decision> decisions = {}) {
  Turn turn;
  turn.events = std::make_shared<const std::vector<Event>>(std::move(events));
  turn.decisions = std::make_shared<const std::vector<Decision>>(std::move(decisions));
  return turn;
}

Queue QueueWith(const std::string& policy) {
  Queue queue = QueueValue("team-a", 1);
  queue.policy = policy;
  return queue;
}

TEST_CASE("at 1 the log tells of Queues: that they come, with their policy, that they change and go") {
  TurnLog log;
  CHECK(Logged(1, [&] {
          log.Record(TurnOf({QueueUpserted{QueueWith("Block")}}));
        }).find(R"("Queue added" queue="team-a" policy="Block" refused-policy="" priority=0)") != std::string::npos);
  CHECK(Logged(1, [&] { log.Record(TurnOf({QueueUpserted{QueueWith("Block")}})); }) == "");
  CHECK_THAT(Logged(1, [&] { log.Record(TurnOf({QueueUpserted{QueueWith("Priority")}})); }),
             Catch::Contains(R"("Queue changed" queue="team-a" policy="Priority")"));
  CHECK_THAT(Logged(1,
                    [&] {
                      log.Record(TurnOf({QueueRemoved{QueueWith("").key, 2}}));
                    }),
             Catch::Contains(R"("Queue removed" queue="team-a")"));
}

TEST_CASE("of a Queue the log gives wait-for-pods-running and max-depth as they are written, and their changes") {
  TurnLog log;
  Queue queue = QueueWith("Block");
  const auto said = [&] { return Logged(1, [&] { log.Record(TurnOf({QueueUpserted{queue}})); }); };
  CHECK_THAT(said(),
             Catch::Contains(R"("Queue added")") && Catch::Contains(R"(wait-for-pods-running="" max-depth="")"));
  queue.wait_for_pods_running = "true";
  queue.max_depth = "5 or so";
  CHECK_THAT(said(), Catch::Contains(R"("Queue changed" queue="team-a" policy="Block")") &&
                         Catch::Contains(R"(wait-for-pods-running="true" max-depth="5 or so")"));
  CHECK(said() == "");
  queue.max_depth = "";
  CHECK_THAT(said(), Catch::Contains(R"(wait-for-pods-running="true" max-depth="")"));
}

TEST_CASE("of a Queue the log names the policy in force, and the one that is refused apart from it") {
  TurnLog log;
  const auto said = [&](const std::string& name, const std::string& policy) {
    Queue queue = QueueValue(name, 1);
    queue.policy = policy;
    return Logged(1, [&] { log.Record(TurnOf({QueueUpserted{queue}})); });
  };
  CHECK_THAT(said("team-a", "Block"), Catch::Contains(R"(policy="Block" refused-policy="")"));
  CHECK_THAT(said("team-a", "Round"), Catch::Contains(R"(policy="Block" refused-policy="Round")"));
  CHECK_THAT(said("team-a", "Spiral"), Catch::Contains(R"(policy="Block" refused-policy="Spiral")"));
  CHECK_THAT(said("team-a", ""), Catch::Contains(R"(policy="Priority" refused-policy="")"));
  CHECK_THAT(said("team-b", "Round"), Catch::Contains(R"(policy="" refused-policy="Round")"));
}

TEST_CASE("at 2 it tells who is assumed, and who is no longer and why") {
  TurnLog log;
  const QueueUnit unit = UnitValue("a", 3, 1000);
  Dequeue dequeue;
  dequeue.unit = unit.key;
  dequeue.version = 3;
  CHECK_THAT(Logged(2, [&] { log.Record(TurnOf({}, {dequeue})); }),
             Catch::Contains(R"("Unit assumed" unit=")") && Catch::Contains("version=3"));

  QueueUnit written = unit;
  written.phase = Phase::kDequeued;
  const auto left = [&](absl::StatusOr<QueueUnit> result) {
    const WriteFinished finished{unit.key, unit.uid, 3, std::move(result)};
    return Logged(2, [&] { log.Record(TurnOf({finished})); });
  };
  CHECK_THAT(left(written),
             Catch::Contains(R"("Unit no longer assumed")") && Catch::Contains(R"(reason="the admission is written")"));
  CHECK_THAT(left(absl::AbortedError("conflict")), Catch::Contains("ABORTED: conflict"));
  CHECK_THAT(left(unit), Catch::Contains("the unit changed meanwhile"));
  QueueUnit other = written;
  other.uid = "another";
  CHECK_THAT(left(other), Catch::Contains("another unit has its name now"));
}

TEST_CASE("below its level nothing is said") {
  TurnLog log;
  Dequeue dequeue;
  Requeue requeue;
  CHECK(Logged(0, [&] { log.Record(TurnOf({QueueUpserted{QueueWith("Block")}}, {dequeue, requeue})); }) == "");
  CHECK_THAT(Logged(1,
                    [&] {
                      log.Record(TurnOf({QueueUpserted{QueueWith("Block")}}, {dequeue, requeue}));
                    }),
             !Catch::Contains("Unit"));
  CHECK_THAT(Logged(2, [&] { log.Record(TurnOf({}, {requeue})); }), !Catch::Contains("Unit"));
  CHECK_THAT(Logged(3, [&] { log.Record(TurnOf({}, {requeue})); }), Catch::Contains("Unit refused"));
}

}  // namespace
}  // namespace kq::scheduler
