#include "libs/common/stop_signal.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace kq {
namespace {

TEST_CASE("a rest lasts its time, and is followed by the next turn", "[stop_signal]") {
  const StopSignal stop;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(stop.WaitFor(absl::Milliseconds(20)));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20));
  CHECK(stop.WaitFor(absl::ZeroDuration()));
  CHECK(stop.WaitFor(-absl::Seconds(1)));
}

TEST_CASE("Stop ends every rest, those that begin later too", "[stop_signal]") {
  StopSignal stop;
  std::atomic<int> resting = 0, ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      ++resting;
      if (!stop.WaitFor(absl::InfiniteDuration())) ++ended;
    });
  }
  while (resting < 3) std::this_thread::yield();
  CHECK_FALSE(stop.stopped());
  stop.Stop();
  for (std::thread& thread : threads) thread.join();
  CHECK(ended == 3);
  CHECK(stop.stopped());
  CHECK_FALSE(stop.WaitFor(absl::InfiniteDuration()));
}

}  // namespace
}  // namespace kq
