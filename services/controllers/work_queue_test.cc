#include "services/controllers/work_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"

namespace kq::controllers {
namespace {

const ObjectKey kA{"ns", "a"};
const ObjectKey kB{"ns", "b"};

WorkQueueOptions Plain() {
  WorkQueueOptions options;
  options.backoff.jitter = 0;
  return options;
}

std::optional<ObjectKey> Next(WorkQueue* queue) { return queue->Take(absl::ZeroDuration()); }

}  // namespace

TEST_CASE("a key that is added often comes up once, in order") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  queue.Add(kA);
  queue.Add(kB);
  queue.Add(kA);
  CHECK(Next(&queue) == kA);
  CHECK(Next(&queue) == kB);
  CHECK(Next(&queue) == std::nullopt);
}

TEST_CASE("how long a key was ready is told when a worker takes it") {
  SimulatedClock clock;
  std::vector<absl::Duration> waits;
  WorkQueueOptions options = Plain();
  options.observe_wait = [&waits](absl::Duration waited) { waits.push_back(waited); };
  WorkQueue queue(options, &clock);
  queue.Add(kA);
  clock.Advance(absl::Seconds(2));
  queue.Add(kA);
  queue.AddAfter(kB, absl::Seconds(1));
  clock.Advance(absl::Seconds(3));
  CHECK(Next(&queue) == kA);
  CHECK(Next(&queue) == kB);
  queue.Add(kA);  // while a worker has it
  clock.Advance(absl::Seconds(1));
  queue.Done(kA);
  CHECK(Next(&queue) == kA);
  CHECK(waits == std::vector{absl::Seconds(5), absl::Seconds(2), absl::Seconds(1)});
}

TEST_CASE("what is added while a worker has it comes up when the worker is done") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  queue.Add(kA);
  CHECK(Next(&queue) == kA);
  queue.Add(kA);
  queue.Add(kA);
  CHECK(Next(&queue) == std::nullopt);
  queue.Done(kA);
  CHECK(Next(&queue) == kA);
  queue.Done(kA);
  CHECK(Next(&queue) == std::nullopt);
}

TEST_CASE("a key waits for its time, and of several times the earliest counts") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  queue.AddAfter(kA, absl::Seconds(10));
  queue.AddAfter(kA, absl::Seconds(2));
  queue.AddAfter(kA, absl::Seconds(5));
  CHECK(queue.NextDue() == clock.TimeNow() + absl::Seconds(2));
  CHECK(Next(&queue) == std::nullopt);
  clock.Advance(absl::Seconds(2));
  CHECK(Next(&queue) == kA);
  queue.Done(kA);
  clock.Advance(absl::Seconds(60));
  CHECK(Next(&queue) == std::nullopt);
  CHECK(queue.NextDue() == absl::InfiniteFuture());
}

TEST_CASE("a key that fails is tried again later and later, until it goes well") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  const auto delay = [&] {
    queue.Retry(kA);
    const absl::Duration wait = queue.NextDue() - clock.TimeNow();
    clock.Advance(wait);
    CHECK(Next(&queue) == kA);
    queue.Done(kA);
    return wait;
  };
  CHECK(delay() == absl::Milliseconds(50));
  CHECK(delay() == absl::Milliseconds(100));
  CHECK(delay() == absl::Milliseconds(200));
  for (int i = 0; i < 20; ++i) delay();
  CHECK(delay() == absl::Seconds(1000));
  queue.Forget(kA);
  CHECK(delay() == absl::Milliseconds(50));
}

TEST_CASE("one key's failures do not delay another") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  for (int i = 0; i < 5; ++i) {
    queue.Retry(kA);
    clock.Advance(absl::Seconds(2));
    CHECK(Next(&queue) == kA);
    queue.Done(kA);
  }
  queue.Retry(kB);
  CHECK(queue.NextDue() == clock.TimeNow() + absl::Milliseconds(50));
}

TEST_CASE("the API server's wish for a pause is obeyed") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  queue.Retry(kA, absl::Seconds(7));
  CHECK(queue.NextDue() == clock.TimeNow() + absl::Seconds(7));
}

TEST_CASE("failures of many keys are spread over time, news are not") {
  SimulatedClock clock;
  WorkQueueOptions options = Plain();
  options.retries_per_second = 10;
  options.retry_burst = 5;
  WorkQueue queue(options, &clock);
  for (int i = 0; i < 25; ++i) queue.Retry({"ns", absl::StrCat("j", i)});
  for (int i = 0; i < 100; ++i) queue.Add({"ns", absl::StrCat("new", i)});
  CHECK(queue.Now().ready == 100);
  CHECK(queue.Now().waiting == 25);
  int early = 0;
  clock.Advance(absl::Seconds(1));
  while (Next(&queue).has_value()) ++early;
  CHECK(early == 100 + 5 + 10);
  clock.Advance(absl::Seconds(1));
  int late = 0;
  while (Next(&queue).has_value()) ++late;
  CHECK(late == 10);
}

TEST_CASE("after Stop nothing is handed out, and what workers have is waited for") {
  SimulatedClock clock;
  WorkQueue queue(Plain(), &clock);
  queue.Add(kA);
  queue.Add(kB);
  CHECK(Next(&queue) == kA);
  queue.Stop();
  CHECK(Next(&queue) == std::nullopt);
  CHECK_FALSE(queue.WaitIdle(clock.TimeNow()));
  queue.Done(kA);
  CHECK(queue.WaitIdle(clock.TimeNow()));
}

TEST_CASE("no key is ever with two workers at once") {
  WorkQueue queue(Plain(), &Clock::Real());
  constexpr int kKeys = 5, kRounds = 200;
  std::vector<std::atomic<int>> inside(kKeys);
  std::vector<std::atomic<int>> handled(kKeys);
  std::atomic<bool> overlapped{false};
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (!queue.Stopped()) {
        const std::optional<ObjectKey> key = queue.Take(absl::Milliseconds(20));
        if (!key.has_value()) continue;
        const int i = key->name[0] - '0';
        if (inside[i].fetch_add(1) != 0) overlapped = true;
        ++handled[i];
        inside[i].fetch_sub(1);
        queue.Done(*key);
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kKeys; ++i) queue.Add({"ns", std::string(1, static_cast<char>('0' + i))});
  }
  while (queue.Now().ready > 0) std::this_thread::yield();
  CHECK(queue.WaitIdle(Clock::Real().TimeNow() + absl::Seconds(30)));
  queue.Stop();
  for (std::thread& worker : workers) worker.join();
  CHECK_FALSE(overlapped);
  for (const std::atomic<int>& count : handled) CHECK(count > 0);
}

TEST_CASE("of workers that wait, one is awake for each key, whatever they wait for") {
  WorkQueue queue(Plain(), &Clock::Real());
  constexpr int kKeys = 300;
  std::atomic<int> handled{0};
  std::vector<std::thread> workers;
  for (int w = 0; w < 8; ++w) {
    workers.emplace_back([&] {
      while (!queue.Stopped()) {
        // Far longer than the test may take: no worker comes back by itself.
        const std::optional<ObjectKey> key = queue.Take(absl::Hours(1));
        if (!key.has_value()) continue;
        ++handled;
        queue.Done(*key);
      }
    });
  }
  queue.AddAfter(kA, absl::Hours(1));  // those that come later are due before it
  for (int i = 0; i < kKeys; ++i) {
    const ObjectKey key{"ns", absl::StrCat(i)};
    if (i % 2 == 0) {
      queue.Add(key);
    } else {
      queue.AddAfter(key, absl::Milliseconds((7 * i) % 50));
    }
  }
  const absl::Time give_up = Clock::Real().TimeNow() + absl::Seconds(30);
  while (handled < kKeys && Clock::Real().TimeNow() < give_up) Clock::Real().SleepFor(absl::Milliseconds(1));
  CHECK(handled == kKeys);
  queue.Stop();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace kq::controllers
