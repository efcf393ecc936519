#include "libs/common/backoff.h"

#include <catch2/catch.hpp>
#include <limits>

namespace kq {
namespace {

TEST_CASE("delays double up to the limit", "[backoff]") {
  const Backoff backoff{absl::Seconds(1), absl::Seconds(10), 0.1};
  CHECK(backoff.Delay(0) == absl::Seconds(1));
  CHECK(backoff.Delay(1) == absl::Seconds(2));
  CHECK(backoff.Delay(3) == absl::Seconds(8));
  CHECK(backoff.Delay(4) == absl::Seconds(10));
  CHECK(backoff.Delay(std::numeric_limits<int>::max()) == absl::Seconds(10));
  CHECK(backoff.Delay(-1) == absl::Seconds(1));
}

TEST_CASE("jitter makes a delay longer or shorter by its part", "[backoff]") {
  const Backoff backoff{absl::Seconds(1), absl::Seconds(10), 0.1};
  CHECK(backoff.Delay(0, 0.0) == absl::Milliseconds(900));
  CHECK(backoff.Delay(0, 0.75) == absl::Milliseconds(1050));
  CHECK(backoff.Delay(9, 0.0) == absl::Seconds(9));
  CHECK(Backoff{absl::Seconds(1), absl::Seconds(10), 0}.Delay(0, 0.99) == absl::Seconds(1));
}

TEST_CASE("odd settings end and give what they say", "[backoff]") {
  CHECK(Backoff{absl::Seconds(5), absl::Seconds(1), 0}.Delay(3) == absl::Seconds(1));
  CHECK(Backoff{absl::ZeroDuration(), absl::Seconds(1), 0}.Delay(1'000'000'000) == absl::ZeroDuration());
  CHECK(Backoff{absl::Seconds(1), absl::InfiniteDuration(), 0}.Delay(10) == absl::Seconds(1024));
}

}  // namespace
}  // namespace kq
