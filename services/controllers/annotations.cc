#include "services/controllers/annotations.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/common/time_format.h"

namespace kq::controllers {
namespace {

constexpr absl::Duration kClockSkew = absl::Minutes(1);

}  // namespace

std::string LabelOf(const Json& object, absl::string_view name) {
  return StringAt(object, {"metadata", "labels", name});
}

std::string AnnotationOf(const Json& object, absl::string_view name) {
  return StringAt(object, {"metadata", "annotations", name});
}

std::string QuotaOf(const Json& object) {
  std::string quota = LabelOf(object, kQuotaLabel);
  return quota.empty() ? LabelOf(object, kOldQuotaLabel) : quota;
}

std::optional<int32_t> PriorityOverride(const Json& object) {
  int32_t priority = 0;
  if (!absl::SimpleAtoi(AnnotationOf(object, kPriorityAnnotation), &priority)) return std::nullopt;
  return priority;
}

std::optional<bool> ActiveOverride(const Json& object) {
  const std::string text = AnnotationOf(object, kActiveAnnotation);
  // The spellings of Go's ParseBool.
  for (const absl::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const absl::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<int32_t> MaxExecutionSeconds(const Json& object) {
  int32_t seconds = 0;
  if (!absl::SimpleAtoi(AnnotationOf(object, kMaxExecutionAnnotation), &seconds) || seconds <= 0) return std::nullopt;
  return seconds;
}

std::vector<std::pair<absl::string_view, std::string>> IgnoredAnnotations(const Json& object) {
  constexpr size_t kShown = 64;
  std::vector<std::pair<absl::string_view, std::string>> ignored;
  const auto look = [&](absl::string_view key, bool understood, absl::string_view wanted) {
    const std::string value = AnnotationOf(object, key);
    if (understood || value.empty()) return;
    ignored.emplace_back(
        key, absl::StrCat("annotation ", key, ": \"", absl::CEscape(absl::string_view(value).substr(0, kShown)),
                          value.size() > kShown ? "..." : "", "\" is no ", wanted));
  };
  look(kPriorityAnnotation, PriorityOverride(object).has_value(), "whole number of 32 bits");
  look(kActiveAnnotation, ActiveOverride(object).has_value(), "true or false");
  look(kMaxExecutionAnnotation, MaxExecutionSeconds(object).has_value(), "number of seconds above 0");
  return ignored;
}

std::string GoTimeText(absl::Time time) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%E*S", time, absl::UTCTimeZone()), " +0000 UTC");
}

std::optional<absl::Time> ParseGoTime(absl::string_view text) {
  // Date, time of day and offset; a zone's name and the monotonic clock follow.
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() < 3) return std::nullopt;
  absl::Time time;
  std::string error;
  const std::string head = absl::StrCat(words[0], " ", words[1], " ", words[2]);
  if (!absl::ParseTime("%Y-%m-%d %H:%M:%E*S %z", head, &time, &error)) return std::nullopt;
  return time;
}

absl::Time CreationTime(const Json& object) {
  return ParseTime(StringAt(object, {"metadata", "creationTimestamp"})).value_or(absl::InfinitePast());
}

bool IsMarkedReleased(const Json& job) {
  const std::string text = AnnotationOf(job, kDequeueTimeAnnotation);
  if (text.empty()) return false;
  const std::optional<absl::Time> released = ParseGoTime(text);
  // The original takes what it cannot read for now.
  return !released.has_value() || *released + kClockSkew >= CreationTime(job);
}

JsonObject ReleaseAnnotations(absl::Time enqueued, absl::Time now) {
  JsonObject notes;
  notes[JsonKey(kEnqueuedAnnotation)] = "true";
  if (enqueued != absl::InfinitePast()) notes[JsonKey(kEnqueueTimeAnnotation)] = GoTimeText(enqueued);
  notes[JsonKey(kDequeueTimeAnnotation)] = GoTimeText(now);
  return notes;
}

}  // namespace kq::controllers
