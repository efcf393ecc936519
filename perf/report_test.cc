#include "perf/report.h"

#include <catch2/catch.hpp>

namespace kq::perf {
namespace {

TEST_CASE("a quantile is a value that was measured", "[perf]") {
  CHECK(Quantile({}, 0.5) == 0);
  CHECK(Quantile({7}, 0.99) == 7);
  CHECK(Quantile({3, 1, 2}, 0.5) == 2);
  CHECK(Quantile({1, 2, 3, 4}, 0.5) == 2);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  CHECK(Quantile(hundred, 0.99) == 99);
  CHECK(Quantile(hundred, 1) == 100);
  CHECK(Quantile(hundred, 0) == 1);
}

TEST_CASE("what was measured several times shows its median and its range", "[perf]") {
  Report report;
  report.Add("speed", "jobs", 100, "1/s", ">= 100");
  report.Add("memory", "scheduler", 12.345, "MB");
  report.Add("speed", "jobs", 300, "1/s");
  report.Add("speed", "jobs", 200, "1/s");
  report.Note("two cores");
  const std::string table = report.Table();
  CAPTURE(table);
  CHECK(table.find("\nspeed\n  jobs ") != std::string::npos);
  CHECK(table.find(" 200 1/s      (100 - 300)        >= 100\n") != std::string::npos);
  CHECK(table.find("12.3 MB\n") != std::string::npos);
  CHECK(table.find("two cores") != std::string::npos);
}

TEST_CASE("a program reads the same numbers", "[perf]") {
  Report report;
  report.Add("speed", "jobs", 100.5, "1/s", ">= 100");
  report.Note("n");
  const auto document = ParseJson(report.JsonDocument());
  REQUIRE(document.ok());
  const Json& row = *Find(*document, {"rows"})->get_array().begin();
  CHECK(StringAt(row, {"section"}) == "speed");
  CHECK(StringAt(row, {"name"}) == "jobs");
  CHECK(StringAt(row, {"target"}) == ">= 100");
  CHECK(Find(row, {"median"})->get_double() == 100.5);
  CHECK(Find(row, {"values"})->get_array().size() == 1);
  CHECK(Find(*document, {"notes"})->get_array().size() == 1);
}

}  // namespace
}  // namespace kq::perf
