// Cases for catch_main_test.sh, which looks at what libs/common/catch_main.cc reports about them.
#include <catch2/catch.hpp>

TEST_CASE("one & the same") { CHECK(1 + 1 == 2); }

TEST_CASE("two, with a comma") {
  SECTION("left") { CHECK(true); }
  SECTION("right") { CHECK(true); }
}

TEST_CASE("three") { CHECK(3 > 2); }

TEST_CASE("a wrong sum", "[.wrong]") { CHECK(1 + 1 == 3); }
