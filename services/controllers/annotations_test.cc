#include "services/controllers/annotations.h"

#include <catch2/catch.hpp>

namespace kq::controllers {
namespace {

Json Annotated(absl::string_view name, absl::string_view value) {
  return JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{JsonKey(name), JsonKey(value)}}}}}};
}

Json Job(absl::string_view created, absl::string_view dequeued) {
  Json job = Annotated(kDequeueTimeAnnotation, dequeued);
  job.as_object()["metadata"].as_object()["creationTimestamp"] = JsonKey(created);
  return job;
}

}  // namespace

TEST_CASE("the priority annotation counts if it is an int32") {
  CHECK(PriorityOverride(Json(JsonObject())) == std::nullopt);
  CHECK(PriorityOverride(Annotated(kPriorityAnnotation, "")) == std::nullopt);
  CHECK(PriorityOverride(Annotated(kPriorityAnnotation, "abc")) == std::nullopt);
  CHECK(PriorityOverride(Annotated(kPriorityAnnotation, "2147483648")) == std::nullopt);
  CHECK(PriorityOverride(Annotated(kPriorityAnnotation, "42")) == 42);
  CHECK(PriorityOverride(Annotated(kPriorityAnnotation, "-5")) == -5);
}

TEST_CASE("the active annotation counts if it is a bool") {
  CHECK(ActiveOverride(Json(JsonObject())) == std::nullopt);
  CHECK(ActiveOverride(Annotated(kActiveAnnotation, "")) == std::nullopt);
  CHECK(ActiveOverride(Annotated(kActiveAnnotation, "garbage")) == std::nullopt);
  CHECK(ActiveOverride(Annotated(kActiveAnnotation, "true")) == true);
  CHECK(ActiveOverride(Annotated(kActiveAnnotation, "false")) == false);
}

TEST_CASE("the longest execution counts if it is positive") {
  for (const absl::string_view text : {"", "0", "-5", "1h", "garbage"}) {
    CAPTURE(std::string(text));
    CHECK(MaxExecutionSeconds(Annotated(kMaxExecutionAnnotation, text)) == std::nullopt);
  }
  CHECK(MaxExecutionSeconds(Annotated(kMaxExecutionAnnotation, "3600")) == 3600);
}

TEST_CASE("annotations that say nothing that counts are named, with what they say") {
  const auto words = [](absl::string_view key, const std::string& value) {
    const auto ignored = IgnoredAnnotations(Annotated(key, value));
    if (ignored.empty()) return std::string();
    REQUIRE(ignored.size() == 1);
    CHECK(ignored[0].first == key);
    return ignored[0].second;
  };
  CHECK(words(kPriorityAnnotation, "7").empty());
  CHECK(words(kPriorityAnnotation, "high") ==
        "annotation scheduling.x-k8s.io/priority: \"high\" is no whole number of 32 bits");
  CHECK_THAT(words(kPriorityAnnotation, "99999999999"), Catch::Contains("99999999999"));
  CHECK(words(kActiveAnnotation, "F").empty());
  CHECK_THAT(words(kActiveAnnotation, "no"), Catch::EndsWith("\"no\" is no true or false"));
  CHECK_THAT(words(kMaxExecutionAnnotation, "-1"), Catch::EndsWith("\"-1\" is no number of seconds above 0"));
  CHECK(words(kMaxExecutionAnnotation, std::string(100'000, 'x')).size() < 200);
  CHECK(IgnoredAnnotations(Json(JsonObject())).empty());
}

TEST_CASE("the new quota label wins over the old one") {
  const auto labelled = [](const JsonObject& labels) {
    return Json(JsonObject{{"metadata", JsonObject{{"labels", labels}}}});
  };
  CHECK(QuotaOf(labelled({})) == "");
  CHECK(QuotaOf(labelled({{"alibabacloud.com/quota-name", "b"}})) == "b");
  CHECK(QuotaOf(labelled({{"alibabacloud.com/quota-name", "b"}, {"quota.scheduling.koordinator.sh/name", "a"}})) ==
        "a");
  CHECK(QuotaOf(labelled({{"alibabacloud.com/quota-name", "b"}, {"quota.scheduling.koordinator.sh/name", ""}})) == "b");
}

TEST_CASE("times are written and read as Go prints them") {
  const absl::Time time = absl::FromUnixNanos(1764451576123456789);
  CHECK(GoTimeText(time) == "2025-11-29 21:26:16.123456789 +0000 UTC");
  CHECK(ParseGoTime(GoTimeText(time)) == time);
  CHECK(ParseGoTime("2025-11-29 21:26:16 +0000 UTC") == absl::FromUnixSeconds(1764451576));
  CHECK(ParseGoTime("2025-11-29 22:26:16.5 +0100 CET m=+0.012") ==
        absl::FromUnixSeconds(1764451576) + absl::Milliseconds(500));
  CHECK(ParseGoTime("yesterday") == std::nullopt);
  CHECK(ParseGoTime("") == std::nullopt);
}

TEST_CASE("a mark of the release counts if it is not older than the job") {
  CHECK_FALSE(IsMarkedReleased(Json(JsonObject())));
  CHECK_FALSE(IsMarkedReleased(Job("2026-11-29T10:00:00Z", "")));
  CHECK(IsMarkedReleased(Job("2026-11-29T10:00:00Z", "2026-11-29 10:00:00.1 +0000 UTC")));
  // A copy of another job's manifest.
  CHECK_FALSE(IsMarkedReleased(Job("2026-11-29T10:00:00Z", "2026-11-29 09:30:00 +0000 UTC")));
  // Two machines' clocks.
  CHECK(IsMarkedReleased(Job("2026-11-29T10:00:00Z", "2026-11-29 09:59:58 +0000 UTC")));
  CHECK(IsMarkedReleased(Job("2026-11-29T10:00:00Z", "some time")));
}

}  // namespace kq::controllers
