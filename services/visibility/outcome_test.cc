#include "services/visibility/outcome.h"

#include <catch2/catch.hpp>

#include "libs/common/simulated_clock.h"
#include "services/visibility/testing/logged.h"

namespace kq::visibility {
namespace {

TEST_CASE("the log tells of trouble once, of other trouble after a while, and of its end") {
  SimulatedClock clock{absl::FromUnixSeconds(1000)};
  Outcome outcome("certificate", &clock);
  CHECK(outcome.Last().ok());
  const auto set = [&](const absl::Status& status) { return Logged(0, [&] { outcome.Set(status); }); };
  CHECK(set(absl::OkStatus()).empty());
  CHECK_THAT(set(absl::UnavailableError("one")),
             Catch::Contains(R"("Not in order" part="certificate" err="UNAVAILABLE: one")"));
  CHECK(outcome.Last() == absl::UnavailableError("one"));
  CHECK(set(absl::UnavailableError("one")).empty());
  CHECK(set(absl::UnavailableError("two")).empty());
  CHECK(outcome.Last() == absl::UnavailableError("two"));
  clock.Advance(absl::Seconds(11));
  CHECK_THAT(set(absl::UnavailableError("two")), Catch::Contains("two"));
  clock.Advance(absl::Seconds(11));
  CHECK(set(absl::UnavailableError("two")).empty());
  CHECK_THAT(set(absl::OkStatus()), Catch::Contains(R"("In order again" part="certificate")"));
  CHECK_THAT(set(absl::UnavailableError("one")), Catch::Contains("Not in order"));
}

}  // namespace
}  // namespace kq::visibility
