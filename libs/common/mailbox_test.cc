#include "libs/common/mailbox.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace kq {
namespace {

TEST_CASE("messages are taken together and in their order", "[mailbox]") {
  Mailbox<int> mailbox(10);
  CHECK(mailbox.Post(1));
  CHECK(mailbox.Post(2));
  CHECK(mailbox.Size() == 2);
  CHECK(mailbox.TakeAll(absl::ZeroDuration()) == std::vector<int>{1, 2});
  CHECK(mailbox.TakeAll(absl::ZeroDuration()).empty());
  CHECK(mailbox.Size() == 0);
}

TEST_CASE("a full mailbox refuses, except what must not be lost", "[mailbox]") {
  Mailbox<int> mailbox(2);
  CHECK(mailbox.Post(1));
  CHECK(mailbox.Post(2));
  CHECK_FALSE(mailbox.Post(3));
  mailbox.PostAlways(4);
  CHECK_FALSE(mailbox.Post(5));
  CHECK(mailbox.TakeAll(absl::ZeroDuration()) == std::vector<int>{1, 2, 4});
  CHECK(mailbox.Post(6));
}

TEST_CASE("messages that can only be moved pass through", "[mailbox]") {
  Mailbox<std::unique_ptr<int>> mailbox(1);
  CHECK(mailbox.Post(std::make_unique<int>(7)));
  const std::vector<std::unique_ptr<int>> taken = mailbox.TakeAll(absl::InfiniteDuration());
  REQUIRE(taken.size() == 1);
  CHECK(*taken[0] == 7);
}

TEST_CASE("a wake lets the next reader return empty-handed, once", "[mailbox]") {
  Mailbox<int> mailbox(1);
  mailbox.Wake();
  CHECK(mailbox.TakeAll(absl::InfiniteDuration()).empty());
  std::thread waker([&mailbox] { mailbox.Wake(); });
  CHECK(mailbox.TakeAll(absl::InfiniteDuration()).empty());
  waker.join();
}

TEST_CASE("a waiting reader gets everything of many writers, each writer's in order", "[mailbox]") {
  constexpr int kWriters = 4, kEach = 1000;
  Mailbox<std::pair<int, int>> mailbox(50);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&mailbox, w] {
      for (int i = 0; i < kEach; ++i) {
        while (!mailbox.Post({w, i})) std::this_thread::yield();
      }
    });
  }
  std::vector<int> next(kWriters, 0);
  int taken = 0, out_of_order = 0;
  while (taken < kWriters * kEach) {
    for (const auto& [writer, number] : mailbox.TakeAll(absl::InfiniteDuration())) {
      if (number != next[static_cast<size_t>(writer)]++) ++out_of_order;
      ++taken;
    }
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(out_of_order == 0);
  CHECK(mailbox.Size() == 0);
}

}  // namespace
}  // namespace kq
