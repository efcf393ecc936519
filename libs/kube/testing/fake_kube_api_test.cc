// What the fake has beyond the contract of every API server: faults, late
// writes, garbage collection, what a stream does when it is tormented.
#include "libs/kube/testing/fake_kube_api.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"

namespace kq {
namespace {

using Kind = FakeFault::Kind;
using Verb = FakeCall::Verb;
using Code = absl::StatusCode;

const KubeResource kThings = {"example.io", "v1", "things"};

Json Thing(const std::string& name, JsonArray owners = {}) {
  Json thing = {{"apiVersion", "example.io/v1"}, {"kind", "Thing"}, {"metadata", {{"name", name}}}};
  if (!owners.empty()) thing.as_object()["metadata"].as_object()["ownerReferences"] = std::move(owners);
  return thing;
}
Json OwnedBy(const Json& owner) { return {{"uid", UidOf(owner)}, {"name", KeyOf(owner).name}}; }

struct World {
  explicit World(FakeStoreLimits limits = {}) : api({.clock = &clock, .limits = limits}) {
    api.AddResource(kThings, {.kind = "Thing", .status_subresource = true});
    user = api.Connect();
  }
  Json Create(const std::string& name, JsonArray owners = {}) {
    return user->Create(kThings, "ns", Thing(name, std::move(owners))).value();
  }
  absl::StatusOr<Json> Resize(KubeApi* by, const std::string& name, int size) {
    return by->Patch({kThings, {"ns", name}, Subresource::kNone, PatchType::kMerge, {{"spec", {{"size", size}}}}});
  }
  void Delete(const std::string& name, Propagation propagation = Propagation::kBackground) {
    REQUIRE(user->Delete({kThings, {"ns", name}, "", 0, propagation}).ok());
  }
  std::unique_ptr<WatchStream> Watch(uint64_t from) {
    WatchRequest request;
    request.resource = kThings;
    request.from_version = from;
    return api.Watch(request).value();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Json& object : api.Objects(kThings)) names.push_back(KeyOf(object).name);
    return names;
  }

  SimulatedClock clock{absl::FromUnixSeconds(1700000000)};
  FakeKubeApi api;
  std::unique_ptr<KubeApi> user;
};

using Names = std::vector<std::string>;

TEST_CASE("every fault answers with its status and has its effect or none") {
  struct Case {
    Kind kind;
    Code code;
    bool at_once, late;
  };
  const auto c = GENERATE(values<Case>({
      {Kind::kNone, Code::kOk, true, true},
      {Kind::kConflict, Code::kAborted, false, false},
      {Kind::kGone, Code::kOutOfRange, false, false},
      {Kind::kTooManyRequests, Code::kUnavailable, false, false},
      {Kind::kUnavailable, Code::kUnavailable, false, false},
      {Kind::kRefused, Code::kUnavailable, false, false},
      {Kind::kInternal, Code::kUnknown, false, false},
      {Kind::kAnswerLost, Code::kDeadlineExceeded, true, true},
      {Kind::kRequestLost, Code::kDeadlineExceeded, false, false},
      {Kind::kLate, Code::kDeadlineExceeded, false, true},
  }));
  CAPTURE(static_cast<int>(c.kind));
  World world;
  const Json made = world.Create("a");
  world.api.set_faults([&](const FakeCall& call) {
    CHECK(call.verb == Verb::kPatch);
    CHECK(call.key == ObjectKey{"ns", "a"});
    return FakeFault{c.kind, absl::Seconds(7)};
  });
  const absl::Status status = world.Resize(&world.api, "a", 2).status();
  CHECK(status.code() == c.code);
  CHECK(RetryAfter(status).has_value() == (c.kind == Kind::kTooManyRequests));
  const auto changed = [&] { return VersionOf(world.api.Objects(kThings)[0]) != VersionOf(made); };
  CHECK(changed() == c.at_once);
  CHECK(world.api.LandLate() == (c.kind == Kind::kLate ? 1 : 0));
  CHECK(changed() == c.late);
}

TEST_CASE("a late write obeys its condition when it lands") {
  World world;
  const Json made = world.Create("a");
  world.api.set_faults([](const FakeCall&) { return FakeFault{Kind::kLate}; });
  const Json patch = {{"metadata", {{"resourceVersion", absl::StrCat(VersionOf(made))}}}, {"spec", {{"size", 2}}}};
  CHECK_FALSE(world.api.Patch({kThings, {"ns", "a"}, Subresource::kNone, PatchType::kMerge, patch}).ok());
  REQUIRE(world.Resize(world.user.get(), "a", 3).ok());
  CHECK(world.api.LandLate() == 1);
  CHECK(*Find(world.api.Objects(kThings)[0], {"spec", "size"}) == Json(3));
}

TEST_CASE("each client has faults of its own, and all are counted") {
  World world;
  world.Create("a");
  const auto other = world.api.Connect([](const FakeCall&) { return FakeFault{Kind::kRefused}; });
  CHECK(other->Get(kThings, {"ns", "a"}).status().code() == Code::kUnavailable);
  CHECK(world.api.Get(kThings, {"ns", "a"}).ok());
  CHECK(world.user->Get(kThings, {"ns", "a"}).ok());
  CHECK(world.api.Calls(Verb::kGet) == 3);
  CHECK(world.api.Calls(Verb::kCreate) == 1);
  CHECK(world.api.Calls(Verb::kDelete) == 0);
}

TEST_CASE("a stream can be cut, held, duplicated, broken and reordered, each event comes all the same") {
  World world;
  FakeWatchFault fault = FakeWatchFault::kNone;
  world.api.set_watch_faults([&](const KubeResource&) { return fault; });
  std::unique_ptr<WatchStream> stream = world.Watch(0);
  world.Create("a");
  REQUIRE(world.Resize(world.user.get(), "a", 2).ok());
  world.Create("b");
  const auto next = [&](FakeWatchFault now) -> std::string {
    fault = now;
    const absl::StatusOr<std::optional<WatchEvent>> event = stream->Next(absl::Seconds(1));
    if (!event.ok()) return absl::StatusCodeToString(event.status().code());
    return event->has_value() ? KeyOf((*event)->object).name + absl::StrCat(VersionOf((*event)->object)) : "nothing";
  };
  CHECK(next(FakeWatchFault::kHold) == "nothing");
  CHECK(next(FakeWatchFault::kReorder) == "b3");
  SECTION("overtaken events come in their order") {
    CHECK(next(FakeWatchFault::kNone) == "a1");
    CHECK(next(FakeWatchFault::kDuplicate) == "a1");
    CHECK(next(FakeWatchFault::kReorder) == "a2");  // never before an earlier one of its own
    CHECK(next(FakeWatchFault::kNone) == "nothing");
    CHECK(next(FakeWatchFault::kCut) == "UNAVAILABLE");
    CHECK(next(FakeWatchFault::kNone) == "UNAVAILABLE");
  }
  SECTION("a cut that would lose an overtaken event is 410") {
    CHECK(next(FakeWatchFault::kNone) == "a1");
    CHECK(next(FakeWatchFault::kCut) == "OUT_OF_RANGE");
  }
  SECTION("an event that cannot be decoded is skipped") {
    CHECK(next(FakeWatchFault::kBroken) == "INVALID_ARGUMENT");
    CHECK(next(FakeWatchFault::kNone) == "a2");
  }
  SECTION("410 in the stream ends it") {
    CHECK(next(FakeWatchFault::kGone) == "OUT_OF_RANGE");
    CHECK(next(FakeWatchFault::kNone) == "OUT_OF_RANGE");
  }
  SECTION("all streams can be cut from outside") {
    next(FakeWatchFault::kNone);
    next(FakeWatchFault::kNone);
    world.api.CutWatches();
    CHECK(next(FakeWatchFault::kNone) == "UNAVAILABLE");
  }
}

TEST_CASE("the history is bounded and a stream that is too slow is 410") {
  World world({.history = 3});
  const std::unique_ptr<WatchStream> slow = world.Watch(0);
  for (int i = 0; i < 5; ++i) world.Create(absl::StrCat("a", i));
  CHECK(slow->Next(absl::ZeroDuration()).status().code() == Code::kOutOfRange);
  WatchRequest request;
  request.resource = kThings;
  request.from_version = 1;
  CHECK(world.api.Watch(request).status().code() == Code::kOutOfRange);
  const std::unique_ptr<WatchStream> recent = world.Watch(2);
  CHECK(KeyOf((**recent->Next(absl::ZeroDuration())).object).name == "a2");
}

TEST_CASE("the lists that can be continued are bounded") {
  World world({.lists = 1});
  world.Create("a");
  world.Create("b");
  ListRequest request;
  request.resource = kThings;
  request.page_size = 1;
  const ListPage first = world.api.List(request).value();
  REQUIRE(world.api.List(request).ok());
  request.continue_token = first.continue_token;
  CHECK(world.api.List(request).status().code() == Code::kOutOfRange);
}

TEST_CASE("garbage collection deletes what has lost all its owners, and theirs in turn") {
  World world;
  const Json a = world.Create("a"), b = world.Create("b");
  const Json child = world.Create("child", {OwnedBy(a)});
  world.Create("grandchild", {OwnedBy(child)});
  world.Create("shared", {OwnedBy(a), OwnedBy(b)});
  CHECK(world.api.CollectGarbage() == 0);
  world.Delete("a");
  CHECK(world.api.CollectGarbage() == 2);
  CHECK(world.Names() == Names{"b", "shared"});
}

TEST_CASE("a deletion in the foreground waits for the dependents") {
  World world;
  const Json a = world.Create("a"), b = world.Create("b");
  world.Create("child", {OwnedBy(a)});
  world.Create("shared", {OwnedBy(a), OwnedBy(b)});
  world.Delete("a", Propagation::kForeground);
  CHECK(world.Names() == Names{"a", "b", "child", "shared"});
  CHECK_FALSE(StringAt(world.api.Objects(kThings)[0], {"metadata", "deletionTimestamp"}).empty());
  CHECK(world.api.CollectGarbage() == 2);
  CHECK(world.Names() == Names{"b", "shared"});
}

TEST_CASE("orphans survive their owner") {
  World world;
  const Json a = world.Create("a");
  world.Create("child", {OwnedBy(a)});
  world.Delete("a", Propagation::kOrphan);
  CHECK(world.api.CollectGarbage() == 0);
  CHECK(world.Names() == Names{"child"});
}

TEST_CASE("names are generated") {
  World world;
  Json object = Thing("");
  object.as_object()["metadata"] = {{"generateName", "job-"}};
  const Json a = world.api.Create(kThings, "ns", object).value(), b = world.api.Create(kThings, "ns", object).value();
  CHECK(KeyOf(a).name.rfind("job-", 0) == 0);
  CHECK(KeyOf(a).name != KeyOf(b).name);
}

TEST_CASE("with threads a stream waits for what comes, and no longer than it was asked to") {
  SimulatedClock clock;
  FakeKubeApi api{{.clock = &clock, .streams_wait = true}};
  api.AddResource(kThings, {.kind = "Thing"});
  WatchRequest request;
  request.resource = kThings;
  const std::unique_ptr<WatchStream> stream = api.Watch(request).value();
  CHECK_FALSE(stream->Next(absl::Milliseconds(1)).value().has_value());
  absl::Status created;  // read after the thread: Catch2 is not thread-safe
  std::thread user([&] { created = api.Create(kThings, "ns", Thing("a")).status(); });
  CHECK(stream->Next(absl::Minutes(1)).value().has_value());
  user.join();
  CHECK(created.ok());
  std::thread other([&] { stream->Cancel(); });
  CHECK(stream->Next(absl::Minutes(1)).status().code() == Code::kCancelled);
  other.join();
}

}  // namespace
}  // namespace kq
