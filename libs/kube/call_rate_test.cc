#include "libs/kube/call_rate.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "libs/common/simulated_clock.h"

namespace kq {
namespace {

constexpr absl::Duration kNoPatience = absl::ZeroDuration();

TEST_CASE("without a limit every call has its turn at once") {
  SimulatedClock clock;
  CallRate rate(0, 0, &clock);
  for (int i = 0; i < 1000; ++i) REQUIRE(rate.Wait(kNoPatience).ok());
}

TEST_CASE("a burst passes at once and the next call is held back") {
  SimulatedClock clock;
  CallRate rate(10, 3, &clock);
  for (int i = 0; i < 3; ++i) REQUIRE(rate.Wait(kNoPatience).ok());
  const absl::Status held = rate.Wait(kNoPatience);
  CHECK(absl::IsUnavailable(held));
  CHECK(std::string(held.message()).find("limit of 10 calls a second") != std::string::npos);
}

TEST_CASE("a refused call uses up no turn") {
  SimulatedClock clock;
  CallRate rate(10, 1, &clock);
  REQUIRE(rate.Wait(kNoPatience).ok());
  for (int i = 0; i < 100; ++i) REQUIRE_FALSE(rate.Wait(kNoPatience).ok());
  clock.Advance(absl::Milliseconds(101));
  CHECK(rate.Wait(kNoPatience).ok());
}

TEST_CASE("a patient call sleeps until its turn") {
  SimulatedClock clock;
  CallRate rate(10, 1, &clock);
  REQUIRE(rate.Wait(kNoPatience).ok());
  std::atomic<bool> done{false};
  std::thread caller([&] { done = rate.Wait(absl::Seconds(30)).ok(); });
  clock.AwaitSleepers(1);
  CHECK_FALSE(done);
  clock.Advance(absl::Milliseconds(100));
  caller.join();
  CHECK(done);
}

TEST_CASE("a burst below one counts as one") {
  SimulatedClock clock;
  CallRate rate(1, 0, &clock);
  CHECK(rate.Wait(kNoPatience).ok());
  CHECK_FALSE(rate.Wait(kNoPatience).ok());
}

}  // namespace
}  // namespace kq
