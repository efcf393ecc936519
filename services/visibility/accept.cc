#include "services/visibility/accept.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace kq::visibility {
namespace {

constexpr size_t kMaxRanges = 64;  // further ones are not looked at

// One entry of an Accept header.
struct MediaRange {
  std::string type;
  std::map<std::string, std::string> parameters;
  double quality = 1;
};

MediaRange ParseRange(absl::string_view text) {
  MediaRange range;
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(text, ';')) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(part);
    if (first) {
      range.type = absl::AsciiStrToLower(trimmed);
      first = false;
      continue;
    }
    const std::pair<std::string, std::string> pair = absl::StrSplit(trimmed, absl::MaxSplits('=', 1));
    if (pair.first == "q") {
      if (!absl::SimpleAtod(pair.second, &range.quality)) range.quality = 0;
    } else if (pair.first == "as" || pair.first == "v" || pair.first == "g") {
      range.parameters[pair.first] = pair.second;
    }
  }
  return range;
}

bool Means(const MediaRange& range, Form form) {
  const bool is_json = range.type == "application/json" || range.type == "application/*" || range.type == "*/*";
  if (!is_json) return false;
  using Parameters = std::map<std::string, std::string>;
  switch (form) {
    case Form::kPlain:
      return range.parameters.empty();
    case Form::kTable:
      return range.parameters == Parameters{{"as", "Table"}, {"v", "v1"}, {"g", "meta.k8s.io"}};
    case Form::kAggregated:
      return range.parameters == Parameters{{"as", "APIGroupDiscoveryList"}, {"v", "v2"}, {"g", "apidiscovery.k8s.io"}};
    case Form::kAggregatedBeta:
      return range.parameters ==
             Parameters{{"as", "APIGroupDiscoveryList"}, {"v", "v2beta1"}, {"g", "apidiscovery.k8s.io"}};
  }
  return false;
}

}  // namespace

std::optional<Form> ChooseForm(absl::string_view accept, const std::vector<Form>& offered) {
  if (absl::StripAsciiWhitespace(accept).empty()) return offered.front();
  std::vector<MediaRange> ranges;
  for (const absl::string_view text : absl::StrSplit(accept, ',')) {
    if (ranges.size() == kMaxRanges) break;
    ranges.push_back(ParseRange(text));
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const MediaRange& a, const MediaRange& b) { return a.quality > b.quality; });
  for (const MediaRange& range : ranges) {
    if (!(range.quality > 0)) continue;
    for (const Form form : offered) {
      if (Means(range, form)) return form;
    }
  }
  return std::nullopt;
}

}  // namespace kq::visibility
