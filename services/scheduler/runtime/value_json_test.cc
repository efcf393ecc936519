#include "services/scheduler/runtime/value_json.h"

#include <catch2/catch.hpp>
#include <limits>

#include "libs/common/json.h"
#include "services/scheduler/runtime/testing/samples.h"

namespace kq::scheduler {
namespace {

// Through the text, as the decision log does it.
Json Reread(const JsonObject& object) {
  const absl::StatusOr<Json> value = ParseJson(JsonText(object));
  REQUIRE(value.ok());
  return *value;
}

// Does not compile when a value gets one more field: then encode it, give it a
// value in testing/samples.cc, and count it here.
[[maybe_unused]] void EveryFieldIsKnown(const QueueUnit& unit, const Queue& queue, const Quota& quota) {
  [[maybe_unused]] const auto& [u1, u2, u3, u4, u5, u6, u7, u8, u9, u10, u11, u12, u13, u14, u15, u16, u17, u18, u19,
                                u20, u21, u22, u23, u24, u25] = unit;
  [[maybe_unused]] const auto& [q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15] = queue;
  [[maybe_unused]] const auto& [e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15] = quota;
  [[maybe_unused]] const auto& [a1, a2, a3, a4, a5] = unit.admissions.front();
  [[maybe_unused]] const auto& [c1, c2, c3, c4, c5, c6] = unit.conditions.front();
  [[maybe_unused]] const auto& [p1, p2, p3] = unit.pod_sets.front();
  [[maybe_unused]] const auto& [r1, r2, r3, r4] = unit.consumer;
}

TEST_CASE("a unit comes back exactly") {
  const QueueUnit unit = SampleUnit("a");
  const absl::StatusOr<QueueUnit> back = DecodeUnit(Reread(EncodeUnit(unit)));
  REQUIRE(back.ok());
  CHECK(*back == unit);
}

TEST_CASE("a unit of nothing but defaults comes back exactly") {
  const absl::StatusOr<QueueUnit> back = DecodeUnit(Reread(EncodeUnit(QueueUnit{})));
  REQUIRE(back.ok());
  CHECK(*back == QueueUnit{});
}

TEST_CASE("explicit zeros and the ends of int64 come back exactly") {
  QueueUnit unit;
  unit.resource = {
      {"cpu", 0}, {"memory", std::numeric_limits<int64_t>::max()}, {"x", std::numeric_limits<int64_t>::min()}};
  const absl::StatusOr<QueueUnit> back = DecodeUnit(Reread(EncodeUnit(unit)));
  REQUIRE(back.ok());
  CHECK(*back == unit);
}

TEST_CASE("a queue and a quota come back exactly") {
  const absl::StatusOr<Queue> queue = DecodeQueue(Reread(EncodeQueue(SampleQueue("q"))));
  REQUIRE(queue.ok());
  CHECK(*queue == SampleQueue("q"));
  const absl::StatusOr<Quota> quota = DecodeQuota(Reread(EncodeQuota(SampleQuota("q"))));
  REQUIRE(quota.ok());
  CHECK(*quota == SampleQuota("q"));
}

TEST_CASE("a wrong field is named by its path") {
  struct Case {
    const char* text;
    const char* path;
  };
  const auto c = GENERATE(values<Case>({
      {R"({"priority":"high"})", "unit.priority"},
      {R"({"phase":"Sleeping"})", "unit.phase"},
      {R"({"podSets":[{"perPod":{"cpu":"1"}}]})", "unit.podSets.perPod.cpu"},
      {R"({"podSets":{}})", "unit.podSets"},
      {R"({"resource":[]})", "unit.resource"},
      {R"({"requestText":[["cpu"]]})", "unit.requestText"},
      {R"([])", "unit: expected an object"},
  }));
  CAPTURE(c.text);
  const absl::StatusOr<Json> value = ParseJson(c.text);
  REQUIRE(value.ok());
  const absl::StatusOr<QueueUnit> unit = DecodeUnit(*value);
  REQUIRE_FALSE(unit.ok());
  CHECK(unit.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(unit.status().message()), Catch::Contains(c.path));
}

}  // namespace
}  // namespace kq::scheduler
