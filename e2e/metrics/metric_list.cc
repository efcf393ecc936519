#include "e2e/metrics/metric_list.h"

#include <stdexcept>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kq::e2e {
namespace {

constexpr char kEvery[] = "Every process";

// The cells of a row of a table.
std::vector<std::string> Cells(absl::string_view line) {
  std::vector<std::string> cells;
  absl::ConsumePrefix(&line, "|");
  absl::ConsumeSuffix(&line, "|");
  for (const absl::string_view cell : absl::StrSplit(line, '|')) {
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  }
  return cells;
}

void AddRow(absl::string_view line, MetricList* list) {
  const std::vector<std::string> cells = Cells(line);
  if (cells.size() != 5 || cells[4].empty() || (cells[3] != "stable" && cells[3] != "beta")) {
    throw std::runtime_error(absl::StrCat("not name, type, labels, stability, meaning: ", line));
  }
  ListedMetric metric;
  metric.type = cells[1];
  for (const std::string& label : std::vector<std::string>(absl::StrSplit(cells[2], ", ", absl::SkipEmpty()))) {
    metric.labels.insert(label);
  }
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(cells[0], ", "))) {
    if (name.size() < 3 || name.front() != '`' || name.back() != '`') {
      throw std::runtime_error(absl::StrCat("not a name: ", name));
    }
    if (!list->emplace(name.substr(1, name.size() - 2), metric).second) {
      throw std::runtime_error(absl::StrCat("listed twice: ", name));
    }
  }
}

}  // namespace

std::map<std::string, MetricList> ListedMetrics(absl::string_view operations_md) {
  std::map<std::string, MetricList> lists;
  MetricList* list = nullptr;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(operations_md, '\n')) {
    if (absl::ConsumePrefix(&line, "## ")) {
      inside = line == "Metrics";
      list = nullptr;
    } else if (inside && absl::ConsumePrefix(&line, "### ")) {
      list = &lists[std::string(line)];
    } else if (list != nullptr && absl::StartsWith(line, "| `")) {
      AddRow(line, list);
    }
  }
  const MetricList every = lists[kEvery];
  lists.erase(kEvery);
  for (auto& [process, metrics] : lists) {
    for (const auto& entry : every) {
      if (!metrics.insert(entry).second) throw std::runtime_error(absl::StrCat("listed twice: ", entry.first));
    }
  }
  return lists;
}

}  // namespace kq::e2e
