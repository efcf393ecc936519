#include "e2e/fault_proxy/watch_fault.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "libs/common/json.h"

namespace kq {
namespace {

Fault Cut(int64_t events, int64_t bytes) {
  Fault fault;
  fault.kind = Fault::Kind::kCutWatch;
  fault.after_events = events;
  fault.after_bytes = bytes;
  return fault;
}

// What passes of `text`, cut into pieces of `size`.
std::string Passed(std::optional<Fault> fault, const std::string& text, size_t size) {
  WatchFault watch(fault);
  std::string out;
  for (size_t at = 0; at < text.size() && !watch.Due(); at += size) {
    const std::string piece = text.substr(at, size);
    out += piece.substr(0, watch.Pass(piece));
  }
  return out;
}

TEST_CASE("a fault is due after its events or bytes, wherever the pieces end") {
  const std::string text = "one\ntwo\nthree\n";
  for (const size_t size : {1, 2, 3, 4, 5, 14}) {
    CAPTURE(size);
    CHECK(Passed(std::nullopt, text, size) == text);
    CHECK(Passed(Cut(1, 0), text, size) == "one\n");
    CHECK(Passed(Cut(2, 5), text, size) == "one\ntwo\n");
    CHECK(Passed(Cut(3, 0), text, size) == text);
    CHECK(Passed(Cut(9, 0), text, size) == text);
    CHECK(Passed(Cut(0, 6), text, size) == "one\ntw");
    CHECK(Passed(Cut(0, 100), text, size) == text);
  }
}

TEST_CASE("a fault after nothing is due at once") {
  WatchFault watch(Cut(0, 0));
  CHECK_FALSE(watch.Due());
  CHECK(watch.Pass("") == 0);
  CHECK(watch.Due());
}

TEST_CASE("an expired watch is told so in the form of an event") {
  const std::string event = WatchFault::GoneEvent();
  CHECK(event.back() == '\n');
  const auto json = ParseJson(event.substr(0, event.size() - 1));
  REQUIRE(json.ok());
  CHECK(StringAt(*json, {"type"}) == "ERROR");
  CHECK(StringAt(*json, {"object", "reason"}) == "Expired");
}

}  // namespace
}  // namespace kq
