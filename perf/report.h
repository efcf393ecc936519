#ifndef PERF_REPORT_H_
#define PERF_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/json.h"

namespace kq::perf {

// The value at the share `q` (0.5: the median) of the sorted values, the nearest
// one that was measured; 0 if there is none.
double Quantile(std::vector<double> values, double q);

// What was measured, for people and for programs. A measurement made several
// times shows its median and its range. Nothing is judged. Not thread-safe.
class Report {
 public:
  // Rows stand in the order of their first Add, below their section. `target` is
  // what the row is compared with by a reader ("<= 1"); the first one counts.
  void Add(absl::string_view section, absl::string_view name, double value, absl::string_view unit,
           absl::string_view target = "");
  // A line that is no number: what was unexpected, settings.
  void Note(absl::string_view text) { notes_.emplace_back(text); }

  std::string Table() const;
  // {"rows": [{"section", "name", "unit", "median", "values": [...]}], "notes": [...]}
  std::string JsonDocument() const;

 private:
  struct Row {
    std::string section, name, unit, target;
    std::vector<double> values;
  };
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

}  // namespace kq::perf

#endif  // PERF_REPORT_H_
