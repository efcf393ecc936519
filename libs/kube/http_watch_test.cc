#include "libs/kube/http_watch.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/scripted_http_client.h"

namespace kq {
namespace {

using Pieces = ScriptedHttpStream::Pieces;

std::string Event(absl::string_view type, absl::string_view name, int version) {
  return absl::StrCat(R"({"type":")", type, R"(","object":{"metadata":{"namespace":"a","name":")", name,
                      R"(","resourceVersion":")", version, "\"}}}\n");
}

// A watch over these pieces.
struct World {
  explicit World(Pieces pieces, HttpWatchOptions options = {})
      : watch(NewHttpWatch(std::make_unique<ScriptedHttpStream>(200, std::move(pieces)), options, &clock)) {}
  absl::StatusOr<std::optional<WatchEvent>> Next() { return watch->Next(absl::Seconds(1)); }

  SimulatedClock clock;
  std::unique_ptr<WatchStream> watch;
};

TEST_CASE("lines come whole however the pieces are cut") {
  const std::string text = "one\n\ntwo\nthree";
  for (size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    LineBuffer lines;
    std::vector<std::string> got;
    for (size_t at = 0; at < text.size(); at += size) {
      lines.Append(text.substr(at, size));
      for (absl::string_view line; lines.Take(&line);) got.emplace_back(line);
    }
    CHECK(got == std::vector<std::string>{"one", "", "two"});
    CHECK(lines.Pending() == 5);
  }
}

TEST_CASE("events come in order, with their types, across pieces") {
  const std::string text =
      absl::StrCat(Event("ADDED", "x", 1), Event("MODIFIED", "x", 2), "\n", Event("DELETED", "x", 3),
                   R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})", "\n");
  for (const size_t size : {size_t{1}, size_t{7}, size_t{64}, text.size()}) {
    CAPTURE(size);
    Pieces pieces;
    for (size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    World world(std::move(pieces));
    std::vector<std::pair<WatchEvent::Type, uint64_t>> got;
    for (int i = 0; i < 4; ++i) {
      const auto event = world.Next();
      REQUIRE(event.ok());
      REQUIRE(event->has_value());
      got.emplace_back((*event)->type, VersionOf((*event)->object));
    }
    using Type = WatchEvent::Type;
    CHECK(got == std::vector<std::pair<Type, uint64_t>>{
                     {Type::kAdded, 1}, {Type::kModified, 2}, {Type::kDeleted, 3}, {Type::kBookmark, 9}});
    const auto none = world.Next();
    REQUIRE(none.ok());
    CHECK_FALSE(none->has_value());
  }
}

TEST_CASE("a pause is no event and loses no half one") {
  const std::string event = Event("ADDED", "x", 1);
  World world({event.substr(0, 20), "", event.substr(20)});
  const auto pause = world.Next();
  REQUIRE(pause.ok());
  CHECK_FALSE(pause->has_value());
  const auto whole = world.Next();
  REQUIRE(whole.ok());
  REQUIRE(whole->has_value());
  CHECK(KeyOf((*whole)->object) == ObjectKey{"a", "x"});
}

TEST_CASE("the end of the body and a broken connection both mean watch again, for good") {
  const struct {
    Pieces pieces;
    const char* want;
  } cases[] = {
      {{ScriptedHttpStream::End()}, "the watch ended"},
      {{std::string("{\"type\""), ScriptedHttpStream::End()}, "the watch ended in the middle of an event"},
      {{absl::UnavailableError("connection reset")}, "connection reset"},
  };
  for (const auto& c : cases) {
    World world(c.pieces);
    CHECK(world.Next().status() == absl::UnavailableError(c.want));
    CHECK(world.Next().status() == absl::UnavailableError(c.want));
  }
}

TEST_CASE("an error event ends the watch with what it says") {
  World world({R"({"type":"ERROR","object":{"kind":"Status","message":"too old","reason":"Expired","code":410}})"
               "\n" +
               Event("ADDED", "x", 1)});
  CHECK(world.Next().status() == absl::OutOfRangeError("too old"));
  CHECK(world.Next().status() == absl::OutOfRangeError("too old"));
}

TEST_CASE("an event that cannot be decoded names its object and the stream goes on") {
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  const struct {
    std::string line, want;
  } cases[] = {
      {R"({"type":"ADDED","object":{"metadata":{"name":"x","namespace":"a","resourceVersion":"1"},"spec":)" + deep +
           "}}",
       "event of a/x: JSON"},
      {"<html>", "event of an object without a readable name: JSON"},
      {"[]", "event of an object without a readable name: it has no object"},
      {R"({"type":"ADDED","object":7})", "event of an object without a readable name: it has no object"},
      {R"({"type":"NEWS","object":{"metadata":{"name":"x"}}})", "event of x: unknown type \"NEWS\""},
      {R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})", "event of x: metadata.resourceVersion is missing"},
      {R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}})",
       "event of an object without a readable name: metadata.name is missing"},
  };
  for (const auto& c : cases) {
    World world({c.line + "\n" + Event("ADDED", "next", 2)});
    const absl::Status broken = world.Next().status();
    CAPTURE(c.line, broken.ToString());
    CHECK(absl::IsInvalidArgument(broken));
    CHECK(broken.message().substr(0, c.want.size()) == c.want);
    const auto next = world.Next();
    REQUIRE(next.ok());
    CHECK(KeyOf((*next)->object).name == "next");
  }
}

TEST_CASE("a stream that is silent beyond its time is given up") {
  World world({Event("ADDED", "x", 1)}, {1 << 20, absl::UnixEpoch() + absl::Minutes(1)});
  CHECK(world.Next()->has_value());
  CHECK_FALSE(world.Next()->has_value());
  world.clock.Advance(absl::Minutes(1));
  CHECK(absl::IsUnavailable(world.Next().status()));
}

TEST_CASE("an event beyond the limit means list again") {
  World world({std::string(50, 'x'), std::string(51, 'x')}, {100, absl::InfiniteFuture()});
  CHECK(absl::IsOutOfRange(world.Next().status()));
}

TEST_CASE("a cancelled watch says so, whatever it still had") {
  World world({Event("ADDED", "x", 1)});
  world.watch->Cancel();
  CHECK(absl::IsCancelled(world.Next().status()));
}

}  // namespace
}  // namespace kq
