#include "libs/common/clock.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "libs/common/simulated_clock.h"

namespace kq {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST_CASE("the real clock does not return from a sleep before its time", "[clock]") {
  const absl::Time deadline = Clock::Real().TimeNow() + absl::Milliseconds(5);
  Clock::Real().SleepUntil(deadline);
  CHECK(Clock::Real().TimeNow() >= deadline);
}

TEST_CASE("a sleep until a time that has passed returns at once", "[clock]") {
  Clock::Real().SleepUntil(absl::InfinitePast());
  Clock::Real().SleepFor(-absl::Hours(1));
  const SimulatedClock clock(kStart);
  clock.SleepUntil(kStart);
  clock.SleepFor(absl::ZeroDuration());
  CHECK(clock.TimeNow() == kStart);
}

TEST_CASE("the simulated clock stands still until it is moved", "[clock]") {
  SimulatedClock clock(kStart);
  clock.Advance(absl::Seconds(3));
  CHECK(clock.TimeNow() == kStart + absl::Seconds(3));
  clock.SetTime(kStart - absl::Hours(1));
  CHECK(clock.TimeNow() == kStart - absl::Hours(1));
}

TEST_CASE("sleepers wake when the simulated clock reaches their time, not before", "[clock]") {
  SimulatedClock clock(kStart);
  std::vector<std::atomic<bool>> awake(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&clock, &awake, i] {
      clock.SleepUntil(kStart + absl::Seconds(i + 1));
      awake[static_cast<size_t>(i)] = true;
    });
  }
  clock.AwaitSleepers(3);
  clock.Advance(absl::Seconds(1));
  threads[0].join();
  CHECK(awake[0]);
  CHECK_FALSE(awake[1]);
  CHECK_FALSE(awake[2]);
  clock.Advance(absl::Hours(1));
  threads[1].join();
  threads[2].join();
  CHECK(awake[1]);
  CHECK(awake[2]);
}

}  // namespace
}  // namespace kq
