#include "services/scheduler/runtime/snapshot_publisher.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

namespace kq::scheduler {
namespace {

std::shared_ptr<const Snapshot> Picture(uint64_t revision) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->revision = revision;
  return snapshot;
}

TEST_CASE("there is nothing to see before the first picture", "[publisher]") {
  const SnapshotPublisher publisher;
  CHECK(publisher.Latest() == nullptr);
  CHECK(publisher.AwaitNewer(0, absl::ZeroDuration()) == nullptr);
  CHECK(publisher.AwaitNewer(0, absl::Milliseconds(1)) == nullptr);
}

TEST_CASE("the newest picture replaces the one before, which its readers keep", "[publisher]") {
  SnapshotPublisher publisher;
  publisher.Publish(Picture(1));
  const auto first = publisher.Latest();
  publisher.Publish(Picture(2));
  CHECK(first->revision == 1);
  CHECK(publisher.Latest()->revision == 2);
}

TEST_CASE("a wait ends at once when there is something newer", "[publisher]") {
  SnapshotPublisher publisher;
  publisher.Publish(Picture(7));
  CHECK(publisher.AwaitNewer(0, absl::InfiniteDuration())->revision == 7);
  CHECK(publisher.AwaitNewer(6, absl::InfiniteDuration())->revision == 7);
  // A revision from another leadership may be larger; it is another picture all the same.
  CHECK(publisher.AwaitNewer(9, absl::InfiniteDuration())->revision == 7);
}

TEST_CASE("a wait for something newer gives the old one back when its time is over", "[publisher]") {
  SnapshotPublisher publisher;
  publisher.Publish(Picture(7));
  CHECK(publisher.AwaitNewer(7, absl::Milliseconds(1))->revision == 7);
}

TEST_CASE("a picture ends the wait of every reader", "[publisher]") {
  SnapshotPublisher publisher;
  publisher.Publish(Picture(1));
  std::atomic<int> seen = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      if (publisher.AwaitNewer(1, absl::InfiniteDuration())->revision == 2) ++seen;
    });
  }
  publisher.Publish(Picture(2));
  for (std::thread& reader : readers) reader.join();
  CHECK(seen == 4);
}

TEST_CASE("listeners are told in order, after the picture can be read", "[publisher]") {
  SnapshotPublisher publisher;
  std::string told;
  publisher.AddListener([&] { told += "a" + std::to_string(publisher.Latest()->revision); });
  const auto second = publisher.AddListener([&] { told += "b"; });
  publisher.Publish(Picture(1));
  CHECK(told == "a1b");
  publisher.RemoveListener(second);
  publisher.RemoveListener(second);
  publisher.Publish(Picture(2));
  CHECK(told == "a1ba2");
}

TEST_CASE("a listener may take itself away", "[publisher]") {
  SnapshotPublisher publisher;
  int calls = 0;
  SnapshotPublisher::ListenerId id = 0;
  id = publisher.AddListener([&] {
    ++calls;
    publisher.RemoveListener(id);
  });
  publisher.Publish(Picture(1));
  publisher.Publish(Picture(2));
  CHECK(calls == 1);
}

TEST_CASE("readers, listeners and the publisher do not disturb one another", "[publisher]") {
  constexpr uint64_t kPictures = 2000;
  SnapshotPublisher publisher;
  std::atomic<int64_t> calls = 0;
  std::atomic<bool> backwards = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (uint64_t seen = 0; seen < kPictures;) {
        const auto picture = publisher.AwaitNewer(seen, absl::InfiniteDuration());
        if (picture->revision < seen) backwards = true;
        seen = picture->revision;
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 500; ++i) publisher.RemoveListener(publisher.AddListener([&] { ++calls; }));
  });
  for (uint64_t revision = 1; revision <= kPictures; ++revision) publisher.Publish(Picture(revision));
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(backwards);
  CHECK(publisher.Latest()->revision == kPictures);
}

}  // namespace
}  // namespace kq::scheduler
