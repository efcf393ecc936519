#include "libs/kube/testing/kube_api_contract.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/kube/events.h"
#include "libs/kube/lease.h"

namespace kq {
namespace {

using Code = absl::StatusCode;
using Type = WatchEvent::Type;

const KubeResource kMissing = {"example.com", "v1", "unheardofs"};
const KubeResource kConfigMaps = {"", "v1", "configmaps"};
// How long a real server may take to send what has happened.
constexpr absl::Duration kPatience = absl::Seconds(10);

Json Widget(const std::string& name, const std::string& of_case = "", int size = 1) {
  Json widget = {{"apiVersion", "example.com/v1"},
                 {"kind", "Widget"},
                 {"metadata", {{"name", name}}},
                 {"spec", {{"size", size}, {"node", "n1"}}}};
  if (!of_case.empty()) widget.as_object()["metadata"].as_object()["labels"] = {{"case", of_case}};
  return widget;
}

JsonObject& Part(Json* object, const char* name) {
  Json& part = object->as_object()[name];
  if (!part.is_object()) part = JsonObject();
  return part.as_object();
}

// The world with the few calls that all cases make.
struct Server {
  explicit Server(const ContractWorld& w) : world(w), api(*w.api) {}

  ObjectKey Key(const std::string& name) const { return {world.ns, name}; }
  absl::StatusOr<Json> TryCreate(const Json& object) const { return api.Create(ContractResource(), world.ns, object); }
  Json Create(const Json& object) const {
    const absl::StatusOr<Json> created = TryCreate(object);
    INFO("create: " << created.status().ToString());
    REQUIRE(created.ok());
    return *created;
  }
  absl::StatusOr<Json> Lookup(const std::string& name) const { return api.Get(ContractResource(), Key(name)); }
  absl::StatusOr<Json> Patch(const std::string& name, PatchType type, Json patch,
                             Subresource subresource = Subresource::kNone) const {
    return api.Patch({ContractResource(), Key(name), subresource, type, std::move(patch)});
  }
  absl::StatusOr<Json> Merge(const std::string& name, Json patch) const {
    return Patch(name, PatchType::kMerge, std::move(patch));
  }
  absl::StatusOr<Json> MergeStatus(const std::string& name, Json patch) const {
    return Patch(name, PatchType::kMerge, std::move(patch), Subresource::kStatus);
  }
  absl::Status Delete(const std::string& name, const std::string& uid = "", uint64_t version = 0) const {
    return api.Delete({ContractResource(), Key(name), uid, version, Propagation::kBackground});
  }
  ListRequest Listing(const std::string& of_case, int page_size = 500) const {
    ListRequest request;
    request.resource = ContractResource();
    request.ns = world.ns;
    request.label_selector = absl::StrCat("case=", of_case);
    request.page_size = page_size;
    return request;
  }
  // The names of all objects of the list, in order.
  std::vector<std::string> Names(const ListRequest& request) const {
    const absl::StatusOr<ListPage> page = api.List(request);
    INFO("list: " << page.status().ToString());
    REQUIRE(page.ok());
    std::vector<std::string> names;
    for (const Json& item : page->items) names.push_back(KeyOf(item).name);
    return names;
  }
  std::unique_ptr<WatchStream> Watch(const std::string& of_case, uint64_t from_version) const {
    WatchRequest request;
    request.resource = ContractResource();
    request.ns = world.ns;
    request.label_selector = absl::StrCat("case=", of_case);
    request.from_version = from_version;
    absl::StatusOr<std::unique_ptr<WatchStream>> stream = api.Watch(request);
    INFO("watch: " << stream.status().ToString());
    REQUIRE(stream.ok());
    return *std::move(stream);
  }

  const ContractWorld& world;
  KubeApi& api;
};

// The next `count` events, without bookmarks.
std::vector<WatchEvent> Events(WatchStream* stream, size_t count) {
  std::vector<WatchEvent> events;
  while (events.size() < count) {
    absl::StatusOr<std::optional<WatchEvent>> event = stream->Next(kPatience);
    INFO("next: " << event.status().ToString());
    REQUIRE(event.ok());
    if (!event->has_value()) break;
    if ((*event)->type != Type::kBookmark) events.push_back(**std::move(event));
  }
  CHECK(events.size() == count);
  return events;
}

int64_t Generation(const Json& object) {
  const Json* generation = Find(object, {"metadata", "generation"});
  return generation == nullptr ? 0 : generation->to_number<int64_t>();
}
std::string Phase(const Json& object) { return StringAt(object, {"status", "phase"}); }
int64_t Size(const Json& object) {
  const Json* size = Find(object, {"spec", "size"});
  return size == nullptr ? -1 : size->to_number<int64_t>();
}

void CreateFillsMetadata(const ContractWorld& world) {
  const Server server(world);
  Json widget = Widget("create-fills");
  Part(&widget, "status")["phase"] = "Dequeued";
  const Json made = server.Create(widget);
  CHECK(KeyOf(made) == server.Key("create-fills"));
  CHECK_FALSE(UidOf(made).empty());
  CHECK(VersionOf(made) > 0);
  CHECK(Generation(made) == 1);
  absl::Time created;
  CHECK(absl::ParseTime(absl::RFC3339_full, StringAt(made, {"metadata", "creationTimestamp"}), &created, nullptr));
  CHECK(Phase(made) == "Enqueued");  // what the client says of the status does not count

  const absl::StatusOr<Json> found = server.Lookup("create-fills");
  REQUIRE(found.ok());
  CHECK(UidOf(*found) == UidOf(made));
  CHECK(VersionOf(*found) == VersionOf(made));
  CHECK(Size(*found) == 1);
}

void CreateRefuses(const ContractWorld& world) {
  const Server server(world);
  server.Create(Widget("create-twice"));
  CHECK(server.TryCreate(Widget("create-twice")).status().code() == Code::kAlreadyExists);
  CHECK(server.TryCreate(Widget("Not_A_Name")).status().code() == Code::kInvalidArgument);
  CHECK(server.TryCreate(Widget("negative", "", -1)).status().code() == Code::kInvalidArgument);
  Json wrong_kind = Widget("wrong-kind");
  wrong_kind.as_object()["kind"] = "Gadget";
  CHECK(server.TryCreate(wrong_kind).status().code() == Code::kInvalidArgument);
  Json with_version = Widget("with-version");
  Part(&with_version, "metadata")["resourceVersion"] = "1";
  CHECK(server.TryCreate(with_version).status().code() == Code::kInvalidArgument);
  Json elsewhere = Widget("elsewhere");
  Part(&elsewhere, "metadata")["namespace"] = "another";
  CHECK(server.TryCreate(elsewhere).status().code() == Code::kInvalidArgument);
}

void MissingThings(const ContractWorld& world) {
  const Server server(world);
  CHECK(server.Lookup("nobody").status().code() == Code::kNotFound);
  CHECK(server.Merge("nobody", {{"spec", {{"size", 2}}}}).status().code() == Code::kNotFound);
  CHECK(server.MergeStatus("nobody", {{"status", {{"phase", "x"}}}}).status().code() == Code::kNotFound);
  CHECK(server.Delete("nobody").code() == Code::kNotFound);
  Json object = Widget("nobody");
  Part(&object, "metadata")["namespace"] = world.ns;
  Part(&object, "metadata")["resourceVersion"] = "1";
  CHECK(server.api.Update(ContractResource(), Subresource::kNone, object).status().code() == Code::kNotFound);
  CHECK(server.api.Create(ContractResource(), "no-such-namespace", Widget("a")).status().code() == Code::kNotFound);
}

void MissingResource(const ContractWorld& world) {
  const Server server(world);
  ListRequest list;
  list.resource = kMissing;
  list.ns = world.ns;
  CHECK(server.api.List(list).status().code() == Code::kNotFound);
  WatchRequest watch;
  watch.resource = kMissing;
  watch.ns = world.ns;
  watch.from_version = 1;
  CHECK(server.api.Watch(watch).status().code() == Code::kNotFound);
  CHECK(server.api.Get(kMissing, server.Key("a")).status().code() == Code::kNotFound);
  CHECK(server.api.Create(kMissing, world.ns, Widget("a")).status().code() == Code::kNotFound);
}

void ListsInPages(const ContractWorld& world) {
  const Server server(world);
  for (const char* name : {"pages-a", "pages-b", "pages-c", "pages-d", "pages-e"}) {
    server.Create(Widget(name, "pages"));
  }
  ListRequest request = server.Listing("pages", 2);
  std::vector<std::string> names;
  uint64_t version = 0;
  int pages = 0;
  do {
    const absl::StatusOr<ListPage> page = server.api.List(request);
    REQUIRE(page.ok());
    for (const Json& item : page->items) {
      names.push_back(KeyOf(item).name);
      CHECK(KeyOf(item).ns == world.ns);
      CHECK_FALSE(UidOf(item).empty());
      CHECK(VersionOf(item) <= page->version);
    }
    if (pages == 0) {
      version = page->version;
      server.Create(Widget("pages-aa", "pages"));  // too late for this list
    }
    CHECK(page->version == version);
    request.continue_token = page->continue_token;
    ++pages;
  } while (!request.continue_token.empty() && pages < 10);
  CHECK(pages == 3);
  CHECK(names == std::vector<std::string>{"pages-a", "pages-b", "pages-c", "pages-d", "pages-e"});
  CHECK(server.Names(server.Listing("pages")).size() == 6);

  ListRequest everywhere = server.Listing("pages");
  everywhere.ns = "";
  CHECK(server.Names(everywhere).size() == 6);
  request.continue_token = "no such token";
  CHECK(server.api.List(request).status().code() == Code::kInvalidArgument);
}

void ListsBySelectors(const ContractWorld& world) {
  const Server server(world);
  Json red = Widget("selectors-red", "selectors");
  Part(&red, "metadata")["labels"] = {{"case", "selectors"}, {"colour", "red"}};
  Json blue = Widget("selectors-blue", "selectors");
  Part(&blue, "metadata")["labels"] = {{"case", "selectors"}, {"colour", "blue"}};
  Part(&blue, "spec")["node"] = "n2";
  server.Create(red);
  server.Create(blue);
  const auto names = [&](const std::string& labels, const std::string& fields) {
    ListRequest request = server.Listing("selectors");
    if (!labels.empty()) absl::StrAppend(&request.label_selector, ",", labels);
    request.field_selector = fields;
    return server.Names(request);
  };
  using Names = std::vector<std::string>;
  CHECK(names("", "") == Names{"selectors-blue", "selectors-red"});
  CHECK(names("colour=red", "") == Names{"selectors-red"});
  CHECK(names("colour!=red", "") == Names{"selectors-blue"});
  CHECK(names("colour in (red,green)", "") == Names{"selectors-red"});
  CHECK(names("!colour", "").empty());
  CHECK(names("", "metadata.name=selectors-blue") == Names{"selectors-blue"});
  CHECK(names("", absl::StrCat("metadata.namespace!=", world.ns)).empty());
  CHECK(names("", "spec.node=n2") == Names{"selectors-blue"});
  ListRequest broken = server.Listing("selectors");
  broken.label_selector = "colour in red)";
  CHECK(server.api.List(broken).status().code() == Code::kInvalidArgument);
}

void MergePatches(const ContractWorld& world) {
  const Server server(world);
  Json widget = Widget("merge", "merge");
  Part(&widget, "spec")["list"] = JsonArray{1, 2, 3};
  Part(&widget, "spec")["map"] = {{"a", "1"}, {"b", "2"}};
  const Json before = server.Create(widget);
  const absl::StatusOr<Json> after =
      server.Merge("merge", {{"spec", {{"size", 5}, {"list", JsonArray{4}}, {"map", {{"a", nullptr}, {"c", "3"}}}}}});
  REQUIRE(after.ok());
  const JsonObject map = {{"b", "2"}, {"c", "3"}};
  CHECK(Size(*after) == 5);
  CHECK(*Find(*after, {"spec", "list"}) == Json(JsonArray{4}));
  CHECK(*Find(*after, {"spec", "map"}) == Json(map));
  CHECK(StringAt(*after, {"spec", "node"}) == "n1");
  CHECK(VersionOf(*after) > VersionOf(before));
  CHECK(Generation(*after) == 2);

  const absl::StatusOr<Json> labelled = server.Merge("merge", {{"metadata", {{"labels", {{"more", "yes"}}}}}});
  REQUIRE(labelled.ok());
  CHECK(StringAt(*labelled, {"metadata", "labels", "case"}) == "merge");
  CHECK(Generation(*labelled) == 2);
  CHECK(server.Merge("merge", {{"spec", {{"size", -1}}}}).status().code() == Code::kInvalidArgument);
}

void JsonPatches(const ContractWorld& world) {
  const Server server(world);
  server.Create(Widget("json-patch"));
  const auto operation = [](const char* op, const char* path, Json value) {
    return Json{{"op", op}, {"path", path}, {"value", std::move(value)}};
  };
  const auto patch = [&](JsonArray operations) {
    return server.Patch("json-patch", PatchType::kJson, Json(std::move(operations)));
  };
  const absl::StatusOr<Json> after = patch({operation("test", "/spec/size", 1),
                                            operation("replace", "/spec/size", 7),
                                            operation("add", "/metadata/labels", {{"a", "b"}}),
                                            {{"op", "remove"}, {"path", "/spec/node"}}});
  INFO(after.status().ToString());
  REQUIRE(after.ok());
  CHECK(Size(*after) == 7);
  CHECK(StringAt(*after, {"metadata", "labels", "a"}) == "b");
  CHECK(Find(*after, {"spec", "node"}) == nullptr);
  CHECK(patch({operation("test", "/spec/size", 1)}).status().code() == Code::kInvalidArgument);
  CHECK(patch({operation("replace", "/spec/no/such", 1)}).status().code() == Code::kInvalidArgument);
  CHECK(patch({operation("replace", "/metadata/resourceVersion", "1")}).status().code() == Code::kAborted);
}

void StrategicMergePatches(const ContractWorld& world) {
  const Server server(world);
  const Json object = {{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"name", "strategic"}}},
                       {"data", {{"a", "1"}, {"b", "2"}}}};
  const absl::StatusOr<Json> before = server.api.Create(kConfigMaps, world.ns, object);
  REQUIRE(before.ok());
  const Json patch = {{"data", {{"a", "5"}, {"b", nullptr}}}};
  const absl::StatusOr<Json> after =
      server.api.Patch({kConfigMaps, server.Key("strategic"), Subresource::kNone, PatchType::kStrategicMerge, patch});
  REQUIRE(after.ok());
  const JsonObject want = {{"a", "5"}};
  CHECK(*Find(*after, {"data"}) == Json(want));
  CHECK(VersionOf(*after) > VersionOf(*before));
}

void NothingChanged(const ContractWorld& world) {
  const Server server(world);
  server.Create(Widget("same"));
  // The first write of an object also stores the default of its status, and so moves the version.
  const absl::StatusOr<Json> before = server.Merge("same", {{"spec", {{"size", 2}}}});
  REQUIRE(before.ok());
  const absl::StatusOr<Json> after = server.Merge("same", {{"spec", {{"size", 2}}}});
  REQUIRE(after.ok());
  CHECK(VersionOf(*after) == VersionOf(*before));
  const absl::StatusOr<Json> status = server.MergeStatus("same", {{"status", {{"phase", "Enqueued"}}}});
  REQUIRE(status.ok());
  CHECK(VersionOf(*status) == VersionOf(*before));
}

void StatusIsApart(const ContractWorld& world) {
  const Server server(world);
  server.Create(Widget("status"));
  const Json both = {{"spec", {{"size", 9}}}, {"status", {{"phase", "Dequeued"}}}};
  absl::StatusOr<Json> after = server.MergeStatus("status", both);
  REQUIRE(after.ok());
  CHECK(Size(*after) == 1);
  CHECK(Phase(*after) == "Dequeued");
  CHECK(Generation(*after) == 1);
  after = server.Merge("status", {{"spec", {{"size", 9}}}, {"status", {{"phase", "Running"}}}});
  REQUIRE(after.ok());
  CHECK(Size(*after) == 9);
  CHECK(Phase(*after) == "Dequeued");

  Json object = *after;
  Part(&object, "spec")["size"] = 10;
  Part(&object, "status")["phase"] = "Succeed";
  after = server.api.Update(ContractResource(), Subresource::kStatus, object);
  REQUIRE(after.ok());
  CHECK(Size(*after) == 9);
  CHECK(Phase(*after) == "Succeed");
}

void WritesAreConditional(const ContractWorld& world) {
  const Server server(world);
  const Json first = server.Create(Widget("conditional"));
  const auto on = [](const Json& object) {
    return Json{{"resourceVersion", absl::StrCat(VersionOf(object))}, {"uid", UidOf(object)}};
  };
  absl::StatusOr<Json> second =
      server.MergeStatus("conditional", {{"metadata", on(first)}, {"status", {{"phase", "A"}}}});
  INFO(second.status().ToString());
  REQUIRE(second.ok());
  CHECK(VersionOf(*second) > VersionOf(first));
  CHECK(server.MergeStatus("conditional", {{"metadata", on(first)}, {"status", {{"phase", "B"}}}}).status().code() ==
        Code::kAborted);
  CHECK(server.Merge("conditional", {{"metadata", on(first)}, {"spec", {{"size", 2}}}}).status().code() ==
        Code::kAborted);

  Json object = first;
  Part(&object, "spec")["size"] = 3;
  CHECK(server.api.Update(ContractResource(), Subresource::kNone, object).status().code() == Code::kAborted);
  object = *second;
  Part(&object, "spec")["size"] = 3;
  const absl::StatusOr<Json> third = server.api.Update(ContractResource(), Subresource::kNone, object);
  REQUIRE(third.ok());
  CHECK(Size(*third) == 3);
  Part(&object, "metadata").erase("resourceVersion");
  CHECK(server.api.Update(ContractResource(), Subresource::kNone, object).status().code() == Code::kInvalidArgument);
  CHECK(Phase(*server.Lookup("conditional")) == "A");
}

void UidIsACondition(const ContractWorld& world) {
  const Server server(world);
  const Json before = server.Create(Widget("uid"));
  REQUIRE(server.Delete("uid").ok());
  const Json now = server.Create(Widget("uid"));
  REQUIRE(UidOf(now) != UidOf(before));
  const Json patch = {{"metadata", {{"uid", UidOf(before)}}}, {"spec", {{"size", 2}}}};
  CHECK(server.Merge("uid", patch).status().code() == Code::kAborted);
  const Json status = {{"metadata", {{"uid", UidOf(before)}, {"resourceVersion", absl::StrCat(VersionOf(before))}}},
                       {"status", {{"phase", "Dequeued"}}}};
  CHECK(server.MergeStatus("uid", status).status().code() == Code::kAborted);
  CHECK(server.Delete("uid", UidOf(before)).code() == Code::kAborted);
  CHECK(Size(*server.Lookup("uid")) == 1);
}

void DeletesAreConditional(const ContractWorld& world) {
  const Server server(world);
  const Json first = server.Create(Widget("delete"));
  const absl::StatusOr<Json> second = server.Merge("delete", {{"spec", {{"size", 2}}}});
  REQUIRE(second.ok());
  CHECK(server.Delete("delete", UidOf(first), VersionOf(first)).code() == Code::kAborted);
  CHECK(server.Lookup("delete").ok());
  CHECK(server.Delete("delete", UidOf(first), VersionOf(*second)).ok());
  CHECK(server.Lookup("delete").status().code() == Code::kNotFound);
  CHECK(server.Delete("delete").code() == Code::kNotFound);
}

void FinalizersHoldAnObject(const ContractWorld& world) {
  const Server server(world);
  Json widget = Widget("finalizer");
  Part(&widget, "metadata")["finalizers"] = JsonArray{"example.com/hold"};
  server.Create(widget);
  CHECK(server.Delete("finalizer").ok());
  const absl::StatusOr<Json> held = server.Lookup("finalizer");
  REQUIRE(held.ok());
  CHECK_FALSE(StringAt(*held, {"metadata", "deletionTimestamp"}).empty());
  CHECK(server.Merge("finalizer", {{"metadata", {{"finalizers", nullptr}}}}).ok());
  CHECK(server.Lookup("finalizer").status().code() == Code::kNotFound);
}

void WatchesFromAVersion(const ContractWorld& world) {
  const Server server(world);
  server.Create(Widget("watch-a", "watch"));
  const absl::StatusOr<ListPage> list = server.api.List(server.Listing("watch"));
  REQUIRE(list.ok());
  const Json b = server.Create(Widget("watch-b", "watch"));
  REQUIRE(server.Merge("watch-a", {{"spec", {{"size", 2}}}}).ok());
  REQUIRE(server.MergeStatus("watch-b", {{"status", {{"phase", "Dequeued"}}}}).ok());
  const std::unique_ptr<WatchStream> stream = server.Watch("watch", list->version);
  REQUIRE(server.Delete("watch-b").ok());

  const std::vector<WatchEvent> events = Events(stream.get(), 4);
  REQUIRE(events.size() == 4);
  CHECK(events[0].type == Type::kAdded);
  CHECK(KeyOf(events[0].object) == server.Key("watch-b"));
  CHECK(events[1].type == Type::kModified);
  CHECK(KeyOf(events[1].object).name == "watch-a");
  CHECK(Size(events[1].object) == 2);
  CHECK(events[2].type == Type::kModified);
  CHECK(Phase(events[2].object) == "Dequeued");
  CHECK(events[3].type == Type::kDeleted);
  CHECK(UidOf(events[3].object) == UidOf(b));
  for (size_t i = 0; i < events.size(); ++i) {
    CHECK(VersionOf(events[i].object) > (i == 0 ? list->version : VersionOf(events[i - 1].object)));
  }
  // Again from the middle: what comes after that version, once.
  const std::unique_ptr<WatchStream> rest = server.Watch("watch", VersionOf(events[1].object));
  const std::vector<WatchEvent> later = Events(rest.get(), 2);
  REQUIRE(later.size() == 2);
  CHECK(VersionOf(later[0].object) == VersionOf(events[2].object));
  CHECK(later[1].type == Type::kDeleted);
}

void WatchFollowsItsSelector(const ContractWorld& world) {
  const Server server(world);
  const Json made = server.Create(Widget("moves", "elsewhere"));
  const std::unique_ptr<WatchStream> stream = server.Watch("here", VersionOf(made));
  for (const char* of_case : {"here", "elsewhere"}) {
    REQUIRE(server.Merge("moves", {{"metadata", {{"labels", {{"case", of_case}}}}}}).ok());
  }
  const std::vector<WatchEvent> events = Events(stream.get(), 2);
  REQUIRE(events.size() == 2);
  CHECK(events[0].type == Type::kAdded);
  CHECK(events[1].type == Type::kDeleted);
  CHECK(VersionOf(events[1].object) > VersionOf(events[0].object));
}

void CancelEndsAWatch(const ContractWorld& world) {
  const Server server(world);
  const Json made = server.Create(Widget("cancel", "cancel"));
  const std::unique_ptr<WatchStream> stream = server.Watch("cancel", VersionOf(made));
  stream->Cancel();
  CHECK(stream->Next(kPatience).status().code() == Code::kCancelled);
}

void BookmarksMoveOn(const ContractWorld& world) {
  const Server server(world);
  const Json made = server.Create(Widget("bookmark", "bookmark"));
  const std::unique_ptr<WatchStream> stream = server.Watch("bookmark", VersionOf(made));
  const Json other = server.Create(Widget("bookmark-other", "another"));
  if (world.bookmark == nullptr) return;  // a real server sends one a minute
  world.bookmark();
  const absl::StatusOr<std::optional<WatchEvent>> event = stream->Next(kPatience);
  REQUIRE(event.ok());
  REQUIRE(event->has_value());
  CHECK((*event)->type == Type::kBookmark);
  CHECK(VersionOf((*event)->object) >= VersionOf(other));
}

void TooOldIsOutOfRange(const ContractWorld& world) {
  const Server server(world);
  for (const char* name : {"old-a", "old-b", "old-c"}) server.Create(Widget(name, "old"));
  ListRequest request = server.Listing("old", 1);
  const absl::StatusOr<ListPage> page = server.api.List(request);
  REQUIRE(page.ok());
  if (world.compact != nullptr) world.compact();

  WatchRequest watch;
  watch.resource = ContractResource();
  watch.ns = world.ns;
  watch.from_version = 1;
  // The server says so when it is asked or as the first event.
  absl::StatusOr<std::unique_ptr<WatchStream>> stream = server.api.Watch(watch);
  CHECK((stream.ok() ? (*stream)->Next(kPatience).status() : stream.status()).code() == Code::kOutOfRange);

  if (world.compact == nullptr) return;
  request.continue_token = page->continue_token;
  CHECK(server.api.List(request).status().code() == Code::kOutOfRange);
}

void LeasesAreHeld(const ContractWorld& world) {
  const Server server(world);
  LeaseOptions options;
  options.key = server.Key("contract-lease");
  options.identity = "first";
  Lease first(options, world.api, &Clock::Real());
  options.identity = "second";
  Lease second(options, world.api, &Clock::Real());
  first.Step();
  INFO(first.Health().ToString());
  CHECK(first.role() == Lease::Role::kLeader);
  second.Step();
  CHECK(second.role() == Lease::Role::kFollower);
  CHECK(second.Holder() == "first");
  first.Step();
  CHECK(first.MayWrite());
  CHECK(first.Release().ok());
  second.Step();
  INFO(second.Health().ToString());
  CHECK(second.MayWrite());
}

void EventsAreTaken(const ContractWorld& world) {
  const Server server(world);
  const Json widget = server.Create(Widget("with-events"));
  EventOptions options;
  options.component = "contract";
  options.host = "host";
  EventRecorder recorder(options, world.api, &Clock::Real());
  const ObjectReference object = {"example.com/v1", "Widget", KeyOf(widget), UidOf(widget), VersionOf(widget)};
  for (int i = 0; i < 2; ++i) {
    recorder.Record(object, EventType::kWarning, "FailedScheduling", "no room");
    CHECK(recorder.Step(absl::ZeroDuration()));
  }
  CHECK(recorder.Now().written == 2);
  ListRequest request;
  request.resource = {"", "v1", "events"};
  request.ns = world.ns;
  request.field_selector = "involvedObject.name=with-events,reason=FailedScheduling,type=Warning";
  const absl::StatusOr<ListPage> page = server.api.List(request);
  REQUIRE(page.ok());
  REQUIRE(page->items.size() == 1);
  CHECK(StringAt(page->items[0], {"message"}) == "no room");
  CHECK(*Find(page->items[0], {"count"}) == Json(2));
}

}  // namespace

KubeResource ContractResource() { return {"example.com", "v1", "widgets"}; }

Json ContractCrd() {
  absl::StatusOr<Json> crd = ParseJson(R"({
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
      "group": "example.com",
      "scope": "Namespaced",
      "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
      "versions": [{
        "name": "v1", "served": true, "storage": true,
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.node"}],
        "schema": {"openAPIV3Schema": {
          "type": "object",
          "properties": {
            "spec": {
              "type": "object",
              "x-kubernetes-preserve-unknown-fields": true,
              "properties": {"size": {"type": "integer", "minimum": 0}, "node": {"type": "string"}}
            },
            "status": {
              "type": "object",
              "x-kubernetes-preserve-unknown-fields": true,
              "default": {"phase": "Enqueued"},
              "properties": {"phase": {"type": "string"}}
            }
          }
        }}
      }]
    }
  })");
  return *std::move(crd);
}

std::vector<ContractCase> KubeApiContract() {
  return {
      {"create fills in the metadata and the default status", CreateFillsMetadata},
      {"create refuses a taken name and an invalid object", CreateRefuses},
      {"an object that is not there is not found", MissingThings},
      {"a resource that is not there is not found", MissingResource},
      {"a list comes in pages of one moment", ListsInPages},
      {"a list keeps to its selectors", ListsBySelectors},
      {"a merge patch merges, removes by null and raises the generation", MergePatches},
      {"a JSON patch tests, adds, replaces and removes", JsonPatches},
      {"a strategic merge patch merges", StrategicMergePatches},
      {"a write that changes nothing keeps the version", NothingChanged},
      {"object and status are written apart", StatusIsApart},
      {"a write is conditional on the version it names", WritesAreConditional},
      {"a write is conditional on the uid it names", UidIsACondition},
      {"a delete is conditional on uid and version", DeletesAreConditional},
      {"finalizers hold an object until they are gone", FinalizersHoldAnObject},
      {"a watch brings what came after its version, in order", WatchesFromAVersion},
      {"a watch follows objects into and out of its selector", WatchFollowsItsSelector},
      {"cancel ends a watch", CancelEndsAWatch},
      {"a bookmark carries the version on", BookmarksMoveOn},
      {"a version that is too old is out of range", TooOldIsOutOfRange},
      {"a lease is held by one, renewed, released and taken over", LeasesAreHeld},
      {"an event is written and counted", EventsAreTaken},
  };
}

}  // namespace kq
