#include "libs/common/status_macros.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace kq {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(value / 2);
}

absl::StatusOr<int> Quarter(int value) {
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(value));
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

absl::Status Both(const absl::Status& first, const absl::Status& second, int* evaluated) {
  const auto count = [evaluated](const absl::Status& status) {
    ++*evaluated;
    return status;
  };
  KQ_RETURN_IF_ERROR(count(first));
  KQ_RETURN_IF_ERROR(count(second));
  return absl::OkStatus();
}

TEST_CASE("a value is assigned or the error returned", "[status]") {
  CHECK(Quarter(8).value() == 2);
  CHECK(Quarter(6).status() == absl::InvalidArgumentError("odd"));
  CHECK(Quarter(3).status() == absl::InvalidArgumentError("odd"));
}

TEST_CASE("the first error is returned and nothing after it is done", "[status]") {
  int evaluated = 0;
  CHECK(Both(absl::OkStatus(), absl::OkStatus(), &evaluated).ok());
  CHECK(evaluated == 2);
  evaluated = 0;
  CHECK(Both(absl::AbortedError("a"), absl::OkStatus(), &evaluated) == absl::AbortedError("a"));
  CHECK(evaluated == 1);
}

TEST_CASE("context goes before the message and the rest is kept", "[status]") {
  absl::Status status = absl::UnavailableError("timed out");
  status.SetPayload("kq/retry-after", absl::Cord("3"));
  const absl::Status out = WithContext(status, "list queueunits");
  CHECK(out.code() == absl::StatusCode::kUnavailable);
  CHECK(out.message() == "list queueunits: timed out");
  CHECK(out.GetPayload("kq/retry-after") == absl::Cord("3"));
  CHECK(WithContext(absl::OkStatus(), "x").ok());
}

}  // namespace
}  // namespace kq
