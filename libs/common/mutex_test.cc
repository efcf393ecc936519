#include "libs/common/mutex.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace kq {
namespace {

TEST_CASE("only one thread at a time holds a mutex", "[mutex]") {
  Mutex mu;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        MutexLock lock(&mu);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count == 40'000);
}

TEST_CASE("a wait ends when its time has passed and the mutex is held again", "[mutex]") {
  Mutex mu;
  CondVar changed;
  MutexLock lock(&mu);
  CHECK_FALSE(changed.WaitFor(&mu, absl::ZeroDuration()));
  CHECK_FALSE(changed.WaitFor(&mu, -absl::Hours(1)));
  std::thread other([&] { MutexLock waits_for_us(&mu); });
  CHECK_FALSE(changed.WaitFor(&mu, absl::Milliseconds(1)));
  mu.Unlock();
  other.join();
  mu.Lock();
}

TEST_CASE("an infinite wait sleeps until it is signalled", "[mutex]") {
  Mutex mu;
  CondVar changed;
  bool ready = false;
  int wakes = 0;
  std::thread waiter([&] {
    MutexLock lock(&mu);
    while (!ready) {
      changed.WaitFor(&mu, absl::InfiniteDuration());
      ++wakes;
    }
  });
  {
    MutexLock lock(&mu);
    ready = true;
  }
  changed.Signal();
  waiter.join();
  // A handful of spurious wakes would be allowed, thousands are a wait that spins.
  CHECK(wakes < 10);
}

}  // namespace
}  // namespace kq
