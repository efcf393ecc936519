#include "e2e/metrics/metric_list.h"

#include <catch2/catch.hpp>

namespace kq::e2e {
namespace {

constexpr char kText[] = R"(# Operations

| `not_in_the_list` | counter | | beta | outside |

## Metrics

| Process | on |
|---|---|
| koord-queue | :1 |

### Every process

| Metric | Type | Labels | Stability | Meaning |
|---|---|---|---|---|
| `up_seconds` | gauge | | stable | since the start |

### one

| Metric | Type | Labels | Stability | Meaning |
|---|---|---|---|---|
| `a_total`, `b_total` | counter | code, host | beta | two |

### other

## Limits

| `not_here_either` | counter | | beta | outside |
)";

TEST_CASE("the tables are read by process, and what every process has is in each") {
  const auto lists = ListedMetrics(kText);
  const ListedMetric every{"gauge", {}}, counter{"counter", {"code", "host"}};
  CHECK(lists.size() == 2);
  CHECK(lists.at("one") == MetricList{{"a_total", counter}, {"b_total", counter}, {"up_seconds", every}});
  CHECK(lists.at("other") == MetricList{{"up_seconds", every}});
}

TEST_CASE("a row that is not whole, or lists a metric again, is an error") {
  for (const char* row : {"| `a` | gauge | | beta | |", "| `a` | gauge | | mature | x |", "| `a` | gauge | x |",
                          "| `a`, b | gauge | | beta | x |", "| `a`, `a` | gauge | | beta | x |"}) {
    CAPTURE(row);
    CHECK_THROWS(ListedMetrics(std::string("## Metrics\n### one\n") + row + "\n"));
  }
}

}  // namespace
}  // namespace kq::e2e
