#include "libs/kube/reflector.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq {
namespace {

using Kind = FakeFault::Kind;

const KubeResource kThings = {"example.io", "v1", "things"};

Json Thing(const std::string& name, int size = 1) {
  return {{"apiVersion", "example.io/v1"},
          {"kind", "Thing"},
          {"metadata", {{"name", name}, {"labels", {{"size", absl::StrCat(size)}}}}},
          {"spec", {{"size", size}}}};
}

// Writes down what it is told, as "+ a", "- a", "listed"; refuses when it is full.
class Sink : public ReflectorSink {
 public:
  bool Upserted(const Json& object) override {
    if (full) return false;
    lines.push_back("+ " + KeyOf(object).name);
    versions.push_back(VersionOf(object));
    return true;
  }
  bool Removed(const ObjectKey& key, absl::string_view uid, uint64_t version) override {
    if (full) return false;
    lines.push_back("- " + key.name);
    removed_uid = std::string(uid);
    removed_version = version;
    return true;
  }
  void Listed(uint64_t version) override {
    lines.push_back("listed");
    listed_version = version;
  }
  void Broken(const absl::Status& why) override { lines.push_back("broken: " + std::string(why.message())); }

  std::vector<std::string> Take() { return std::exchange(lines, {}); }

  bool full = false;
  std::vector<std::string> lines;
  std::vector<uint64_t> versions;
  std::string removed_uid;
  uint64_t removed_version = 0, listed_version = 0;
};

using Lines = std::vector<std::string>;

struct World {
  explicit World(int page_size = 500, std::string labels = "") {
    api.AddResource(kThings, {.kind = "Thing"});
    ReflectorOptions options;
    options.resource = kThings;
    options.ns = "ns";
    options.label_selector = std::move(labels);
    options.page_size = page_size;
    options.backoff = {absl::Seconds(1), absl::Seconds(8), 0};
    options.seed = 1;
    reflector = std::make_unique<Reflector>(options, &api, &clock, &sink);
  }

  Json Create(const std::string& name, int size = 1) { return api.Create(kThings, "ns", Thing(name, size)).value(); }
  void Resize(const std::string& name, int size) {
    const Json patch = {{"spec", {{"size", size}}}, {"metadata", {{"labels", {{"size", absl::StrCat(size)}}}}}};
    REQUIRE(api.Patch({kThings, {"ns", name}, Subresource::kNone, PatchType::kMerge, patch}).ok());
  }
  void Delete(const std::string& name) {
    DeleteRequest request;
    request.resource = kThings;
    request.key = {"ns", name};
    REQUIRE(api.Delete(request).ok());
  }

  absl::Duration Step() { return reflector->Step(absl::ZeroDuration()); }
  void Steps(int n) {
    for (int i = 0; i < n; ++i) Step();
  }
  // Lets the next `n` calls of the verb fail.
  void Fail(FakeCall::Verb verb, Kind kind, int n) {
    api.set_faults([this, verb, kind, left = n](const FakeCall& call) mutable {
      if (call.verb != verb || left == 0) return FakeFault();
      --left;
      return FakeFault{kind, absl::Seconds(5)};
    });
  }
  void FailNextWatchStep(FakeWatchFault fault) {
    api.set_watch_faults(
        [fault, left = 1](const KubeResource&) mutable { return left-- > 0 ? fault : FakeWatchFault::kNone; });
  }

  SimulatedClock clock;
  FakeKubeApi api{{.clock = &clock}};
  Sink sink;
  std::unique_ptr<Reflector> reflector;
};

TEST_CASE("a reflector lists, then watches from the list's version") {
  World world;
  world.Create("a");
  world.Create("b");
  CHECK_FALSE(world.reflector->Synced());
  CHECK_FALSE(world.reflector->Health().ok());

  CHECK(world.Step() == absl::ZeroDuration());
  CHECK(world.sink.Take() == Lines{"+ a", "+ b", "listed"});
  CHECK(world.sink.listed_version == world.api.Version());
  CHECK(world.reflector->Synced());
  CHECK(world.reflector->Health().ok());

  world.Create("c");
  world.Resize("a", 2);
  world.Delete("b");
  world.Steps(5);
  CHECK(world.sink.Take() == Lines{"+ c", "+ a", "- b"});
  CHECK(world.sink.removed_version == world.api.Version());
  CHECK(world.reflector->Totals().lists == 1);
  CHECK(world.reflector->Totals().watches == 1);
  CHECK(world.reflector->Totals().events == 3);
}

TEST_CASE("a list comes page by page, one page a step, and is synced after the last") {
  World world(2);
  for (const char* name : {"a", "b", "c", "d", "e"}) world.Create(name);
  world.Step();
  CHECK(world.sink.Take() == Lines{"+ a", "+ b"});
  world.Create("aa");  // after the list began: the watch brings it
  world.Step();
  CHECK_FALSE(world.reflector->Synced());
  CHECK(world.sink.Take() == Lines{"+ c", "+ d"});
  world.Step();
  CHECK(world.sink.Take() == Lines{"+ e", "listed"});
  world.Steps(2);
  CHECK(world.sink.Take() == Lines{"+ aa"});
}

TEST_CASE("a page that fails is asked for again after a growing backoff") {
  World world(2);
  for (const char* name : {"a", "b", "c"}) world.Create(name);
  world.Step();
  world.Fail(FakeCall::Verb::kList, Kind::kRefused, 3);
  CHECK(world.Step() == absl::Seconds(1));
  CHECK(world.Step() == absl::Seconds(2));
  CHECK(world.reflector->Health().message() == "list things.example.io: connect: connection refused");
  CHECK(world.Step() == absl::Seconds(4));
  CHECK(world.Step() == absl::ZeroDuration());
  CHECK(world.sink.Take() == Lines{"+ a", "+ b", "+ c", "listed"});
  CHECK(world.reflector->Health().ok());
}

TEST_CASE("Retry-After is obeyed when it is longer than the backoff") {
  World world;
  world.Fail(FakeCall::Verb::kList, Kind::kTooManyRequests, 1);
  CHECK(world.Step() == absl::Seconds(5));
}

TEST_CASE("a list whose next page is gone is begun again, and nothing is missed or removed wrongly") {
  World world(2);
  for (const char* name : {"a", "b", "c"}) world.Create(name);
  world.Step();
  world.Delete("a");
  world.api.Compact();
  world.Step();
  CHECK(world.sink.Take() == Lines{"+ a", "+ b"});
  world.Step();
  CHECK(world.sink.Take() == Lines{"+ b", "+ c", "- a", "listed"});
}

TEST_CASE("a missing resource is reported until it comes") {
  SimulatedClock clock;
  FakeKubeApi api{{.clock = &clock}};
  Sink sink;
  ReflectorOptions options;
  options.resource = kThings;
  Reflector reflector(options, &api, &clock, &sink);
  CHECK(reflector.Step(absl::ZeroDuration()) > absl::ZeroDuration());
  CHECK(reflector.Health().code() == absl::StatusCode::kNotFound);
  api.AddResource(kThings, {});
  reflector.Step(absl::ZeroDuration());
  CHECK(reflector.Synced());
}

TEST_CASE("a cut watch goes on from the last version") {
  World world;
  world.Step();
  world.Step();
  world.Create("a");
  world.Step();
  world.Create("b");
  world.api.CutWatches();
  CHECK(world.Step() == absl::ZeroDuration());  // it had worked: at once
  world.Create("c");
  world.Steps(3);
  CHECK(world.sink.Take() == Lines{"listed", "+ a", "+ b", "+ c"});
  CHECK(world.reflector->Totals().lists == 1);
  CHECK(world.reflector->Totals().watches == 2);
  CHECK(world.reflector->Totals().errors == 0);
}

TEST_CASE("a watch that ends at once again and again is opened ever more slowly") {
  World world;
  world.Step();
  world.api.set_watch_faults([](const KubeResource&) { return FakeWatchFault::kCut; });
  std::vector<absl::Duration> waits;
  for (int i = 0; i < 4; ++i) {
    world.Step();
    waits.push_back(world.Step());
  }
  CHECK(waits == std::vector<absl::Duration>{absl::Seconds(1), absl::Seconds(2), absl::Seconds(4), absl::Seconds(8)});
  CHECK(world.reflector->Health().message() == "watch things.example.io: the watch was cut");
  world.api.set_watch_faults(nullptr);
  world.Create("a");
  world.Steps(2);
  CHECK(world.reflector->Health().ok());
}

TEST_CASE("a quiet watch that the server ends after a while is opened again at once") {
  World world;
  world.Steps(3);
  world.clock.Advance(absl::Minutes(7));
  world.api.CutWatches();
  CHECK(world.Step() == absl::ZeroDuration());
  CHECK(world.reflector->Totals().errors == 0);
}

TEST_CASE("after 410 the list tells what was removed, with the list's version and the last uid") {
  World world;
  const Json a = world.Create("a");
  world.Create("b");
  world.Steps(2);
  world.Delete("a");
  world.Resize("b", 2);
  world.api.Compact();
  world.Steps(2);
  CHECK(world.sink.Take() == Lines{"+ a", "+ b", "listed", "+ b", "- a", "listed"});
  CHECK(world.sink.removed_uid == UidOf(a));
  CHECK(world.sink.removed_version == world.api.Version());
}

TEST_CASE("410 when a watch is opened leads to a list at once") {
  World world;
  world.Step();
  world.Create("a");
  world.api.Compact();
  CHECK(world.Step() == absl::ZeroDuration());
  world.Step();
  CHECK(world.sink.Take() == Lines{"listed", "+ a", "listed"});
}

TEST_CASE("410 after the API server was away leads to a list at once, whatever the backoff was") {
  World world;
  world.Step();
  world.Create("a");
  world.api.Compact();
  world.Fail(FakeCall::Verb::kWatch, Kind::kRefused, 3);
  for (const int seconds : {1, 2, 4}) CHECK(world.Step() == absl::Seconds(seconds));
  CHECK_FALSE(world.reflector->Health().ok());
  CHECK(world.Step() == absl::ZeroDuration());
  CHECK(world.Step() == absl::ZeroDuration());
  CHECK(world.reflector->Health().ok());
  CHECK(world.sink.Take() == Lines{"listed", "+ a", "listed"});
}

TEST_CASE("410 again and again, although it was listed, is met with ever slower lists") {
  World world;
  world.Step();
  world.Fail(FakeCall::Verb::kWatch, Kind::kGone, 4);
  CHECK(world.Step() == absl::ZeroDuration());
  for (const int seconds : {1, 2, 4}) {
    CHECK(world.Step() == absl::ZeroDuration());
    CHECK(world.Step() == absl::Seconds(seconds));
    CHECK_FALSE(world.reflector->Health().ok());
  }
  world.Steps(2);
  CHECK(world.reflector->Health().ok());
}

TEST_CASE("an object that was deleted and created again in between is told as removed, then as new") {
  World world;
  const Json before = world.Create("a");
  world.Steps(2);
  world.Delete("a");
  const Json after = world.Create("a");
  world.api.Compact();
  world.Steps(2);
  CHECK(world.sink.Take() == Lines{"+ a", "listed", "- a", "+ a", "listed"});
  CHECK(world.sink.removed_uid == UidOf(before));
  CHECK(world.sink.removed_version > VersionOf(before));
  CHECK(world.sink.removed_version < VersionOf(after));
}

TEST_CASE("a full sink is listed to again and misses nothing") {
  World world;
  world.Create("a");
  world.Create("b");
  world.Steps(2);
  world.sink.Take();

  world.sink.full = true;
  world.Create("c");
  world.Delete("a");
  CHECK(world.Step() == absl::Seconds(1));
  CHECK(world.Step() == absl::Seconds(2));  // still full
  world.sink.full = false;
  world.Step();
  CHECK(world.sink.Take() == Lines{"+ b", "+ c", "- a", "listed"});
}

TEST_CASE("a sink that is full when a removal is found hears of it after the next list") {
  World world;
  world.Create("a");
  world.Steps(2);
  world.Delete("a");
  world.sink.full = true;
  world.Step();
  world.Step();
  world.sink.full = false;
  world.sink.Take();
  world.Step();
  CHECK(world.sink.Take() == Lines{"- a", "listed"});
}

TEST_CASE("a bookmark moves the version on, so that a quiet watch survives compaction") {
  World world;
  const KubeResource other = {"", "v1", "others"};
  world.api.AddResource(other, {.kind = "Other"});
  world.Steps(2);
  const Json object = {{"apiVersion", "v1"}, {"kind", "Other"}, {"metadata", {{"name", "x"}}}};
  REQUIRE(world.api.Create(other, "ns", object).ok());
  world.api.SendBookmark(kThings);
  world.Step();
  world.api.CutWatches();
  world.api.Compact();
  world.Steps(3);
  world.Create("a");
  world.Step();
  CHECK(world.sink.Take() == Lines{"listed", "+ a"});
}

TEST_CASE("an event that cannot be decoded is told and the stream goes on") {
  World world;
  world.Steps(2);
  world.Create("a");
  world.Create("b");
  world.FailNextWatchStep(FakeWatchFault::kBroken);
  world.Steps(2);
  CHECK(world.sink.Take() == Lines{"listed", "broken: watch things.example.io: cannot decode ns/a", "+ b"});
  CHECK(world.reflector->Totals().errors == 1);
  CHECK(world.reflector->Totals().lists == 1);
}

TEST_CASE("duplicated and reordered events do not make the version go back") {
  World world;
  world.Steps(2);
  world.Create("a");
  world.Create("b");
  world.FailNextWatchStep(FakeWatchFault::kReorder);
  world.Steps(2);
  world.FailNextWatchStep(FakeWatchFault::kDuplicate);
  world.Step();
  CHECK(world.sink.Take() == Lines{"listed", "+ b", "+ a", "+ a"});
  world.api.CutWatches();
  world.Create("c");
  world.Steps(3);
  CHECK(world.sink.Take() == Lines{"+ c"});
  CHECK(world.reflector->Totals().lists == 1);
}

TEST_CASE("with a selector an object that stops matching is removed") {
  World world(500, "size=1");
  world.Create("a", 1);
  world.Create("b", 2);
  world.Steps(2);
  world.Resize("a", 2);
  world.Resize("b", 1);
  world.Steps(2);
  CHECK(world.sink.Take() == Lines{"+ a", "listed", "- a", "+ b"});
}

TEST_CASE("Stop ends Run, also while it waits for events or in a backoff") {
  const bool reachable = GENERATE(true, false);
  FakeKubeApi api{{.clock = &Clock::Real(), .streams_wait = true}};
  api.AddResource(kThings, {.kind = "Thing"});
  std::atomic<int> calls = 0;
  api.set_faults([&](const FakeCall&) {
    ++calls;
    return FakeFault{reachable ? Kind::kNone : Kind::kRefused};
  });
  Sink sink;
  ReflectorOptions options;
  options.resource = kThings;
  options.backoff = {absl::Hours(1), absl::Hours(1), 0};
  Reflector reflector(options, &api, &Clock::Real(), &sink);
  std::thread thread([&] { reflector.Run(); });
  while (calls < (reachable ? 2 : 1)) std::this_thread::yield();
  reflector.Stop();
  thread.join();
  CHECK(reflector.Synced() == reachable);
}

// Lists in which one object cannot be decoded.
class ApiWithBroken : public FakeKubeApi {
 public:
  using FakeKubeApi::FakeKubeApi;
  absl::StatusOr<ListPage> List(const ListRequest& request) override {
    absl::StatusOr<ListPage> page = FakeKubeApi::List(request);
    if (!page.ok()) return page;
    std::vector<Json> items = std::exchange(page->items, {});
    for (Json& item : items) {
      if (KeyOf(item) == broken) {
        page->broken.push_back({readable ? broken : ObjectKey(), absl::InvalidArgumentError("too deep")});
      } else {
        page->items.push_back(std::move(item));
      }
    }
    return page;
  }

  ObjectKey broken;
  bool readable = true;
};

TEST_CASE("an object that a list cannot decode is told, and not taken for removed") {
  SimulatedClock clock;
  ApiWithBroken api({.clock = &clock});
  api.AddResource(kThings, {.kind = "Thing"});
  for (const char* name : {"a", "b"}) REQUIRE(api.Create(kThings, "ns", Thing(name, 1)).ok());
  Sink sink;
  ReflectorOptions options;
  options.resource = kThings;
  Reflector reflector(options, &api, &clock, &sink);
  reflector.Step(absl::ZeroDuration());
  CHECK(sink.Take() == Lines{"+ a", "+ b", "listed"});

  const auto list_again = [&] {
    api.set_watch_faults(
        [left = 1](const KubeResource&) mutable { return left-- > 0 ? FakeWatchFault::kGone : FakeWatchFault::kNone; });
    for (int i = 0; i < 10 && reflector.Totals().lists < 2; ++i) reflector.Step(absl::ZeroDuration());
    return sink.Take();
  };
  api.broken = {"ns", "a"};
  SECTION("by its key") {
    CHECK(list_again() == Lines{"+ b", "broken: list things.example.io ns/a: too deep", "listed"});
  }
  SECTION("or, if that cannot be read either, all that is missing is kept") {
    api.readable = false;
    CHECK(list_again() == Lines{"+ b", "broken: list things.example.io : too deep", "listed"});
  }
}

}  // namespace
}  // namespace kq
