#include "libs/common/time_format.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace kq {
namespace {

constexpr absl::string_view kSeconds = "%Y-%m-%dT%H:%M:%SZ";
constexpr absl::string_view kMicros = "%Y-%m-%dT%H:%M:%E6SZ";

std::string UtcText(absl::string_view format, absl::Time time) {
  const int64_t year = absl::ToCivilYear(time, absl::UTCTimeZone()).year();
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast() || year < 0 || year > 9999) return "";
  // absl writes year 7 as "7".
  const std::string text = absl::FormatTime(format, time, absl::UTCTimeZone());
  const size_t year_digits = text.find('-');
  return year_digits < 4 ? absl::StrCat(std::string(4 - year_digits, '0'), text) : text;
}

// Whether `text` begins with `pattern`, where 0 stands for any digit; takes it off.
bool Consume(absl::string_view pattern, absl::string_view* text) {
  if (text->size() < pattern.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = (*text)[i];
    if (pattern[i] == '0' ? !absl::ascii_isdigit(static_cast<unsigned char>(c)) : c != pattern[i]) return false;
  }
  text->remove_prefix(pattern.size());
  return true;
}

// absl::ParseTime also takes spaces, "infinite-future" and years of any length.
bool IsRfc3339(absl::string_view text) {
  if (!Consume("0000-00-00T00:00:00", &text)) return false;
  if (Consume(".", &text)) {
    if (!Consume("0", &text)) return false;
    while (Consume("0", &text)) {
    }
  }
  return (Consume("Z", &text) || Consume("+00:00", &text) || Consume("-00:00", &text)) && text.empty();
}

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

// "1.5" for 1500 of 1000.
std::string Fraction(uint64_t value, uint64_t unit) {
  std::string out = absl::StrCat(value / unit);
  uint64_t rest = value % unit;
  if (rest != 0) {
    out.push_back('.');
    for (uint64_t digit = unit / 10; rest != 0; digit /= 10) {
      out.push_back(static_cast<char>('0' + rest / digit));
      rest %= digit;
    }
  }
  return out;
}

}  // namespace

std::string TimeText(absl::Time time) { return UtcText(kSeconds, time); }
std::string MicroTimeText(absl::Time time) { return UtcText(kMicros, time); }

absl::StatusOr<absl::Time> ParseTime(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (!IsRfc3339(text) || !absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text.substr(0, 64), "\" is not a time in RFC 3339 form, such as 2026-11-29T21:26:16Z"));
  }
  return time;
}

std::string DurationText(absl::Duration duration) {
  const int64_t total = absl::ToInt64Nanoseconds(duration);  // saturates
  // The magnitude of the smallest int64 has no int64.
  const uint64_t nanos = total < 0 ? uint64_t{0} - static_cast<uint64_t>(total) : static_cast<uint64_t>(total);
  const std::string sign = total < 0 ? "-" : "";
  if (nanos == 0) return "0s";
  if (nanos < 1000) return absl::StrCat(sign, nanos, "ns");
  if (nanos < 1'000'000) return absl::StrCat(sign, Fraction(nanos, 1000), "\u00b5s");
  if (nanos < kNanosPerSecond) return absl::StrCat(sign, Fraction(nanos, 1'000'000), "ms");
  const uint64_t minutes = nanos / (60 * kNanosPerSecond);
  std::string out = sign;
  if (minutes >= 60) absl::StrAppend(&out, minutes / 60, "h");
  if (minutes > 0) absl::StrAppend(&out, minutes % 60, "m");
  return absl::StrCat(out, Fraction(nanos % (60 * kNanosPerSecond), kNanosPerSecond), "s");
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  // Go writes micro with U+00B5 and also reads U+03BC.
  const std::string ascii = absl::StrReplaceAll(text, {{"\u00b5s", "us"}, {"\u03bcs", "us"}});
  absl::Duration duration;
  // absl also takes "inf" and spaces around the text.
  const bool plain = std::all_of(ascii.begin(), ascii.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           absl::string_view("+-.hmsun").find(c) != std::string::npos;
  });
  if (!plain || !absl::ParseDuration(ascii, &duration)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text.substr(0, 64), "\" is not a duration, such as 300ms, 15s or 1h30m"));
  }
  if (absl::AbsDuration(duration) > absl::Nanoseconds(std::numeric_limits<int64_t>::max())) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text.substr(0, 64), "\" is longer than 292 years"));
  }
  return duration;
}

std::string AgeText(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(absl::ToInt64Seconds(age), 0);
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (seconds < 120 * 60) return absl::StrCat(seconds / 60, "m");
  if (seconds < 48 * 3600) return absl::StrCat(seconds / 3600, "h");
  return absl::StrCat(seconds / (24 * 3600), "d");
}

}  // namespace kq
