#include "services/scheduler/runtime/queue_items_writer.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const KubeResource kEvents{"", "v1", "events"};

// One Queue "q" on the server, and the pictures that a test shows of it.
struct World {
  explicit World(QueueItemsOptions options = {}) : writer(options, Parts()) {
    AddKinds(&api);
    api.AddResource(kEvents, {.kind = "Event"});
    Create();
  }

  QueueItemsParts Parts() {
    return {&api, &events, &clock, [this] { return leads ? picture : nullptr; }};
  }
  void Create() {
    const absl::StatusOr<Json> made = api.Create(Queues(), "koord-queue", QueueObject("q"));
    REQUIRE(made.ok());
    queue = QueueValue("q", VersionOf(*made));
    queue.uid = UidOf(*made);
  }
  // A new picture in which these units wait.
  void Show(const std::vector<std::string>& names) {
    auto shown = std::make_shared<QueueSnapshot>();
    shown->queue = queue;
    for (const std::string& name : names) {
      QueueUnit unit = UnitValue(name, 1, 1000);
      unit.priority = 7;
      UnitSnapshot waiting;
      waiting.unit = std::make_shared<const QueueUnit>(std::move(unit));
      waiting.position = static_cast<int64_t>(shown->waiting.size()) + 1;
      shown->waiting.push_back(std::move(waiting));
    }
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->queues = {std::move(shown)};
    picture = std::move(snapshot);
  }
  // Steps until so much time has passed.
  void Pass(absl::Duration time) {
    const absl::Time end = clock.TimeNow() + time;
    while (true) {
      const absl::Duration wait = writer.Step();
      if (clock.TimeNow() + wait > end) break;
      clock.Advance(wait);
    }
    clock.Advance(end - clock.TimeNow());
  }
  // "a:1 b:2 of 2", as it is on the server; "" if it was never written.
  std::string OnObject() {
    const Json object = OnServer(api, Queues(), {"koord-queue", "q"});
    const Json* items = Find(object, {"status", "queueItemDetails", "active"});
    if (items == nullptr) return "";
    std::string text;
    for (const Json& item : items->as_array()) {
      CHECK(StringAt(item, {"namespace"}) == UnitValue("", 1, 1).key.ns);
      CHECK(*Find(item, {"priority"}) == Json(7));
      absl::StrAppend(&text, StringAt(item, {"name"}), ":", item.at("position").as_int64(), " ");
    }
    return absl::StrCat(text, "of ", Find(object, {"status", "queueItemCount"})->as_int64());
  }
  int64_t Patches() { return api.Calls(FakeCall::Verb::kPatch); }

  SimulatedClock clock{absl::FromUnixSeconds(1700000000)};
  FakeKubeApi api{{&clock, {}, false}};
  EventRecorder events{{}, &api, &clock};
  std::shared_ptr<const Snapshot> picture;
  bool leads = true;
  Queue queue;
  QueueItemsWriter writer;
};

TEST_CASE("who waits is on the Queue after an interval, in order, and only if it changed") {
  World world;
  world.Show({"b", "a"});
  world.Pass(absl::Seconds(14));
  CHECK(world.OnObject() == "");
  world.Pass(absl::Seconds(2));
  CHECK(world.OnObject() == "b:1 a:2 of 2");

  world.Show({"b", "a"});
  world.Pass(absl::Minutes(10));
  CHECK(world.Patches() == 1);

  world.Show({});
  world.Pass(absl::Seconds(15));
  CHECK(world.OnObject() == "of 0");
  CHECK(world.writer.Now().written == 2);
}

TEST_CASE("a Queue in which nobody ever waited is not written") {
  World world;
  world.Show({});
  world.Pass(absl::Minutes(1));
  CHECK(world.Patches() == 0);
}

TEST_CASE("a list that is there already is not written again by the next leader") {
  World world;
  world.Show({"a"});
  world.Pass(absl::Seconds(20));
  REQUIRE(world.Patches() == 1);
  QueueItemsWriter next({}, world.Parts());
  (void)next.Step();
  world.clock.Advance(absl::Seconds(15));
  (void)next.Step();
  CHECK(world.Patches() == 1);
  CHECK(next.Now().written == 0);
}

TEST_CASE("nothing is written while another leads") {
  World world;
  world.leads = false;
  world.Show({"a"});
  world.Pass(absl::Minutes(1));
  CHECK(world.Patches() == 0);
}

TEST_CASE("the annotation sets the interval of its Queue") {
  World world;
  world.queue.items_refresh_interval = "1m";
  world.Show({"a"});
  world.Pass(absl::Seconds(59));
  CHECK(world.OnObject() == "");
  world.Pass(absl::Seconds(2));
  CHECK(world.OnObject() == "a:1 of 1");

  world.queue.items_refresh_interval = "2s";
  world.Show({"a", "b"});
  world.Pass(absl::Seconds(4));
  CHECK(world.OnObject() == "a:1 b:2 of 2");

  world.queue.items_refresh_interval = "1ms";  // no more often than once a second
  for (int i = 0; i < 100; ++i) {
    world.Show({std::string(1 + i % 2, 'x')});
    world.Pass(absl::Milliseconds(100));
  }
  CHECK(world.Patches() <= 2 + 11);
}

TEST_CASE("an interval that is none is told once, and the one before it stays") {
  const std::string text = GENERATE(as<std::string>(), "soon", "-3s", "0", "30");
  CAPTURE(text);
  World world;
  world.queue.items_refresh_interval = "2s";
  world.Show({});
  world.Pass(absl::Seconds(1));
  world.queue.items_refresh_interval = text;
  world.Show({"a"});
  world.Pass(absl::Seconds(4));
  CHECK(world.OnObject() == "a:1 of 1");
  while (world.events.Step(absl::ZeroDuration())) {
  }
  const std::vector<Json> events = world.api.Objects(kEvents);
  REQUIRE(events.size() == 1);
  CHECK(StringAt(events[0], {"reason"}) == "InvalidRefreshInterval");
  CHECK(StringAt(events[0], {"involvedObject", "kind"}) == "Queue");
  CHECK_THAT(StringAt(events[0], {"message"}),
             Catch::Contains("koord-queue/queue-items-refresh-interval") && Catch::Contains("2s stays in force"));
}

TEST_CASE("a Queue that is not to be shown keeps what was written last, until it is shown again") {
  World world;
  world.Show({"a"});
  world.Pass(absl::Seconds(20));
  world.queue.items_hidden = true;
  world.Show({"a", "b"});
  world.Pass(absl::Minutes(1));
  CHECK(world.OnObject() == "a:1 of 1");
  world.queue.items_hidden = false;
  world.Show({"a", "b"});
  world.Pass(absl::Seconds(15));
  CHECK(world.OnObject() == "a:1 b:2 of 2");
}

TEST_CASE("a long list is cut, and the count and a metric say so") {
  World world({.limit = 2});
  world.Show({"a", "b", "c"});
  world.Pass(absl::Seconds(15));
  CHECK(world.OnObject() == "a:1 b:2 of 3");
  CHECK(world.writer.Now().cut == 1);
  world.Show({"c"});
  world.Pass(absl::Seconds(15));
  CHECK(world.writer.Now().cut == 0);
}

TEST_CASE("a write that failed, or of which nobody knows, is made good an interval later") {
  const auto kind = GENERATE(FakeFault::Kind::kUnavailable, FakeFault::Kind::kConflict, FakeFault::Kind::kAnswerLost,
                             FakeFault::Kind::kRequestLost);
  World world;
  bool faulty = true;
  world.api.set_faults([&](const FakeCall& call) {
    const bool hit = faulty && call.verb == FakeCall::Verb::kPatch;
    return FakeFault{hit ? kind : FakeFault::Kind::kNone};
  });
  world.Show({"a"});
  world.Pass(absl::Seconds(15));
  CHECK(world.writer.Now().failed == 1);
  faulty = false;
  world.Pass(absl::Seconds(15));
  CHECK(world.OnObject() == "a:1 of 1");
}

TEST_CASE("a Queue that came again under its name is another one") {
  World world;
  world.Show({"a"});
  world.Pass(absl::Seconds(15));
  REQUIRE(world.api.Delete({Queues(), {"koord-queue", "q"}}).ok());
  world.Pass(absl::Seconds(15));  // the picture is behind: nothing is written, nothing breaks
  world.Create();
  world.Show({"a"});
  world.Pass(absl::Seconds(16));
  CHECK(world.OnObject() == "a:1 of 1");
}

}  // namespace
}  // namespace kq::scheduler
