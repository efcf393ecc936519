#include "libs/kube/events.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq {
namespace {

using Kind = FakeFault::Kind;
using Verb = FakeCall::Verb;

const KubeResource kEvents = {"", "v1", "events"};

ObjectReference Unit(const std::string& name = "job-1") {
  return {"scheduling.x-k8s.io/v1alpha1", "QueueUnit", {"team-a", name}, absl::StrCat("uid-of-", name), 42};
}

struct World {
  explicit World(EventOptions options = {}) {
    api.AddResource(kEvents, {.kind = "Event"});
    options.component = "koord-queue";
    options.host = "koord-queue-0";
    recorder = std::make_unique<EventRecorder>(options, &api, &clock);
  }
  void Say(const ObjectReference& object, const std::string& message) {
    recorder->Record(object, EventType::kNormal, "Scheduled", message);
  }
  int StepAll() {
    int steps = 0;
    while (recorder->Step(absl::ZeroDuration())) ++steps;
    return steps;
  }
  // The events on the server as "message x count".
  std::vector<std::string> Events() const {
    std::vector<std::string> out;
    for (const Json& event : api.Objects(kEvents)) {
      out.push_back(absl::StrCat(StringAt(event, {"message"}), " x ", Find(event, {"count"})->to_number<int64_t>()));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  void Faults(Verb verb, std::vector<Kind> kinds) {
    api.set_faults([verb, kinds, next = size_t{0}](const FakeCall& call) mutable {
      if (call.verb != verb || next == kinds.size()) return FakeFault();
      return FakeFault{kinds[next++], absl::Seconds(7)};
    });
  }

  SimulatedClock clock{absl::FromUnixSeconds(1700000000)};
  FakeKubeApi api{{.clock = &clock}};
  std::unique_ptr<EventRecorder> recorder;
};

using Lines = std::vector<std::string>;

TEST_CASE("an event says all that kubectl describe shows") {
  World world;
  world.recorder->Record(Unit(), EventType::kWarning, "FailedScheduling", "limited quotaName:team-a");
  CHECK(world.api.Objects(kEvents).empty());  // Record only hands over
  CHECK(world.recorder->Now().waiting == 1);
  CHECK(world.StepAll() == 1);
  const std::vector<Json> events = world.api.Objects(kEvents);
  REQUIRE(events.size() == 1);
  const Json& event = events[0];
  CHECK(KeyOf(event).ns == "team-a");
  CHECK(absl::StartsWith(KeyOf(event).name, "job-1."));
  CHECK(*Find(event, {"involvedObject"}) == Json{{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                                                 {"kind", "QueueUnit"},
                                                 {"namespace", "team-a"},
                                                 {"name", "job-1"},
                                                 {"uid", "uid-of-job-1"},
                                                 {"resourceVersion", "42"}});
  CHECK(StringAt(event, {"reason"}) == "FailedScheduling");
  CHECK(StringAt(event, {"message"}) == "limited quotaName:team-a");
  CHECK(StringAt(event, {"type"}) == "Warning");
  CHECK(StringAt(event, {"source", "component"}) == "koord-queue");
  CHECK(StringAt(event, {"source", "host"}) == "koord-queue-0");
  CHECK(StringAt(event, {"reportingComponent"}) == "koord-queue");
  CHECK(StringAt(event, {"reportingInstance"}) == "koord-queue-0");
  CHECK(StringAt(event, {"firstTimestamp"}) == "2023-11-14T22:13:20Z");
  CHECK(StringAt(event, {"lastTimestamp"}) == "2023-11-14T22:13:20Z");
  CHECK(*Find(event, {"count"}) == Json(1));
  CHECK(world.recorder->Now().written == 1);
  CHECK(world.recorder->Now().waiting == 0);
}

TEST_CASE("events of an object without a namespace lie in default") {
  World world;
  world.Say({"v1", "Node", {"", "n1"}, "", 0}, "hello");
  world.StepAll();
  const std::vector<Json> events = world.api.Objects(kEvents);
  REQUIRE(events.size() == 1);
  CHECK(KeyOf(events[0]).ns == "default");
  CHECK(Find(events[0], {"involvedObject", "namespace"}) == nullptr);
  CHECK(Find(events[0], {"involvedObject", "uid"}) == nullptr);
}

TEST_CASE("long messages are cut visibly and between characters") {
  struct Case {
    std::string message, want;
  };
  const auto c = GENERATE(values<Case>({
      {std::string(1024, 'a'), std::string(1024, 'a')},
      {std::string(1025, 'a'), std::string(1021, 'a') + "…"},
      {std::string(1020, 'a') + "ééé", std::string(1020, 'a') + "…"},
  }));
  World world;
  world.Say(Unit(), c.message);
  world.StepAll();
  const std::vector<Json> events = world.api.Objects(kEvents);
  REQUIRE(events.size() == 1);
  CHECK(StringAt(events[0], {"message"}) == c.want);
}

TEST_CASE("the longest object name still gives a valid event name") {
  World world;
  world.Say(Unit(std::string(240, 'a') + "." + std::string(12, 'b')), "hello");
  world.StepAll();
  CHECK(world.Events() == Lines{"hello x 1"});
}

TEST_CASE("equal events raise the count of the first one") {
  World world;
  world.Say(Unit(), "waits");
  world.StepAll();
  world.clock.Advance(absl::Minutes(1));
  world.Say(Unit(), "waits");
  world.Say(Unit(), "waits");
  world.Say(Unit(), "another message");
  world.Say(Unit("job-2"), "waits");
  CHECK(world.StepAll() == 3);
  CHECK(world.Events() == Lines{"another message x 1", "waits x 1", "waits x 3"});
  CHECK(world.recorder->Now().aggregated == 2);
  for (const Json& event : world.api.Objects(kEvents)) {
    if (*Find(event, {"count"}) != Json(3)) continue;
    CHECK(StringAt(event, {"firstTimestamp"}) == "2023-11-14T22:13:20Z");
    CHECK(StringAt(event, {"lastTimestamp"}) == "2023-11-14T22:14:20Z");
  }
}

TEST_CASE("equal events before the first was written become one write") {
  World world;
  for (int i = 0; i < 5; ++i) world.Say(Unit(), "waits");
  CHECK(world.StepAll() == 1);
  CHECK(world.Events() == Lines{"waits x 5"});
}

TEST_CASE("an equal event after the aggregation time is a new one") {
  World world({.aggregation = absl::Minutes(10)});
  world.Say(Unit(), "waits");
  world.StepAll();
  world.clock.Advance(absl::Minutes(9));
  world.Say(Unit(), "waits");
  world.clock.Advance(absl::Minutes(10));
  world.Say(Unit(), "waits");
  world.StepAll();
  CHECK(world.Events() == Lines{"waits x 1", "waits x 2"});
}

TEST_CASE("the same object made anew has events of its own") {
  World world;
  ObjectReference again = Unit();
  again.uid = "another";
  world.Say(Unit(), "waits");
  world.Say(again, "waits");
  world.StepAll();
  CHECK(world.Events() == Lines{"waits x 1", "waits x 1"});
}

TEST_CASE("one object may write so much and no more, others are not held up") {
  World world({.object_burst = 3, .object_interval = absl::Minutes(5)});
  for (int i = 0; i < 10; ++i) world.Say(Unit(), absl::StrCat("message ", i));
  world.Say(Unit("job-2"), "hello");
  world.StepAll();
  CHECK(world.Events() == Lines{"hello x 1", "message 0 x 1", "message 1 x 1", "message 2 x 1"});
  CHECK(world.recorder->Now().dropped == 7);
  world.clock.Advance(absl::Minutes(5));
  world.Say(Unit(), "later");
  world.StepAll();
  CHECK(world.Events().size() == 5);
}

TEST_CASE("counts that could not be written are told by the object's next write") {
  World world({.object_burst = 1, .object_interval = absl::Minutes(1)});
  world.Say(Unit(), "waits");
  world.StepAll();
  for (int i = 0; i < 5; ++i) world.Say(Unit(), "waits");
  CHECK(world.StepAll() == 0);
  world.clock.Advance(absl::Minutes(1));
  world.Say(Unit(), "waits");
  CHECK(world.StepAll() == 1);
  CHECK(world.Events() == Lines{"waits x 7"});
}

TEST_CASE("all events together keep to their rate") {
  World world({.per_second = 2, .burst = 3});
  for (int i = 0; i < 10; ++i) world.Say(Unit(absl::StrCat("job-", i)), "hello");
  CHECK(world.StepAll() == 3);
  world.clock.Advance(absl::Seconds(1));
  CHECK(world.StepAll() == 2);
  CHECK(world.recorder->Now().waiting == 5);
}

TEST_CASE("the queue is bounded") {
  World world({.limit = 2});
  for (int i = 0; i < 5; ++i) world.Say(Unit(absl::StrCat("job-", i)), "hello");
  CHECK(world.recorder->Now().waiting == 2);
  CHECK(world.recorder->Now().dropped == 3);
  CHECK(world.StepAll() == 2);
}

TEST_CASE("what is remembered for aggregation is bounded") {
  World world({.remembered = 1});
  world.Say(Unit("job-1"), "waits");
  world.Say(Unit("job-2"), "waits");
  world.Say(Unit("job-1"), "waits");
  world.StepAll();
  CHECK(world.Events() == Lines{"waits x 1", "waits x 1", "waits x 1"});
}

TEST_CASE("an event of a namespace that is gone is dropped and counted") {
  World world;
  world.api.AddNamespace("team-b");
  world.Say(Unit(), "hello");
  CHECK(world.StepAll() == 1);
  CHECK(world.recorder->Now().dropped == 1);
  CHECK(world.recorder->Now().failed == 0);
  world.api.AddNamespace("team-a");
  world.Say(Unit(), "hello");
  world.StepAll();
  CHECK(world.Events() == Lines{"hello x 1"});
}

TEST_CASE("an event that was deleted meanwhile is created anew with its count") {
  World world;
  world.Say(Unit(), "waits");
  world.StepAll();
  DeleteRequest request;
  request.resource = kEvents;
  request.key = KeyOf(world.api.Objects(kEvents)[0]);
  REQUIRE(world.api.Delete(request).ok());
  world.Say(Unit(), "waits");
  CHECK(world.StepAll() == 2);
  CHECK(world.Events() == Lines{"waits x 2"});
  CHECK(KeyOf(world.api.Objects(kEvents)[0]).name != request.key.name);
}

TEST_CASE("a server that is busy is asked again when it said so") {
  World world;
  world.Faults(Verb::kCreate, {Kind::kTooManyRequests});
  world.Say(Unit("job-1"), "one");
  world.Say(Unit("job-2"), "two");
  CHECK(world.StepAll() == 1);
  world.clock.Advance(absl::Seconds(6));
  CHECK(world.StepAll() == 0);
  world.clock.Advance(absl::Seconds(1));
  CHECK(world.StepAll() == 2);
  CHECK(world.Events() == Lines{"one x 1", "two x 1"});
}

TEST_CASE("a server that is never there costs the event, not the recorder") {
  World world;
  world.api.set_faults([](const FakeCall&) { return FakeFault{Kind::kRefused}; });
  world.Say(Unit(), "hello");
  int steps = 0;
  for (int i = 0; i < 100; ++i) {
    steps += world.StepAll();
    world.clock.Advance(absl::Minutes(1));
  }
  CHECK(steps == 13);
  CHECK(world.recorder->Now().failed == 1);
  world.api.set_faults(nullptr);
  world.Say(Unit(), "hello");
  world.StepAll();
  CHECK(world.Events() == Lines{"hello x 1"});
}

TEST_CASE("an answer that was lost does not make two events") {
  const Kind fault = GENERATE(Kind::kAnswerLost, Kind::kRequestLost);
  World world;
  world.Faults(Verb::kCreate, {fault});
  world.Say(Unit(), "waits");
  world.StepAll();
  CHECK(world.recorder->Now().failed == 1);
  world.Say(Unit(), "waits");
  world.StepAll();
  CHECK(world.Events() == Lines{"waits x 2"});
}

TEST_CASE("an event that happens again while it is written is written again") {
  World world;
  world.api.set_faults([&, left = 1](const FakeCall&) mutable {
    if (left-- > 0) world.Say(Unit(), "waits");
    return FakeFault();
  });
  world.Say(Unit(), "waits");
  CHECK(world.StepAll() == 2);
  CHECK(world.Events() == Lines{"waits x 2"});
}

TEST_CASE("Drain writes what it can and drops the rest") {
  World world({.per_second = 1, .burst = 2});
  for (int i = 0; i < 3; ++i) world.Say(Unit(absl::StrCat("job-", i)), "hello");
  SECTION("no time left") { world.recorder->Drain(world.clock.TimeNow()); }
  SECTION("time left") {
    std::thread drain([&] { world.recorder->Drain(world.clock.TimeNow() + absl::Milliseconds(10)); });
    while (world.recorder->Now().written < 2) std::this_thread::yield();
    world.clock.Advance(absl::Milliseconds(500));  // past the deadline, and before the next one may be written
    drain.join();
  }
  const EventRecorder::Totals totals = world.recorder->Now();
  CHECK(totals.written + totals.dropped == 3);
  CHECK(totals.dropped >= 1);
  CHECK(totals.waiting == 0);
  world.Say(Unit(), "too late");
  CHECK(world.recorder->Now().dropped == totals.dropped + 1);
  CHECK(world.StepAll() == 0);
}

TEST_CASE("threads may record while others write") {
  FakeKubeApi api{{.clock = &Clock::Real()}};
  api.AddResource(kEvents, {.kind = "Event"});
  EventOptions options;
  options.per_second = 0;
  options.object_burst = 100000;
  EventRecorder recorder(options, &api, &Clock::Real());
  std::vector<std::thread> writers, threads;
  for (int i = 0; i < 2; ++i) writers.emplace_back([&] { recorder.Run(); });
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&recorder, t] {
      for (int i = 0; i < 200; ++i) {
        recorder.Record(Unit(absl::StrCat("job-", i % 10)), EventType::kNormal, "Scheduled", absl::StrCat("by ", t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.Drain(Clock::Real().TimeNow() + absl::Minutes(1));
  for (std::thread& thread : writers) thread.join();
  int64_t counted = 0;
  for (const Json& event : api.Objects(kEvents)) counted += Find(event, {"count"})->to_number<int64_t>();
  CHECK(api.Objects(kEvents).size() == 40);
  CHECK(counted == 800);
}

}  // namespace
}  // namespace kq
