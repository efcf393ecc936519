#include "services/scheduler/runtime/event_json.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "services/scheduler/runtime/testing/samples.h"

namespace kq::scheduler {
namespace {

TEST_CASE("every event comes back as it was") {
  std::set<size_t> kinds;
  for (const Event& event : SampleEvents()) {
    kinds.insert(event.index());
    const std::string text = JsonText(EncodeEvent(event));
    CAPTURE(text);
    const absl::StatusOr<Json> value = ParseJson(text);
    REQUIRE(value.ok());
    const absl::StatusOr<Event> back = DecodeEvent(*value);
    REQUIRE(back.ok());
    CHECK(back->index() == event.index());
    CHECK(JsonText(EncodeEvent(*back)) == text);
  }
  CHECK(kinds.size() == std::variant_size_v<Event>);
}

TEST_CASE("an answer keeps the unit or the error") {
  const Event answer = WriteFinished{{"ns", "a"}, "uid", 12, SampleUnit("a")};
  const absl::StatusOr<Event> back = DecodeEvent(EncodeEvent(answer));
  REQUIRE(back.ok());
  const auto& finished = std::get<WriteFinished>(*back);
  CHECK(finished.unit == ObjectKey{"ns", "a"});
  CHECK(finished.uid == "uid");
  CHECK(finished.based_on == 12);
  REQUIRE(finished.result.ok());
  CHECK(*finished.result == SampleUnit("a"));

  const absl::StatusOr<Event> failed =
      DecodeEvent(EncodeEvent(WriteFinished{{"ns", "a"}, "uid", 12, absl::AbortedError("no")}));
  REQUIRE(failed.ok());
  CHECK(std::get<WriteFinished>(*failed).result.status() == absl::AbortedError("no"));
}

TEST_CASE("an unknown or broken event is an error with its field") {
  struct Case {
    const char* text;
    const char* names;
  };
  const auto c = GENERATE(values<Case>({
      {R"({"type":"Sung"})", "event.type: unknown type Sung"},
      {R"({})", "event.type"},
      {R"({"type":"Listed","kind":"pods"})", "event.kind"},
      {R"({"type":"UnitUpserted"})", "unit: expected an object"},
      {R"({"type":"UnitRemoved","version":"x"})", "event.version"},
      {R"({"type":"WriteFinished"})", "neither a unit nor an error"},
      {R"(7)", "event: expected an object"},
  }));
  CAPTURE(c.text);
  const absl::StatusOr<Event> event = DecodeEvent(*ParseJson(c.text));
  REQUIRE_FALSE(event.ok());
  CHECK_THAT(std::string(event.status().message()), Catch::Contains(c.names));
}

TEST_CASE("every decision has its kind and what it is about") {
  std::set<std::string> kinds;
  for (const Decision& decision : SampleDecisions()) {
    const JsonObject object = EncodeDecision(decision);
    kinds.insert(StringAt(object, {"type"}));
    CHECK(StringAt(object, {"type"}) == DecisionKind(decision));
    CHECK_FALSE(StringAt(object, {"name"}).empty());
  }
  CHECK(kinds.size() == std::variant_size_v<Decision>);
}

TEST_CASE("decisions that differ have texts that differ") {
  Requeue a;
  a.unit = {"ns", "a"};
  Requeue b = a;
  b.why.short_by = 1;
  CHECK(JsonText(EncodeDecision(a)) != JsonText(EncodeDecision(b)));
  Dequeue c;
  Dequeue d = c;
  d.admissions = {{"main", 1, {}, 0, std::nullopt}};
  CHECK(JsonText(EncodeDecision(c)) != JsonText(EncodeDecision(d)));
}

}  // namespace
}  // namespace kq::scheduler
