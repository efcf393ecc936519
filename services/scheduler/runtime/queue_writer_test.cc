#include "services/scheduler/runtime/queue_writer.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

struct World {
  World() { AddKinds(&api); }

  CreateQueue Create(const std::string& name) {
    CreateQueue create;
    create.queue = QueueValue(name, 0);
    create.queue.policy = "Block";
    create.queue.priority = 1000;
    create.queue.created_by_us = true;
    create.annotations = {{"koord-queue/max-depth", "5"}};
    create.parent_quota = "root";
    return create;
  }
  // The answers so far: "q OK", "q CANCELLED".
  std::vector<std::string> Answers() {
    std::vector<std::string> answers;
    for (const Event& event : mailbox.TakeAll(absl::ZeroDuration())) {
      const auto& answer = std::get<QueueWriteFinished>(event);
      answers.push_back(absl::StrCat(answer.queue, " ", absl::StatusCodeToString(answer.status.code())));
    }
    return answers;
  }
  Json Queue(const std::string& name) { return OnServer(api, Queues(), {"koord-queue", name}); }
  bool Step() { return writer.Step(absl::ZeroDuration()); }

  SimulatedClock clock{kStart};
  FakeKubeApi api{{&clock, {}, false}};
  EventMailbox mailbox{100};
  QueueWriter writer{&api, &mailbox, &clock};
};

using Answers = std::vector<std::string>;

TEST_CASE("a queue is created as decided, and answered") {
  World world;
  world.writer.Submit(world.Create("q"));
  CHECK(world.writer.Now().waiting == 1);
  CHECK(world.Step());
  CHECK_FALSE(world.Step());
  CHECK(world.Answers() == Answers{"q OK"});
  const Json queue = world.Queue("q");
  CHECK(StringAt(queue, {"spec", "queuePolicy"}) == "Block");
  CHECK(StringAt(queue, {"metadata", "annotations", "koord-queue/max-depth"}) == "5");
  CHECK(StringAt(queue, {"metadata", "labels", "create-by-koordqueue"}) == "true");
}

TEST_CASE("a queue that is there already is as wanted") {
  World world;
  REQUIRE(world.api.Create(Queues(), "koord-queue", QueueObject("q")).ok());
  world.writer.Submit(world.Create("q"));
  CHECK(world.Step());
  CHECK(world.Answers() == Answers{"q OK"});
  CHECK(StringAt(world.Queue("q"), {"spec", "queuePolicy"}) == "Priority");
}

TEST_CASE("a refusal is answered and not tried again here") {
  World world;
  world.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kUnavailable, absl::ZeroDuration()}; });
  world.writer.Submit(world.Create("q"));
  CHECK(world.Step());
  CHECK_FALSE(world.Step());
  CHECK(world.Answers() == Answers{"q UNAVAILABLE"});
  CHECK(world.writer.Now().failed == 1);
}

TEST_CASE("an update sets the policy and remembers the label, and nothing else") {
  World world;
  Json object = QueueObject("q");
  object.at("metadata").as_object()["annotations"] = JsonObject{{"mine", "kept"}};
  const absl::StatusOr<Json> made = world.api.Create(Queues(), "koord-queue", object);
  REQUIRE(made.ok());
  world.writer.Submit(UpdateQueue{{"koord-queue", "q"}, UidOf(*made), VersionOf(*made), "Block", "Block"});
  CHECK(world.Step());
  CHECK(world.Answers() == Answers{"q OK"});
  const Json queue = world.Queue("q");
  CHECK(StringAt(queue, {"spec", "queuePolicy"}) == "Block");
  CHECK(StringAt(queue, {"metadata", "annotations", "koord-queue/queue-policy"}) == "Block");
  CHECK(StringAt(queue, {"metadata", "annotations", "mine"}) == "kept");
  CHECK(Find(queue, {"spec", "priority"})->to_number<int64_t>() == 1000);
}

TEST_CASE("a hand edit since the decision wins over an update and a deletion") {
  World world;
  const absl::StatusOr<Json> made = world.api.Create(Queues(), "koord-queue", QueueObject("q"));
  REQUIRE(made.ok());
  REQUIRE(world.api
              .Patch({Queues(),
                      {"koord-queue", "q"},
                      Subresource::kNone,
                      PatchType::kMerge,
                      JsonObject{{"spec", JsonObject{{"priority", 7}}}}})
              .ok());
  world.writer.Submit(UpdateQueue{{"koord-queue", "q"}, UidOf(*made), VersionOf(*made), "Block", ""});
  world.writer.Submit(DeleteQueue{{"koord-queue", "q"}, UidOf(*made), VersionOf(*made)});
  CHECK(world.Step());
  CHECK(world.Step());
  CHECK(world.Answers() == Answers{"q ABORTED", "q ABORTED"});
  CHECK(StringAt(world.Queue("q"), {"spec", "queuePolicy"}) == "Priority");
}

TEST_CASE("a queue is deleted, and one that is gone is as wanted") {
  World world;
  const absl::StatusOr<Json> made = world.api.Create(Queues(), "koord-queue", QueueObject("q"));
  REQUIRE(made.ok());
  const DeleteQueue remove{{"koord-queue", "q"}, UidOf(*made), VersionOf(*made)};
  world.writer.Submit(remove);
  world.writer.Submit(remove);
  CHECK(world.Step());
  CHECK(world.Queue("q").is_null());
  CHECK(world.Step());
  CHECK(world.Answers() == Answers{"q OK", "q OK"});
}

TEST_CASE("after a drain everything is answered: made in time, or cancelled") {
  World world;
  world.writer.Submit(world.Create("in-time"));
  world.writer.Submit(world.Create("late"));
  world.writer.Drain(kStart + absl::Seconds(1));
  CHECK(world.Step());
  world.clock.Advance(absl::Seconds(1));
  world.writer.Submit(world.Create("after"));
  world.writer.Run();
  CHECK(world.Answers() == Answers{"in-time OK", "after CANCELLED", "late CANCELLED"});
  CHECK(world.Queue("late").is_null());
}

TEST_CASE("a thread writes what others submit") {
  World world;
  std::thread thread([&world] { world.writer.Run(); });
  for (int i = 0; i < 20; ++i) world.writer.Submit(world.Create(absl::StrCat("q", i)));
  world.writer.Drain(kStart + absl::Hours(1));
  thread.join();
  CHECK(world.api.Objects(Queues()).size() == 20);
}

}  // namespace
}  // namespace kq::scheduler
