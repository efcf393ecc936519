#include "libs/kube/kube_api.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

TEST_CASE("Retry-After travels with the status") {
  absl::Status status = absl::UnavailableError("too many requests");
  CHECK(RetryAfter(status) == std::nullopt);
  SetRetryAfter(&status, absl::Milliseconds(2500));
  REQUIRE(RetryAfter(status).has_value());
  CHECK(*RetryAfter(status) == absl::Milliseconds(2500));
  CHECK(RetryAfter(absl::OkStatus()) == std::nullopt);
}

TEST_CASE("only a timeout or a broken connection leaves the outcome unknown") {
  CHECK(OutcomeUnknown(absl::DeadlineExceededError("")));
  CHECK(OutcomeUnknown(absl::UnknownError("")));
  CHECK_FALSE(OutcomeUnknown(absl::UnavailableError("")));
  CHECK_FALSE(OutcomeUnknown(absl::AbortedError("")));
  CHECK_FALSE(OutcomeUnknown(absl::NotFoundError("")));
  CHECK_FALSE(OutcomeUnknown(absl::OkStatus()));
}

TEST_CASE("metadata is read from any object") {
  const Json object =
      *ParseJson(R"({"metadata":{"namespace":"ns","name":"n","uid":"u","resourceVersion":"18446744073709551615"}})");
  CHECK(KeyOf(object) == ObjectKey{"ns", "n"});
  CHECK(UidOf(object) == "u");
  CHECK(VersionOf(object) == 18446744073709551615u);
}

TEST_CASE("metadata that is not there is empty") {
  for (const char* text : {"{}", "[]", "null", R"({"metadata":null})", R"({"metadata":{"resourceVersion":"old"}})"}) {
    CAPTURE(text);
    const Json object = *ParseJson(text);
    CHECK(KeyOf(object) == ObjectKey{});
    CHECK(UidOf(object).empty());
    CHECK(VersionOf(object) == 0);
  }
}

TEST_CASE("a resource is named as kubectl names it") {
  CHECK(KubeResource{"batch", "v1", "jobs"}.ToString() == "jobs.batch");
  CHECK(KubeResource{"", "v1", "pods"}.ToString() == "pods");
}

}  // namespace
}  // namespace kq
