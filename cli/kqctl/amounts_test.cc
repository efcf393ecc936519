#include "cli/kqctl/amounts.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace kq::kqctl {
namespace {

constexpr int64_t kKi = 1024;
constexpr int64_t kGi = kKi * kKi * kKi;

Amounts List(const std::vector<std::pair<std::string, int64_t>>& entries) {
  Amounts list;
  for (const auto& [resource, amount] : entries) {
    queueing::v1::Amount* entry = list.Add();
    entry->set_resource(resource);
    entry->set_amount(amount);
  }
  return list;
}

TEST_CASE("amounts are printed for people", "[amounts]") {
  struct Row {
    std::string resource;
    int64_t amount;
    std::string want;
  };
  const std::vector<Row> rows = {
      {"cpu", 4500, "4.5"},
      {"cpu", 4000, "4"},
      {"cpu", 0, "0"},
      {"cpu", 1, "0.001"},
      {"cpu", 250, "0.25"},
      {"cpu", -1500, "-1.5"},
      {"cpu", -5, "-0.005"},
      {"cpu", INT64_MAX, "9223372036854775.807"},
      {"cpu", INT64_MIN, "-9223372036854775.808"},
      {"memory", 8 * kGi, "8Gi"},
      {"memory", 1'500'000'000, "1.4Gi"},
      {"memory", kKi - 1, "1023"},
      {"memory", kKi * kKi - 1, "1Mi"},
      {"memory", 0, "0"},
      {"memory", -kGi, "-1Gi"},
      {"memory", INT64_MAX, "8Ei"},
      {"hugepages-2Mi", 512 * kKi * kKi, "512Mi"},
      {"ephemeral-storage", 1536 * kKi, "1.5Mi"},
      {"nvidia.com/gpu", 2, "2"},
      {"pods", 1'000'000, "1000000"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.resource, row.amount);
    CHECK(AmountForPeople(row.resource, row.amount) == row.want);
  }
}

TEST_CASE("lists of amounts begin with cpu and memory and leave zeros out", "[amounts]") {
  CHECK(AmountsForPeople(List({{"a.com/x", 1}, {"cpu", 2000}, {"memory", kGi}, {"pods", 0}})) ==
        "cpu 2, memory 1Gi, a.com/x 1");
  CHECK(AmountsForPeople(List({{"cpu", 0}})) == "nothing");
  CHECK(AmountsForPeople({}) == "nothing");
}

TEST_CASE("an amount that is not named is none", "[amounts]") {
  const Amounts list = List({{"cpu", 0}});
  CHECK(FindAmount(list, "cpu") == 0);
  CHECK_FALSE(FindAmount(list, "memory").has_value());
}

TEST_CASE("the resources of several lists, each once", "[amounts]") {
  const Amounts a = List({{"x", 1}, {"memory", 1}});
  const Amounts b = List({{"cpu", 1}, {"x", 2}, {"b", 3}});
  CHECK(ResourcesOf({&a, &b}) == std::vector<std::string>{"cpu", "memory", "b", "x"});
}

TEST_CASE("bars", "[amounts]") {
  const BarGlyphs glyphs{"#", ".", "|"};
  struct Row {
    BarAmounts amounts;
    std::string want;
  };
  const std::vector<Row> rows = {
      {{0, 0, 10}, ".........."},
      {{5, 0, 10}, "#####....."},
      {{10, 0, 10}, "##########"},
      {{11, 0, 10}, "##########"},
      {{-1, 0, 10}, ".........."},
      {{5, 3, 10}, "###|#....."},
      {{2, 3, 10}, "##.|......"},
      {{5, 10, 10}, "#####....."},
      {{0, 0, 0}, ".........."},
      {{1, 0, 0}, "##########"},
      {{1, 0, 1'000'000}, "#........."},
      {{999'999, 0, 1'000'000}, "#########."},
      {{INT64_MAX, 0, INT64_MAX}, "##########"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.amounts.used, row.amounts.min, row.amounts.max);
    CHECK(Bar(row.amounts, 10, glyphs) == row.want);
  }
}

}  // namespace
}  // namespace kq::kqctl
