#ifndef LIBS_COMMON_TIME_FORMAT_H_
#define LIBS_COMMON_TIME_FORMAT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Times and durations as Kubernetes and Go write them.
namespace kq {

// metav1.Time: whole seconds, UTC ("2026-11-29T21:26:16Z"); a fraction is cut off.
// Empty for a time outside the years 0 to 9999, the infinite ones among them:
// such a field is left out.
std::string TimeText(absl::Time time);
// metav1.MicroTime: six digits ("2026-11-29T21:26:16.123456Z").
std::string MicroTimeText(absl::Time time);
// RFC 3339 with or without a fraction, in any zone. kInvalidArgument otherwise.
absl::StatusOr<absl::Time> ParseTime(absl::string_view text);

// Go's time.Duration: "1h2m3.5s", "300ms", "0s". Infinite and longer than Go's
// 292 years print as that limit. Finer than a nanosecond is cut off.
std::string DurationText(absl::Duration duration);
// Of the largest unit only, as kubectl's: "45s", "5m", "3h", "9d". Negative is "0s".
std::string AgeText(absl::Duration age);
// What Go parses: one or more numbers with units h, m, s, ms, us, µs, ns, with a
// sign; or "0". kInvalidArgument otherwise, also beyond 292 years.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

}  // namespace kq

#endif  // LIBS_COMMON_TIME_FORMAT_H_
