#ifndef E2E_METRICS_METRIC_LIST_H_
#define E2E_METRICS_METRIC_LIST_H_

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace kq::e2e {

// A metric as docs/operations.md lists it, or as a scrape shows it.
struct ListedMetric {
  std::string type;  // counter, gauge, histogram
  std::set<std::string> labels;

  friend bool operator==(const ListedMetric&, const ListedMetric&) = default;
};

using MetricList = std::map<std::string, ListedMetric>;  // by name

// The tables below "## Metrics", by process: the heading of each ("koord-queue"),
// with those of "Every process" in each. A row with several names is several
// metrics. Throws on a row that cannot be read, or a metric listed twice.
std::map<std::string, MetricList> ListedMetrics(absl::string_view operations_md);

}  // namespace kq::e2e

#endif  // E2E_METRICS_METRIC_LIST_H_
