#include "libs/scheduler_client/client.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "libs/common/clock.h"
#include "libs/scheduler_client/testing/fake_scheduler.h"

namespace kq {
namespace {

namespace v1 = queueing::v1;
using testing::FakeScheduler;

v1::SnapshotChange Change(uint64_t revision) {
  v1::SnapshotChange change;
  change.mutable_id()->set_epoch("e1");
  change.mutable_id()->set_revision(revision);
  change.set_whole(revision == 1);
  return change;
}

std::unique_ptr<SchedulerClient> Connected(const FakeScheduler& scheduler, CallCanceller* canceller = nullptr) {
  SchedulerConnectionOptions options;
  options.servers = {scheduler.address()};
  auto client = SchedulerClient::Connect(options, canceller);
  REQUIRE(client.ok());
  return *std::move(client);
}

TEST_CASE("a watch tells of changes and not of signs of life", "[scheduler_client]") {
  FakeScheduler scheduler;
  for (const uint64_t revision : {1, 1, 1, 2, 2, 3}) scheduler.Send(Change(revision));
  int changes = 0;
  const absl::Status enough = absl::AbortedError("seen enough");
  const absl::Status end = Connected(scheduler)->Watch([&] { return ++changes == 3 ? enough : absl::OkStatus(); });
  CHECK(end == enough);
  CHECK(changes == 3);
}

TEST_CASE("whoever follows the messages gets the signs of life too", "[scheduler_client]") {
  FakeScheduler scheduler;
  for (const uint64_t revision : {1, 1, 2}) scheduler.Send(Change(revision));
  std::string seen;
  const absl::Status enough = absl::AbortedError("seen enough");
  const absl::Status end = Connected(scheduler)->WatchChanges({}, [&](const v1::SnapshotChange& change) {
    seen += std::to_string(change.id().revision());
    return change.id().revision() == 2 ? enough : absl::OkStatus();
  });
  CHECK(end == enough);
  CHECK(seen == "112");
}

TEST_CASE("a watch ends with the words of a server that ends it", "[scheduler_client]") {
  FakeScheduler scheduler;
  scheduler.Send(Change(1));
  const absl::Status end = Connected(scheduler)->Watch([&] {
    scheduler.StopLeading("pod-2");
    return absl::OkStatus();
  });
  CHECK(end == absl::UnavailableError(scheduler.address() + ": the server is shutting down"));
}

TEST_CASE("a watch that waits is cancelled from another thread, and later calls at once", "[scheduler_client]") {
  FakeScheduler scheduler;
  CallCanceller canceller;
  const auto client = Connected(scheduler, &canceller);
  absl::Status end;
  std::thread watching([&] { end = client->Watch([] { return absl::OkStatus(); }); });
  while (scheduler.watches() == 0) Clock::Real().SleepFor(absl::Milliseconds(2));
  canceller.Cancel();
  watching.join();
  CHECK(absl::IsCancelled(end));
  CHECK(absl::IsCancelled(client->Decisions({}).status()));
}

TEST_CASE("of several servers the one that leads is kept", "[scheduler_client]") {
  FakeScheduler one, two;
  one.StopLeading("two");
  SchedulerConnectionOptions options;
  options.servers = {one.address(), two.address()};
  const auto client = SchedulerClient::Connect(options);
  REQUIRE(client.ok());
  CHECK((*client)->server() == two.address());
  two.StopLeading("nobody");
  CHECK(IsUnreachable(SchedulerClient::Connect(options).status()));
}

}  // namespace
}  // namespace kq
