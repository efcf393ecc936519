#include "services/visibility/ttl_cache.h"

#include <catch2/catch.hpp>

namespace kq::visibility {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

TEST_CASE("an answer counts for its time") {
  TtlCache<int> cache(10, absl::Seconds(5));
  cache.Put("a", 1, kNow);
  CHECK(cache.Find("a", kNow + absl::Seconds(4)) == 1);
  CHECK(cache.Find("a", kNow + absl::Seconds(5)) == std::nullopt);
  CHECK(cache.Find("b", kNow) == std::nullopt);
}

TEST_CASE("when it is full the oldest goes, and one put again is not old") {
  TtlCache<int> cache(2, absl::Seconds(5));
  cache.Put("a", 1, kNow);
  cache.Put("b", 2, kNow + absl::Seconds(1));
  cache.Put("a", 3, kNow + absl::Seconds(2));
  cache.Put("c", 4, kNow + absl::Seconds(3));
  CHECK(cache.Size() == 2);
  CHECK(cache.Find("a", kNow + absl::Seconds(3)) == 3);
  CHECK(cache.Find("b", kNow + absl::Seconds(3)) == std::nullopt);
}

TEST_CASE("what is too old takes no room") {
  TtlCache<int> cache(1000, absl::Seconds(5));
  for (int i = 0; i < 100; ++i) cache.Put(std::string(1, static_cast<char>(i)), i, kNow);
  cache.Put("new", 1, kNow + absl::Seconds(6));
  CHECK(cache.Size() == 1);
}

}  // namespace
}  // namespace kq::visibility
