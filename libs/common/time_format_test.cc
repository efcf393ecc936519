#include "libs/common/time_format.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace kq {
namespace {

const absl::Time kTime = absl::FromUnixMicros(1795987576123456);

TEST_CASE("times are written as Kubernetes writes them", "[time_format]") {
  CHECK(TimeText(kTime) == "2026-11-29T21:26:16Z");
  CHECK(MicroTimeText(kTime) == "2026-11-29T21:26:16.123456Z");
  CHECK(MicroTimeText(absl::UnixEpoch()) == "1970-01-01T00:00:00.000000Z");
  CHECK(TimeText(absl::UnixEpoch() - absl::Milliseconds(1)) == "1969-12-31T23:59:59Z");
  CHECK(TimeText(absl::FromCivil(absl::CivilSecond(7, 1, 2, 3, 4, 5), absl::UTCTimeZone())) == "0007-01-02T03:04:05Z");
  CHECK(TimeText(absl::FromCivil(absl::CivilSecond(9999, 12, 31), absl::UTCTimeZone())) == "9999-12-31T00:00:00Z");
}

TEST_CASE("times that have no text are left out", "[time_format]") {
  CHECK(TimeText(absl::InfiniteFuture()) == "");
  CHECK(TimeText(absl::InfinitePast()) == "");
  CHECK(MicroTimeText(absl::FromCivil(absl::CivilSecond(10000, 1, 1), absl::UTCTimeZone())) == "");
  CHECK(TimeText(absl::FromCivil(absl::CivilSecond(-1, 1, 1), absl::UTCTimeZone())) == "");
}

TEST_CASE("times are read in every form of RFC 3339", "[time_format]") {
  CHECK(ParseTime("2026-11-29T21:26:16Z").value() == absl::FromUnixSeconds(1795987576));
  CHECK(ParseTime("2026-11-29T21:26:16.123456Z").value() == kTime);
  CHECK(ParseTime("2026-11-29T23:26:16.123456+02:00").value() == kTime);
  CHECK(ParseTime("2026-11-29T16:56:16.123456-04:30").value() == kTime);
  CHECK(ParseTime("0001-01-01T00:00:00Z").ok());
  CHECK(ParseTime(MicroTimeText(kTime)).value() == kTime);
}

TEST_CASE("what is no RFC 3339 time is refused", "[time_format]") {
  for (const char* text :
       {"", "now", "infinite-future", "2026-11-29", "2026-11-29T21:26:16", "2026-11-29 21:26:16Z",
        " 2026-11-29T21:26:16Z", "2026-11-29T21:26:16Z ", "2026-11-29T21:26:16.Z", "2026-11-29T21:26:16,5Z",
        "26-11-29T21:26:16Z", "12026-11-29T21:26:16Z", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "2026-11-29T24:00:01Z", "2026-11-29T21:26:16+2:00", "2026-11-29t21:26:16z"}) {
    CAPTURE(text);
    CHECK(ParseTime(text).status().code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("durations are written as Go writes them", "[time_format]") {
  CHECK(DurationText(absl::ZeroDuration()) == "0s");
  CHECK(DurationText(absl::Nanoseconds(1)) == "1ns");
  CHECK(DurationText(absl::Nanoseconds(1500)) == "1.5\u00b5s");
  CHECK(DurationText(absl::Milliseconds(300)) == "300ms");
  CHECK(DurationText(absl::Microseconds(2050)) == "2.05ms");
  CHECK(DurationText(absl::Seconds(15)) == "15s");
  CHECK(DurationText(absl::Seconds(90)) == "1m30s");
  CHECK(DurationText(absl::Hours(1)) == "1h0m0s");
  CHECK(DurationText(absl::Hours(1) + absl::Minutes(2) + absl::Milliseconds(3500)) == "1h2m3.5s");
  CHECK(DurationText(absl::Hours(100) + absl::Nanoseconds(1)) == "100h0m0.000000001s");
  CHECK(DurationText(-absl::Milliseconds(1500)) == "-1.5s");
  CHECK(DurationText(absl::InfiniteDuration()) == "2562047h47m16.854775807s");
  CHECK(DurationText(-absl::InfiniteDuration()) == "-2562047h47m16.854775808s");
}

TEST_CASE("durations are read as Go reads them", "[time_format]") {
  CHECK(ParseDuration("0").value() == absl::ZeroDuration());
  CHECK(ParseDuration("15s").value() == absl::Seconds(15));
  CHECK(ParseDuration("1m30s").value() == absl::Seconds(90));
  CHECK(ParseDuration("1h2m3.5s").value() == absl::Hours(1) + absl::Minutes(2) + absl::Milliseconds(3500));
  CHECK(ParseDuration("-1.5h").value() == -absl::Minutes(90));
  CHECK(ParseDuration("+5s").value() == absl::Seconds(5));
  CHECK(ParseDuration("100us").value() == absl::Microseconds(100));
  CHECK(ParseDuration("1.5\u00b5s").value() == absl::Nanoseconds(1500));
  CHECK(ParseDuration("2\u03bcs").value() == absl::Nanoseconds(2000));
  CHECK(ParseDuration("300ms").value() == absl::Milliseconds(300));
}

TEST_CASE("what is no duration is refused", "[time_format]") {
  for (const char* text : {"", "5", "s", "1d", "1w", "inf", "-inf", "infinity", " 5s", "5s ", "5 s", "1h-2m", "--5s",
                           "1e3s", "300000h99999999999999999999h", "3000000h", "."}) {
    CAPTURE(text);
    CHECK(ParseDuration(text).status().code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("a duration that is written is read back as the same", "[time_format][property]") {
  std::mt19937_64 random(1);
  int wrong = 0;
  std::string first_wrong;
  for (int i = 0; i < 20'000; ++i) {
    const auto nanos = static_cast<int64_t>(random() >> (1 + random() % 63)) * (i % 2 == 0 ? 1 : -1);
    const absl::StatusOr<absl::Duration> again = ParseDuration(DurationText(absl::Nanoseconds(nanos)));
    if ((!again.ok() || *again != absl::Nanoseconds(nanos)) && wrong++ == 0) {
      first_wrong = DurationText(absl::Nanoseconds(nanos));
    }
  }
  CAPTURE(first_wrong);
  CHECK(wrong == 0);
}

TEST_CASE("ages are those of kubectl", "[views]") {
  CHECK(AgeText(absl::Seconds(-5)) == "0s");
  CHECK(AgeText(absl::Seconds(119)) == "119s");
  CHECK(AgeText(absl::Seconds(120)) == "2m");
  CHECK(AgeText(absl::Minutes(119)) == "119m");
  CHECK(AgeText(absl::Hours(2)) == "2h");
  CHECK(AgeText(absl::Hours(47)) == "47h");
  CHECK(AgeText(absl::Hours(48)) == "2d");
}

}  // namespace
}  // namespace kq
