#include <catch2/catch.hpp>
#include <optional>

#include "libs/kube/testing/contract_server.h"

namespace kq::testing {
namespace {

using Code = absl::StatusCode;
using Type = WatchEvent::Type;

// How long a real server may take to send what has happened.
constexpr absl::Duration kPatience = absl::Seconds(10);

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

void WatchesFromAVersion(const ContractWorld& world) {
  const ContractServer server(world);
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
  const ContractServer server(world);
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
  const ContractServer server(world);
  const Json made = server.Create(Widget("cancel", "cancel"));
  const std::unique_ptr<WatchStream> stream = server.Watch("cancel", VersionOf(made));
  stream->Cancel();
  CHECK(stream->Next(kPatience).status().code() == Code::kCancelled);
}

void BookmarksMoveOn(const ContractWorld& world) {
  const ContractServer server(world);
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
  const ContractServer server(world);
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

}  // namespace

std::vector<ContractCase> WatchContract() {
  return {
      {"a watch brings what came after its version, in order", WatchesFromAVersion},
      {"a watch follows objects into and out of its selector", WatchFollowsItsSelector},
      {"cancel ends a watch", CancelEndsAWatch},
      {"a bookmark carries the version on", BookmarksMoveOn},
      {"a version that is too old is out of range", TooOldIsOutOfRange},
  };
}

}  // namespace kq::testing
