#include "libs/kube/write_queue.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/mutex.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq {
namespace {

using Kind = FakeFault::Kind;
using Verb = FakeCall::Verb;
using Code = absl::StatusCode;

const KubeResource kUnits = {"example.io", "v1", "units"};

Json Unit(const std::string& name) {
  return {{"apiVersion", "example.io/v1"}, {"kind", "Unit"}, {"metadata", {{"name", name}}}, {"spec", {{"size", 1}}}};
}

struct World {
  World() : World(WriteQueueOptions()) {}
  explicit World(WriteQueueOptions options) {
    api.AddResource(kUnits, {.kind = "Unit", .status_subresource = true});
    options.backoff = {absl::Seconds(1), absl::Seconds(8), 0};
    options.seed = 1;
    queue = std::make_unique<WriteQueue>(options, &api, &clock);
    user = api.Connect();
  }

  Json Create(const std::string& name) { return user->Create(kUnits, "ns", Unit(name)).value(); }
  Json Now(const std::string& name) { return user->Get(kUnits, {"ns", name}).value(); }
  std::string Phase(const std::string& name) { return StringAt(Now(name), {"status", "phase"}); }
  void Touch(const std::string& name) {
    const Json patch = {{"metadata", {{"labels", {{"touched", absl::StrCat(++touched)}}}}}};
    REQUIRE(user->Patch({kUnits, {"ns", name}, Subresource::kNone, PatchType::kMerge, patch}).ok());
  }
  void Delete(const std::string& name) {
    DeleteRequest request;
    request.resource = kUnits;
    request.key = {"ns", name};
    REQUIRE(user->Delete(request).ok());
  }

  // A write of status.phase, whose answer is written down as "<phase>: <what came>".
  Write To(const Json& unit, const std::string& phase, Write::Kind kind = Write::Kind::kBinding) {
    Write write;
    write.kind = kind;
    write.patch = {kUnits, KeyOf(unit), Subresource::kStatus, PatchType::kMerge, {{"status", {{"phase", phase}}}}};
    write.uid = UidOf(unit);
    write.based_on = VersionOf(unit);
    write.done = [this, phase](absl::StatusOr<Json> result) {
      answers.push_back(
          phase + ": " +
          (result.ok() ? StringAt(*result, {"status", "phase"}) : absl::StatusCodeToString(result.status().code())));
    };
    return write;
  }
  void Submit(const Json& unit, const std::string& phase, Write::Kind kind = Write::Kind::kBinding) {
    queue->Submit(To(unit, phase, kind));
  }
  void Advise(const Json& unit, const std::string& phase) { Submit(unit, phase, Write::Kind::kAdvisory); }

  bool Step() { return queue->Step(absl::ZeroDuration()); }
  void StepAll() {
    while (Step()) {
    }
  }
  // The next calls of the verb meet these faults, one each.
  void Faults(Verb verb, std::vector<Kind> kinds) {
    api.set_faults([this, verb, kinds, next = size_t{0}](const FakeCall& call) mutable {
      if (call.verb != verb || next == kinds.size()) return FakeFault();
      return FakeFault{kinds[next++], absl::Seconds(30)};
    });
  }
  std::vector<std::string> Answers() { return std::exchange(answers, {}); }

  int touched = 0;
  SimulatedClock clock{absl::FromUnixSeconds(1000000)};
  FakeKubeApi api{{.clock = &clock}};
  std::unique_ptr<KubeApi> user;
  std::vector<std::string> answers;
  std::unique_ptr<WriteQueue> queue;
};

using Lines = std::vector<std::string>;

TEST_CASE("a write is made in one step and answered with the object as it now is") {
  World world;
  const Json unit = world.Create("a");
  CHECK(world.queue->NextDue() == absl::InfiniteFuture());
  world.Submit(unit, "Dequeued");
  CHECK(world.queue->NextDue() <= world.clock.TimeNow());
  CHECK(world.queue->Now().binding_waiting == 1);
  CHECK(world.Answers().empty());
  CHECK(world.Step());
  CHECK(world.Answers() == Lines{"Dequeued: Dequeued"});
  CHECK(world.Phase("a") == "Dequeued");
  CHECK_FALSE(world.Step());
  CHECK(world.queue->Now().made == 1);
  CHECK(world.queue->Now().binding_waiting == 0);
  CHECK(world.queue->Now().in_flight == 0);
}

TEST_CASE("a write is conditional on the version and the uid it rests on") {
  const PatchType type = GENERATE(PatchType::kMerge, PatchType::kStrategicMerge, PatchType::kJson);
  World world;
  Write write = world.To(world.Create("a"), "Dequeued");
  write.patch.type = type;
  if (type == PatchType::kJson) {
    write.patch.patch = JsonArray{{{"op", "add"}, {"path", "/status"}, {"value", JsonObject{{"phase", "Dequeued"}}}}};
  }
  SECTION("somebody else changed the object") {
    world.Touch("a");
    world.queue->Submit(write);
    CHECK(world.Step());
    CHECK(world.Answers() == Lines{"Dequeued: ABORTED"});
    CHECK(world.queue->Now().conflicts == 1);
    CHECK_FALSE(world.Step());  // at once, without another try
  }
  SECTION("another object has its name") {
    write.based_on = 0;
    world.Delete("a");
    world.Create("a");
    world.queue->Submit(write);
    CHECK(world.Step());
    CHECK(world.Answers() == Lines{"Dequeued: ABORTED"});
    CHECK(world.Phase("a").empty());
  }
  SECTION("nothing happened in between") {
    world.queue->Submit(write);
    CHECK(world.Step());
    CHECK(world.Answers() == Lines{"Dequeued: Dequeued"});
  }
}

TEST_CASE("what the server says of a write") {
  struct Case {
    std::string name;
    std::vector<Kind> patch_faults;
    std::vector<absl::Duration> waits;  // until each further step is due
    std::string answer, phase;
  };
  const auto c = GENERATE(values<Case>({
      {"refused connections are tried again with a growing backoff",
       {Kind::kRefused, Kind::kUnavailable, Kind::kRefused},
       {absl::Seconds(1), absl::Seconds(2), absl::Seconds(4)},
       "Dequeued: Dequeued",
       "Dequeued"},
      {"429 is tried again when the server asked for it",
       {Kind::kTooManyRequests},
       {absl::Seconds(30)},
       "Dequeued: Dequeued",
       "Dequeued"},
      {"a conflict is answered at once", {Kind::kConflict}, {}, "Dequeued: ABORTED", ""},
      {"an answer that was lost is read",
       {Kind::kAnswerLost},
       {absl::ZeroDuration()},
       "Dequeued: Dequeued",
       "Dequeued"},
      {"a request that was lost is read, and made again because nothing had happened",
       {Kind::kRequestLost},
       {absl::ZeroDuration(), absl::Seconds(2)},
       "Dequeued: Dequeued",
       "Dequeued"},
      {"a 500 leaves the outcome unknown: read, then made again",
       {Kind::kInternal},
       {absl::ZeroDuration(), absl::Seconds(2)},
       "Dequeued: Dequeued",
       "Dequeued"},
      {"a lost answer after a refusal is read",
       {Kind::kRefused, Kind::kAnswerLost},
       {absl::Seconds(1), absl::ZeroDuration()},
       "Dequeued: Dequeued",
       "Dequeued"},
  }));
  CAPTURE(c.name);
  World world;
  const Json unit = world.Create("a");
  world.Faults(Verb::kPatch, c.patch_faults);
  world.Submit(unit, "Dequeued");
  CHECK(world.Step());
  for (const absl::Duration wait : c.waits) {
    CHECK(world.Answers().empty());
    CHECK(world.queue->NextDue() - world.clock.TimeNow() == wait);
    if (wait > absl::ZeroDuration()) CHECK_FALSE(world.Step());
    world.clock.Advance(wait);
    CHECK(world.Step());
  }
  CHECK(world.Answers() == Lines{c.answer});
  CHECK(world.Phase("a") == c.phase);
  CHECK_FALSE(world.Step());
}

TEST_CASE("the read after an unknown outcome is tried until it is answered") {
  World world;
  const Json unit = world.Create("a");
  world.api.set_faults([&, reads = 0](const FakeCall& call) mutable {
    if (call.verb == Verb::kPatch) return FakeFault{Kind::kAnswerLost};
    if (call.verb == Verb::kGet && ++reads <= 3) return FakeFault{reads == 2 ? Kind::kRequestLost : Kind::kRefused};
    return FakeFault();
  });
  world.Submit(unit, "Dequeued");
  CHECK(world.Step());
  for (int i = 0; i < 3; ++i) {
    CHECK(world.Step());
    CHECK(world.Answers().empty());
    world.clock.Advance(absl::Seconds(8));
  }
  CHECK(world.Step());
  CHECK(world.Answers() == Lines{"Dequeued: Dequeued"});
  CHECK(world.api.Calls(Verb::kPatch) == 1);
  CHECK(world.queue->Now().reread == 1);
  CHECK(world.queue->Now().retried == 3);
}

TEST_CASE("a read that finds nothing, or another object of that name, is not found") {
  const bool again = GENERATE(false, true);
  World world;
  const Json unit = world.Create("a");
  world.Faults(Verb::kPatch, {Kind::kRequestLost});
  world.Submit(unit, "Dequeued");
  world.Step();
  world.Delete("a");
  if (again) world.Create("a");
  world.Step();
  CHECK(world.Answers() == Lines{"Dequeued: NOT_FOUND"});
}

TEST_CASE("a write to an object that is gone is not found") {
  World world;
  const Json unit = world.Create("a");
  world.Delete("a");
  world.Submit(unit, "Dequeued");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Dequeued: NOT_FOUND"});
  CHECK(world.queue->Now().failed == 1);
}

TEST_CASE("a write that lands late takes effect once") {
  World world;
  const Json unit = world.Create("a");
  world.Faults(Verb::kPatch, {Kind::kLate});
  world.Submit(unit, "Dequeued");
  world.Step();  // sent
  world.Step();  // read: nothing has happened yet
  CHECK(world.Answers().empty());
  SECTION("after it was made again") {
    world.clock.Advance(absl::Seconds(2));
    CHECK(world.Step());
    CHECK(world.Answers() == Lines{"Dequeued: Dequeued"});
    CHECK(world.api.LandLate() == 1);
  }
  SECTION("before it was made again: the conflict with itself is no conflict") {
    CHECK(world.api.LandLate() == 1);
    world.clock.Advance(absl::Seconds(2));
    world.StepAll();
    CHECK(world.Answers() == Lines{"Dequeued: Dequeued"});
    CHECK(world.queue->Now().conflicts == 0);
  }
  CHECK(VersionOf(world.Now("a")) == VersionOf(unit) + 1);
}

TEST_CASE("a foreign change after an unknown outcome is the answer, and the write is not made again") {
  World world;
  const Json unit = world.Create("a");
  world.Faults(Verb::kPatch, {Kind::kLate});
  world.Submit(unit, "Dequeued");
  world.Step();
  world.Touch("a");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Dequeued: "});
  world.api.LandLate();  // too late: the version it rests on has gone
  CHECK(world.Phase("a").empty());
}

TEST_CASE("own writes that rest on one version do not conflict with each other") {
  World world;
  const Json unit = world.Create("a");
  world.Submit(unit, "Reserved");
  world.Submit(unit, "Dequeued");
  world.Submit(unit, "Running");
  CHECK(world.Step());
  CHECK(world.Phase("a") == "Reserved");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Reserved: Reserved", "Dequeued: Dequeued", "Running: Running"});
  // Also when the next decision was made before the first answers were seen.
  world.Submit(unit, "Succeed");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Succeed: Succeed"});
  CHECK(world.queue->Now().conflicts == 0);
}

TEST_CASE("a foreign change between own writes is a conflict") {
  World world;
  const Json unit = world.Create("a");
  world.Submit(unit, "Reserved");
  world.Submit(unit, "Dequeued");
  world.Step();
  world.Touch("a");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Reserved: Reserved", "Dequeued: ABORTED"});
  world.Submit(world.Now("a"), "Dequeued");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Dequeued: Dequeued"});
}

TEST_CASE("a refused write leaves the chain of own writes as it was") {
  World world;
  const Json unit = world.Create("a");
  world.Submit(unit, "Reserved");
  Write broken = world.To(unit, "broken");
  broken.patch.patch = "no object";
  world.queue->Submit(broken);
  world.Submit(unit, "Dequeued");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Reserved: Reserved", "broken: INVALID_ARGUMENT", "Dequeued: Dequeued"});
}

TEST_CASE("own writes to an object of the same name do not chain across its uid") {
  World world;
  const Json unit = world.Create("a");
  world.Submit(unit, "Reserved");
  world.StepAll();
  world.Delete("a");
  world.Create("a");
  world.Submit(unit, "Dequeued");
  world.StepAll();
  CHECK(world.Answers() == Lines{"Reserved: Reserved", "Dequeued: ABORTED"});
}

TEST_CASE("while a write of an object waits for its backoff the next one of it waits too") {
  World world;
  const Json a = world.Create("a");
  const Json b = world.Create("b");
  world.Faults(Verb::kPatch, {Kind::kRefused});
  world.Submit(a, "1");
  world.Step();
  world.Submit(a, "2");
  world.Submit(b, "3");
  world.StepAll();
  CHECK(world.Answers() == Lines{"3: 3"});
  world.clock.Advance(absl::Seconds(1));
  world.StepAll();
  CHECK(world.Answers() == Lines{"1: 1", "2: 2"});
}

TEST_CASE("binding writes go before advisory ones") {
  World world;
  const Json a = world.Create("a"), b = world.Create("b");
  world.Advise(a, "advice");
  world.Submit(b, "binding");
  world.StepAll();
  CHECK(world.Answers() == Lines{"binding: binding", "advice: advice"});
}

TEST_CASE("the newest advisory write of an object wins") {
  World world;
  const Json a = world.Create("a");
  world.Advise(a, "1");
  world.Advise(a, "2");
  CHECK(world.queue->Now().advisory_waiting == 1);
  CHECK(world.queue->Now().replaced == 1);
  world.StepAll();
  CHECK(world.Answers() == Lines{"1: CANCELLED", "2: 2"});

  SECTION("over one in its backoff, whose wait it takes over") {
    world.Faults(Verb::kPatch, {Kind::kTooManyRequests});
    world.Advise(a, "3");
    world.Step();
    world.Advise(a, "4");
    world.StepAll();
    CHECK(world.Answers() == Lines{"3: CANCELLED"});
    world.clock.Advance(absl::Seconds(30));
    world.StepAll();
    CHECK(world.Answers() == Lines{"4: 4"});
  }
  SECTION("a later binding write replaces it, an earlier one does not") {
    world.Advise(a, "3");
    world.Submit(a, "4");
    world.Advise(a, "5");
    world.StepAll();
    CHECK(world.Answers() == Lines{"3: CANCELLED", "4: 4", "5: 5"});
  }
}

TEST_CASE("beyond the limit advisory writes of further objects are dropped, binding ones never") {
  World world({.advisory_limit = 1});
  const Json a = world.Create("a"), b = world.Create("b");
  world.Advise(a, "1");
  world.Advise(b, "2");
  world.Advise(a, "3");
  world.Submit(b, "4");
  CHECK(world.queue->Now().dropped == 1);
  world.StepAll();
  CHECK(world.Answers() == Lines{"2: CANCELLED", "1: CANCELLED", "4: 4", "3: 3"});
}

TEST_CASE("advisory writes keep to their rate, binding ones do not wait for it") {
  World world({.advisory_per_second = 2, .advisory_burst = 2});
  std::vector<Json> units;
  for (int i = 0; i < 4; ++i) units.push_back(world.Create(absl::StrCat("u", i)));
  for (const Json& unit : units) world.Advise(unit, KeyOf(unit).name);
  world.StepAll();
  CHECK(world.Answers() == Lines{"u0: u0", "u1: u1"});
  CHECK(world.queue->NextDue() - world.clock.TimeNow() > absl::Milliseconds(499));
  CHECK(world.queue->NextDue() - world.clock.TimeNow() < absl::Milliseconds(501));
  world.Submit(units[3], "binding");
  world.StepAll();
  CHECK(world.Answers() == Lines{"u3: CANCELLED", "binding: binding"});
  world.clock.SetTime(world.queue->NextDue());
  world.StepAll();
  CHECK(world.Answers() == Lines{"u2: u2"});
}

TEST_CASE("an advisory write whose answer was lost is read before anything newer is sent") {
  World world;
  const Json a = world.Create("a");
  world.Faults(Verb::kPatch, {Kind::kAnswerLost});
  world.Advise(a, "1");
  world.Step();
  world.Submit(world.Now("a"), "2");
  world.StepAll();
  CHECK(world.Answers() == Lines{"1: 1", "2: 2"});
}

TEST_CASE("a clock that is set back does not make a retry wait longer") {
  World world;
  const Json a = world.Create("a");
  world.Faults(Verb::kPatch, {Kind::kRefused});
  world.Submit(a, "1");
  world.Step();
  world.clock.Advance(-absl::Hours(1));
  CHECK(world.queue->NextDue() - world.clock.TimeNow() == absl::Seconds(1));
  world.clock.Advance(absl::Seconds(1));
  world.StepAll();
  CHECK(world.Answers() == Lines{"1: 1"});
}

TEST_CASE("Drain writes binding ones until its deadline, cancels the rest, drops advice, and answers each once") {
  World world;
  const Json a = world.Create("a"), b = world.Create("b"), c = world.Create("c");
  SECTION("with time left everything that can be written is") {
    world.Submit(a, "1");
    world.Submit(b, "2");
    world.Advise(c, "3");
    world.queue->Drain(world.clock.TimeNow() + absl::Seconds(1));
    CHECK(world.Answers() == Lines{"3: CANCELLED", "1: 1", "2: 2"});
    CHECK(world.queue->Now().dropped == 1);
  }
  SECTION("without time left all are cancelled") {
    world.Submit(a, "1");
    world.Submit(a, "2");
    world.queue->Drain(world.clock.TimeNow());
    CHECK(world.Answers() == Lines{"1: CANCELLED", "2: CANCELLED"});
    CHECK(world.Phase("a").empty());
  }
  SECTION("an outcome that is not known by then is said to be unknown") {
    world.Faults(Verb::kPatch, {Kind::kAnswerLost});
    world.Submit(a, "1");
    world.Step();
    world.queue->Drain(world.clock.TimeNow());
    CHECK(world.Answers() == Lines{"1: UNKNOWN"});
  }
  world.Submit(a, "later");
  CHECK(world.Answers() == Lines{"later: CANCELLED"});
  CHECK_FALSE(world.Step());
  CHECK(world.queue->Now().binding_waiting == 0);
}

TEST_CASE("a queue that goes away answers what still waits") {
  World world;
  world.Submit(world.Create("a"), "1");
  world.queue.reset();
  CHECK(world.Answers() == Lines{"1: CANCELLED"});
}

TEST_CASE("an answer may submit the next write") {
  World world;
  const Json a = world.Create("a");
  Write write = world.To(a, "1");
  write.done = [&](absl::StatusOr<Json> result) { world.Submit(*result, "2"); };
  world.queue->Submit(write);
  world.StepAll();
  CHECK(world.Answers() == Lines{"2: 2"});
}

// Passes calls on and notes whether two patches of one object were on their way at once.
class OverlapMeter : public KubeApi {
 public:
  explicit OverlapMeter(KubeApi* api) : api_(api) {}

  absl::StatusOr<ListPage> List(const ListRequest& request) override { return api_->List(request); }
  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override {
    return api_->Watch(request);
  }
  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override {
    return api_->Get(resource, key);
  }
  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override {
    return api_->Create(resource, ns, object);
  }
  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override {
    return api_->Update(resource, subresource, object);
  }
  absl::StatusOr<Json> Patch(const PatchRequest& request) override {
    Count(request.key, 1);
    absl::StatusOr<Json> result = api_->Patch(request);
    Count(request.key, -1);
    return result;
  }
  absl::Status Delete(const DeleteRequest& request) override { return api_->Delete(request); }

  int overlaps() {
    MutexLock lock(&mu_);
    return overlaps_;
  }

 private:
  void Count(const ObjectKey& key, int change) {
    MutexLock lock(&mu_);
    if ((on_their_way_[key] += change) > 1) ++overlaps_;
  }

  KubeApi* const api_;
  Mutex mu_;
  std::map<ObjectKey, int> on_their_way_;
  int overlaps_ = 0;
};

// Random, for any thread: every eighth call each is refused, and loses its answer or itself.
FakeFaults RandomFaults() {
  struct Dice {
    Mutex mu;
    std::mt19937 random{7};
  };
  return [dice = std::make_shared<Dice>()](const FakeCall&) {
    MutexLock lock(&dice->mu);
    switch (dice->random() % 8) {
      case 0:
        return FakeFault{Kind::kTooManyRequests, absl::ZeroDuration()};
      case 1:
        return FakeFault{Kind::kAnswerLost};
      case 2:
        return FakeFault{Kind::kRequestLost};
      default:
        return FakeFault();
    }
  };
}

TEST_CASE("under threads and faults every write is answered exactly once, one per object at a time") {
  constexpr int kObjects = 20, kWrites = 400, kSubmitters = 4, kWriters = 8;
  FakeKubeApi server{{.clock = &Clock::Real()}};
  server.AddResource(kUnits, {.kind = "Unit", .status_subresource = true});
  std::vector<Json> units;
  for (int i = 0; i < kObjects; ++i) units.push_back(server.Create(kUnits, "ns", Unit(absl::StrCat("u", i))).value());
  server.set_faults(RandomFaults());
  OverlapMeter api(&server);

  WriteQueueOptions options;
  options.backoff = {absl::Microseconds(10), absl::Microseconds(100), 0.2};
  options.advisory_per_second = 0;
  WriteQueue queue(options, &api, &Clock::Real());
  std::vector<std::thread> writers, submitters;
  for (int i = 0; i < kWriters; ++i) writers.emplace_back([&] { queue.Run(); });
  std::vector<std::atomic<int>> answered(kSubmitters * kWrites);
  for (int s = 0; s < kSubmitters; ++s) {
    submitters.emplace_back([&, s] {
      for (int i = 0; i < kWrites; ++i) {
        const Json& unit = units[(i * 7 + s) % kObjects];
        Write write;
        write.kind = i % 5 == 0 ? Write::Kind::kAdvisory : Write::Kind::kBinding;
        write.patch = {kUnits, KeyOf(unit), Subresource::kStatus, PatchType::kMerge, {{"status", {{"n", i}}}}};
        write.uid = UidOf(unit);
        write.based_on = VersionOf(unit);
        write.done = [&answered, n = s * kWrites + i](const absl::StatusOr<Json>&) { ++answered[n]; };
        queue.Submit(write);
      }
    });
  }
  for (std::thread& thread : submitters) thread.join();
  queue.Drain(Clock::Real().TimeNow() + absl::Minutes(2));
  for (std::thread& thread : writers) thread.join();

  const auto once = std::count_if(answered.begin(), answered.end(), [](const auto& times) { return times == 1; });
  CHECK(once == kSubmitters * kWrites);
  CHECK(api.overlaps() == 0);
  const WriteQueue::Totals totals = queue.Now();
  CHECK(totals.in_flight == 0);
  CHECK(totals.binding_waiting == 0);
  CHECK(totals.advisory_waiting == 0);
  CHECK(totals.made > 0);
  CHECK(totals.reread > 0);
}

}  // namespace
}  // namespace kq
