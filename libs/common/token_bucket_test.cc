#include "libs/common/token_bucket.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST_CASE("a burst is free, then the rate rules", "[token_bucket]") {
  TokenBucket bucket(2, 3);
  CHECK(bucket.TryTake(kStart));
  CHECK(bucket.TryTake(kStart));
  CHECK(bucket.TryTake(kStart));
  CHECK_FALSE(bucket.TryTake(kStart));
  CHECK_FALSE(bucket.TryTake(kStart + absl::Milliseconds(499)));
  CHECK(bucket.TryTake(kStart + absl::Milliseconds(500)));
  CHECK_FALSE(bucket.TryTake(kStart + absl::Milliseconds(500)));
}

TEST_CASE("an idle bucket fills up to its burst, not beyond", "[token_bucket]") {
  TokenBucket bucket(10, 2);
  CHECK(bucket.TryTake(kStart));
  const absl::Time later = kStart + absl::Hours(1);
  CHECK(bucket.TryTake(later));
  CHECK(bucket.TryTake(later));
  CHECK_FALSE(bucket.TryTake(later));
}

TEST_CASE("a reservation says how long to wait", "[token_bucket]") {
  TokenBucket bucket(4, 1);
  CHECK(bucket.Reserve(kStart) == absl::ZeroDuration());
  CHECK(bucket.Reserve(kStart) == absl::Milliseconds(250));
  CHECK(bucket.Reserve(kStart) == absl::Milliseconds(500));
  CHECK(bucket.Reserve(kStart + absl::Seconds(1)) == absl::ZeroDuration());
}

TEST_CASE("NextFree names a time at which a token can be taken", "[token_bucket]") {
  TokenBucket bucket(3, 1);
  CHECK(bucket.NextFree(kStart) == kStart);
  CHECK(bucket.TryTake(kStart));
  const absl::Time free = bucket.NextFree(kStart);
  CHECK(free > kStart);
  CHECK(free < kStart + absl::Milliseconds(334));
  CHECK(bucket.TryTake(free));
}

TEST_CASE("a clock that jumps back neither fills nor empties the bucket", "[token_bucket]") {
  TokenBucket bucket(1, 1);
  CHECK(bucket.TryTake(kStart));
  CHECK_FALSE(bucket.TryTake(kStart - absl::Hours(1)));
  CHECK_FALSE(bucket.TryTake(kStart));
  CHECK(bucket.TryTake(kStart + absl::Seconds(1)));
}

}  // namespace
}  // namespace kq
