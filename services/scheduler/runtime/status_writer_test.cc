#include "services/scheduler/runtime/status_writer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "libs/api/codec.h"
#include "libs/common/captured_stderr.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/testing/small_world.h"
#include "services/scheduler/runtime/write_fence.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

struct World {
  World() {
    AddKinds(&api);
    FakeResource event;
    event.kind = "Event";
    api.AddResource({"", "v1", "events"}, event);
    StatusWriterParts parts;
    parts.writes = &writes;
    parts.queues = &queues;
    parts.events = &events;
    parts.mailbox = &mailbox;
    parts.may_write = [this] { return may_write; };
    writer = std::make_unique<StatusWriter>(parts);
  }

  QueueUnit Create(const std::string& name) {
    const absl::StatusOr<Json> made = api.Create(QueueUnits(), "default", UnitObject(name, "team-a", 2));
    REQUIRE(made.ok());
    return *ParseQueueUnit(*made);
  }
  Dequeue Admit(const QueueUnit& unit) {
    Dequeue dequeue{unit.key, unit.uid, unit.version, FullAdmissions(unit), {}, 3, kStart};
    dequeue.conditions = ConditionsFor(Phase::kDequeued, {}, "", kStart);
    return dequeue;
  }
  Requeue Refuse(const QueueUnit& unit) {
    Requeue requeue{unit.key, unit.uid, unit.version, {}, {}, 2, kStart, true};
    requeue.why.refusal = Refusal::kOverMax;
    requeue.why.quota = "team-a";
    requeue.why.resource = "cpu";
    return requeue;
  }
  void Settle() {
    for (int i = 0; i < 20; ++i) {
      writes.Step(absl::ZeroDuration());
      queues.Step(absl::ZeroDuration());
      events.Step(absl::ZeroDuration());
    }
  }
  QueueUnit Unit(const std::string& name) { return *ParseQueueUnit(OnServer(api, QueueUnits(), {"default", name})); }
  // "Scheduled Normal dequeue success"
  std::vector<std::string> Events() {
    std::vector<std::string> texts;
    for (const Json& event : api.Objects({"", "v1", "events"})) {
      texts.push_back(
          absl::StrCat(StringAt(event, {"reason"}), " ", StringAt(event, {"type"}), " ", StringAt(event, {"message"})));
    }
    return texts;
  }
  std::vector<WriteFinished> Answers() {
    std::vector<WriteFinished> answers;
    for (const Event& event : mailbox.TakeAll(absl::ZeroDuration())) {
      if (const auto* answer = std::get_if<WriteFinished>(&event)) answers.push_back(*answer);
      if (const auto* tell = std::get_if<TellFinished>(&event)) told.push_back(*tell);
    }
    return answers;
  }

  SimulatedClock clock{kStart};
  FakeKubeApi api{{&clock, {}, false}};
  bool may_write = true;
  WriteFence fence{&api, [this] { return may_write ? absl::OkStatus() : absl::CancelledError("does not lead"); }};
  EventMailbox mailbox{100};
  WriteQueue writes{{}, &fence, &clock};
  QueueWriter queues{&fence, &mailbox, &clock};
  EventRecorder events{{}, &fence, &clock};
  std::vector<TellFinished> told;  // filled by Answers
  std::unique_ptr<StatusWriter> writer;
};

TEST_CASE("an admission is written, answered once and told when it is confirmed") {
  World world;
  const QueueUnit unit = world.Create("a");
  world.writer->Submit(world.Admit(unit));
  CHECK(world.Events().empty());
  world.Settle();

  const QueueUnit now = world.Unit("a");
  CHECK(now.phase == Phase::kDequeued);
  CHECK(now.message == "Dequeued because schedule successfully");
  CHECK(now.attempts == 3);
  CHECK(now.last_allocate == kStart);
  CHECK(now.last_update == kStart);
  CHECK(now.admissions == FullAdmissions(unit));
  CHECK_FALSE(now.conditions.empty());

  const std::vector<WriteFinished> answers = world.Answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].based_on == unit.version);
  CHECK(answers[0].uid == unit.uid);
  REQUIRE(answers[0].result.ok());
  CHECK(answers[0].result->version == now.version);
  CHECK(world.Events() == std::vector<std::string>{"Scheduled Normal dequeue success"});
}

TEST_CASE("an admission that rests on an old version is not written and not told") {
  World world;
  const QueueUnit unit = world.Create("a");
  REQUIRE(world.api
              .Patch({QueueUnits(), unit.key, Subresource::kNone, PatchType::kMerge,
                      JsonObject{{"spec", JsonObject{{"priority", 7}}}}})
              .ok());
  const std::string logged = CapturedStderr([&] {
    world.writer->Submit(world.Admit(unit));
    world.Settle();
  });
  CHECK_THAT(logged, Catch::StartsWith("W") && Catch::Contains("\"Admission not written\""));
  const std::vector<WriteFinished> answers = world.Answers();
  REQUIRE(answers.size() == 1);
  CHECK(absl::IsAborted(answers[0].result.status()));
  CHECK(world.Unit("a").phase != Phase::kDequeued);
  CHECK(world.Events().empty());
}

TEST_CASE("an admission of a unit that was deleted meanwhile is no warning") {
  World world;
  const QueueUnit unit = world.Create("a");
  REQUIRE(world.api.Delete({QueueUnits(), unit.key}).ok());
  const std::string logged = CapturedStderr([&] {
    world.writer->Submit(world.Admit(unit));
    world.Settle();
  });
  CHECK_THAT(logged, Catch::StartsWith("I") && Catch::Contains("\"Admission not written\""));
  const std::vector<WriteFinished> answers = world.Answers();
  REQUIRE(answers.size() == 1);
  CHECK(absl::IsNotFound(answers[0].result.status()));
}

TEST_CASE("an admission whose answer was lost is found on the server and told") {
  World world;
  const QueueUnit unit = world.Create("a");
  int calls = 0;
  world.api.set_faults([&calls](const FakeCall& call) {
    const bool first = call.verb == FakeCall::Verb::kPatch && calls++ == 0;
    return FakeFault{first ? FakeFault::Kind::kAnswerLost : FakeFault::Kind::kNone, absl::ZeroDuration()};
  });
  world.writer->Submit(world.Admit(unit));
  for (int i = 0; i < 5; ++i) {
    world.Settle();
    world.clock.Advance(absl::Seconds(11));
  }
  const std::vector<WriteFinished> answers = world.Answers();
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].result.ok());
  CHECK(answers[0].result->phase == Phase::kDequeued);
  CHECK(world.Events().size() == 1);
}

TEST_CASE("growth whose write was lost is not told as an admission on account of what the unit holds already") {
  World world;
  const Json one_pod = JsonObject{{"containers", JsonArray{JsonObject{
                                                     {"name", "c"},
                                                     {"resources", JsonObject{{"requests", JsonObject{{"cpu", "1"}}}}},
                                                 }}}};
  const JsonArray sets{JsonObject{{"name", "worker"}, {"count", 2}, {"template", JsonObject{{"spec", one_pod}}}}};
  const auto patch = [&world](const ObjectKey& key, Subresource part, Json change) {
    const PatchRequest request{QueueUnits(), key, part, PatchType::kMerge, std::move(change)};
    REQUIRE(world.api.Patch(request).ok());
  };
  const ObjectKey key = world.Create("a").key;
  patch(key, Subresource::kNone, JsonObject{{"spec", JsonObject{{"podSet", sets}}}});
  const JsonArray held{JsonObject{{"name", "worker"}, {"replicas", 1}}};
  patch(key, Subresource::kStatus, JsonObject{{"status", JsonObject{{"phase", "Running"}, {"admissions", held}}}});
  const QueueUnit unit = world.Unit("a");
  REQUIRE(Need(unit) == Resources{{"cpu", 1000}});

  int writes = 0;
  world.api.set_faults([&](const FakeCall& call) {
    const bool first = call.verb == FakeCall::Verb::kPatch && writes++ == 0;
    return FakeFault{first ? FakeFault::Kind::kRequestLost : FakeFault::Kind::kNone, absl::ZeroDuration()};
  });
  world.writer->Submit(world.Admit(unit));
  world.writes.Step(absl::ZeroDuration());
  patch(key, Subresource::kStatus, JsonObject{{"status", JsonObject{{"podState", JsonObject{{"running", 1}}}}}});
  for (int i = 0; i < 5; ++i) {
    world.Settle();
    world.clock.Advance(absl::Seconds(11));
  }
  REQUIRE(world.Answers().size() == 1);
  CHECK(world.Unit("a").admissions == unit.admissions);
  CHECK(world.Events().empty());
}

TEST_CASE("who may no longer write answers with an error and says nothing") {
  World world;
  const QueueUnit a = world.Create("a");
  const QueueUnit b = world.Create("b");
  world.writer->Submit(world.Admit(a));
  world.may_write = false;
  world.writer->Submit(world.Refuse(b));
  world.writer->Submit(Notify{Notify::Kind::kUnit, b.key, b.uid, true, "QueueNotFound", "no queue"});
  world.Settle();
  const std::vector<WriteFinished> answers = world.Answers();
  REQUIRE(answers.size() == 1);
  CHECK(absl::IsCancelled(answers[0].result.status()));
  CHECK(world.Unit("a").phase != Phase::kDequeued);
  CHECK(world.Unit("b").message.empty());
  CHECK(world.Events().empty());
}

TEST_CASE("a refusal is told on the object and by an event") {
  World world;
  const QueueUnit unit = world.Create("a");
  const Requeue requeue = world.Refuse(unit);
  world.writer->Submit(requeue);
  world.Settle();
  const QueueUnit now = world.Unit("a");
  CHECK(now.message == RefusalSentence(requeue.why));
  CHECK_THAT(now.message, Catch::StartsWith("limited quotaName:team-a, limited resKey:cpu,"));
  CHECK(now.attempts == 2);
  CHECK(now.phase == unit.phase);
  CHECK(world.Events() == std::vector<std::string>{"FailedScheduling Warning " + RefusalSentence(requeue.why)});
  CHECK(world.Answers().empty());
  REQUIRE(world.told.size() == 1);
  CHECK(world.told[0].based_on == unit.version);
  CHECK(world.told[0].written);
}

TEST_CASE("a refusal that could not be told is answered too, and only the newest one is written") {
  World world;
  const QueueUnit unit = world.Create("a");
  world.writer->Submit(world.Refuse(unit));
  Requeue newer = world.Refuse(unit);
  newer.why.resource = "memory";
  world.writer->Submit(newer);
  Requeue stale = world.Refuse(world.Create("b"));
  stale.version = 1;
  world.writer->Submit(stale);
  world.Settle();
  world.Answers();
  REQUIRE(world.told.size() == 3);
  CHECK(std::count_if(world.told.begin(), world.told.end(), [](const TellFinished& t) { return t.written; }) == 1);
  CHECK_THAT(world.Unit("a").message, Catch::Contains("resKey:memory"));
  CHECK(world.Unit("b").message.empty());
}

TEST_CASE("a refusal that the object shows already gets no event") {
  World world;
  Requeue requeue = world.Refuse(world.Create("a"));
  requeue.with_event = false;
  world.writer->Submit(requeue);
  world.Settle();
  CHECK(world.Events().empty());
  CHECK(world.Unit("a").attempts == 2);
}

TEST_CASE("a patch holds what the decision says and nothing else") {
  Requeue requeue;
  requeue.why.refusal = Refusal::kOverMax;
  requeue.now = kStart;
  const Json patch = PatchFor(requeue, WithConditions::kYes);
  const Json* status = Find(patch, {"status"});
  REQUIRE(status != nullptr);
  CHECK_FALSE(status->as_object().contains("phase"));
  CHECK_FALSE(status->as_object().contains("conditions"));
  CHECK_FALSE(status->as_object().contains("admissions"));
  CHECK_FALSE(status->as_object().contains("lastAllocateTime"));
  CHECK_FALSE(patch.as_object().contains("metadata"));
}

TEST_CASE("without the feature no conditions are written") {
  Dequeue dequeue;
  dequeue.now = kStart;
  dequeue.conditions = ConditionsFor(Phase::kDequeued, {}, "", kStart);
  CHECK(Find(PatchFor(dequeue, WithConditions::kYes), {"status", "conditions"}) != nullptr);
  CHECK(Find(PatchFor(dequeue, WithConditions::kNo), {"status", "conditions"}) == nullptr);
}

TEST_CASE("a notice becomes an event on the right object") {
  World world;
  world.writer->Submit(
      Notify{Notify::Kind::kQueue, {"koord-queue", "q"}, "uid-q", true, "AddQueueFail", "no such policy"});
  world.writer->Submit(
      Notify{Notify::Kind::kQuota, {"kube-system", "t"}, "uid-t", true, "QuotaNameConflict", "two of them"});
  world.Settle();
  const std::vector<Json> events = world.api.Objects({"", "v1", "events"});
  REQUIRE(events.size() == 2);
  std::vector<std::string> about;
  for (const Json& event : events) {
    about.push_back(absl::StrCat(StringAt(event, {"involvedObject", "kind"}), " ",
                                 StringAt(event, {"involvedObject", "name"}), " ",
                                 StringAt(event, {"involvedObject", "apiVersion"}), " ", StringAt(event, {"reason"})));
  }
  std::sort(about.begin(), about.end());
  CHECK(about == std::vector<std::string>{"ElasticQuota t scheduling.sigs.k8s.io/v1alpha1 QuotaNameConflict",
                                          "Queue q scheduling.x-k8s.io/v1alpha1 AddQueueFail"});
}

TEST_CASE("queue decisions go to the queue writer") {
  World world;
  CreateQueue create;
  create.queue = QueueValue("q", 0);
  world.writer->Submit(create);
  CHECK(world.queues.Now().waiting == 1);
  world.Settle();
  CHECK(world.api.Objects(Queues()).size() == 1);
}

}  // namespace
}  // namespace kq::scheduler
