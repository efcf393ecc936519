#include "perf/report.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kq::perf {
namespace {

// Three digits that count are more than such a measurement is good for.
std::string Number(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 100) return absl::StrFormat("%.0f", value);
  if (size >= 10) return absl::StrFormat("%.1f", value);
  if (size >= 1) return absl::StrFormat("%.2f", value);
  return absl::StrFormat("%.3f", value);
}

}  // namespace

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  const size_t at = static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(values.size())));
  return values[at - 1];
}

void Report::Add(absl::string_view section, absl::string_view name, double value, absl::string_view unit,
                 absl::string_view target) {
  for (Row& row : rows_) {
    if (row.section != section || row.name != name) continue;
    row.values.push_back(value);
    return;
  }
  rows_.push_back({std::string(section), std::string(name), std::string(unit), std::string(target), {value}});
}

std::string Report::Table() const {
  std::string out;
  std::vector<std::string> done;
  for (const Row& first : rows_) {
    if (std::find(done.begin(), done.end(), first.section) != done.end()) continue;
    done.push_back(first.section);
    absl::StrAppend(&out, "\n", first.section, "\n");
    for (const Row& row : rows_) {
      if (row.section != first.section) continue;
      const auto [low, high] = std::minmax_element(row.values.begin(), row.values.end());
      std::string range;
      if (row.values.size() > 1) range = absl::StrCat("(", Number(*low), " - ", Number(*high), ")");
      absl::StrAppend(&out, absl::StrFormat("  %-58s %9s %-8s %-18s %s", row.name, Number(Quantile(row.values, 0.5)),
                                            row.unit, range, row.target));
      out.erase(out.find_last_not_of(' ') + 1);
      out.push_back('\n');
    }
  }
  if (!notes_.empty()) absl::StrAppend(&out, "\nNotes\n");
  for (const std::string& note : notes_) absl::StrAppend(&out, "  ", note, "\n");
  return out;
}

std::string Report::JsonDocument() const {
  JsonArray rows;
  for (const Row& row : rows_) {
    JsonArray values;
    for (const double value : row.values) values.push_back(value);
    JsonObject entry{{"section", row.section},
                     {"name", row.name},
                     {"unit", row.unit},
                     {"median", Quantile(row.values, 0.5)},
                     {"values", std::move(values)}};
    if (!row.target.empty()) entry["target"] = row.target;
    rows.push_back(std::move(entry));
  }
  JsonArray notes;
  for (const std::string& note : notes_) notes.push_back(Json(note));
  return PrettyJsonText(JsonObject{{"rows", std::move(rows)}, {"notes", std::move(notes)}}) + "\n";
}

}  // namespace kq::perf
