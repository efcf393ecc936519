#include "services/scheduler/rpc/snapshot_service.h"

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/grpc_status.h"
#include "services/scheduler/core/testing/world.h"
#include "services/scheduler/rpc/grpc_server.h"

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;

class FixedDecisions : public DecisionSource {
 public:
  std::vector<DecidedTurn> Turns() const override {
    Requeue refused;
    refused.unit = {"default", "waits"};
    return {{1, absl::UnixEpoch(), std::make_shared<std::vector<Decision>>(std::vector<Decision>{refused})}};
  }
};

// A server with a core behind it, and a client of it, over a real connection.
class Served {
 public:
  explicit Served(SnapshotServiceOptions options = QuickOptions())
      : service_({&publisher, &decisions_, [this] { return leader; }}, options) {
    GrpcServerOptions server;
    server.address = "127.0.0.1:0";
    auto started = GrpcServer::Start(server, {&service_});
    REQUIRE(started.ok());
    server_ = *std::move(started);
    stub = v1::Scheduler::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));

    world.Add(MakeQuota("team-a").Max(4));
    world.Add(MakeQueue("team-a"));
    world.Add(MakeUnit("runs").Cpu(3).Admitted(1));
    world.Add(MakeUnit("waits").Cpu(2));
    world.Lead();
    world.Cycle();
  }
  ~Served() {
    service_.Stop();
    server_->Stop(absl::Seconds(5));
  }

  static SnapshotServiceOptions QuickOptions() {
    SnapshotServiceOptions options;
    options.feed.min_interval = absl::ZeroDuration();
    options.feed.sign_of_life = absl::Hours(1);
    return options;
  }

  void Publish() { publisher.Publish(world.core().TakeSnapshot(world.now())); }

  // Every call ends within this time, so that a failure is one and not a hang.
  std::unique_ptr<grpc::ClientContext> Context() const {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(60, GPR_TIMESPAN)));
    return context;
  }
  SnapshotService& service() { return service_; }

  CoreWorld world;
  SnapshotPublisher publisher;
  LeaderView leader{true, "pod-1"};
  std::unique_ptr<v1::Scheduler::Stub> stub;

 private:
  FixedDecisions decisions_;
  SnapshotService service_;
  std::unique_ptr<GrpcServer> server_;
};

TEST_CASE("the picture, with and without units", "[rpc]") {
  Served served;
  served.Publish();
  v1::GetSnapshotRequest request;
  v1::Snapshot snapshot;
  REQUIRE(served.stub->GetSnapshot(served.Context().get(), request, &snapshot).ok());
  CHECK(snapshot.id().epoch() == "epoch-1");
  REQUIRE(snapshot.queues_size() == 1);
  CHECK(snapshot.queues(0).waiting_size() == 1);

  request.set_without_units(true);
  REQUIRE(served.stub->GetSnapshot(served.Context().get(), request, &snapshot).ok());
  CHECK(snapshot.queues(0).waiting_size() == 0);
  CHECK(snapshot.queues(0).parked() == 1);
}

TEST_CASE("a replica that does not lead names the leader", "[rpc]") {
  Served served;
  served.Publish();
  served.leader = {false, "pod-2"};
  v1::Snapshot snapshot;
  const auto context = served.Context();
  const grpc::Status status = served.stub->GetSnapshot(context.get(), {}, &snapshot);
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "this replica does not lead; the leader is pod-2");
  const auto& trailing = context->GetServerTrailingMetadata();
  const auto leader = trailing.find("koord-queue-leader");
  REQUIRE(leader != trailing.end());
  CHECK(std::string(leader->second.data(), leader->second.size()) == "pod-2");

  const auto watch_context = served.Context();
  v1::SnapshotChange change;
  auto reader = served.stub->WatchSnapshots(watch_context.get(), {});
  CHECK_FALSE(reader->Read(&change));
  CHECK(reader->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(watch_context->GetServerTrailingMetadata().count("koord-queue-leader") == 1);

  served.leader = {false, ""};
  const grpc::Status unknown = served.stub->GetSnapshot(served.Context().get(), {}, &snapshot);
  CHECK(unknown.error_message() == "this replica does not lead, and no leader is known");
}

TEST_CASE("a leader without a picture says so", "[rpc]") {
  Served served;
  v1::Snapshot snapshot;
  const grpc::Status status = served.stub->GetSnapshot(served.Context().get(), {}, &snapshot);
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "this replica leads but has not seen all objects yet");
}

TEST_CASE("units are listed page by page", "[rpc]") {
  Served served;
  served.Publish();
  v1::ListUnitsRequest request;
  request.set_quota("team-a");
  request.set_limit(1);
  v1::ListUnitsResponse page;
  REQUIRE(served.stub->ListUnits(served.Context().get(), request, &page).ok());
  CHECK(page.id().revision() > 0);
  REQUIRE(page.units_size() == 1);
  CHECK(page.units(0).name() == "waits");
  CHECK(page.total() == 2);
  CHECK(page.remaining() == 1);

  request.set_limit(-1);
  CHECK(served.stub->ListUnits(served.Context().get(), request, &page).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
  request.Clear();
  request.set_queue("nowhere");
  CHECK(served.stub->ListUnits(served.Context().get(), request, &page).error_code() == grpc::StatusCode::NOT_FOUND);
  request.Clear();
  request.set_quota("nowhere");
  CHECK(served.stub->ListUnits(served.Context().get(), request, &page).error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("a unit is explained", "[rpc]") {
  Served served;
  served.Publish();
  v1::ExplainRequest request;
  request.set_namespace_("default");
  request.set_name("waits");
  v1::Explanation explanation;
  REQUIRE(served.stub->Explain(served.Context().get(), request, &explanation).ok());
  CHECK(explanation.unit().name() == "waits");
  CHECK(explanation.levels(0).short_by(0).amount() == 1000);
  request.set_name("nobody");
  CHECK(served.stub->Explain(served.Context().get(), request, &explanation).error_code() ==
        grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("the newest decisions", "[rpc]") {
  Served served;
  served.Publish();
  v1::DecisionsResponse decisions;
  REQUIRE(served.stub->Decisions(served.Context().get(), {}, &decisions).ok());
  REQUIRE(decisions.decisions_size() == 1);
  CHECK(decisions.decisions(0).kind() == "Requeue");
  CHECK(decisions.id().epoch() == "epoch-1");
}

TEST_CASE("a watch begins with the whole picture and then tells what changed", "[rpc]") {
  Served served;
  served.Publish();
  const auto context = served.Context();
  auto reader = served.stub->WatchSnapshots(context.get(), {});
  v1::SnapshotChange change;
  REQUIRE(reader->Read(&change));
  CHECK(change.whole());
  CHECK(change.queues(0).waiting_size() == 1);

  served.world.Add(MakeUnit("third").Cpu(9));
  served.Publish();
  REQUIRE(reader->Read(&change));
  CHECK_FALSE(change.whole());
  REQUIRE(change.queues_size() == 1);
  CHECK(change.queues(0).waiting_size() == 2);
  CHECK(change.quotas_size() == 0);
  context->TryCancel();
  CHECK_FALSE(reader->Read(&change));
  CHECK(reader->Finish().error_code() == grpc::StatusCode::CANCELLED);
}

TEST_CASE("a watcher to whom nothing is new gets signs of life, and then news again", "[rpc]") {
  SnapshotServiceOptions options = Served::QuickOptions();
  options.feed.sign_of_life = absl::Milliseconds(20);
  Served served(options);
  served.Publish();
  const auto context = served.Context();
  auto reader = served.stub->WatchSnapshots(context.get(), {});
  v1::SnapshotChange first, sign, change;
  REQUIRE(reader->Read(&first));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(reader->Read(&sign));
    CHECK(sign.id().epoch() == first.id().epoch());
    CHECK(sign.id().revision() == first.id().revision());
    v1::SnapshotChange only_id;
    *only_id.mutable_id() = sign.id();
    CHECK(sign.SerializeAsString() == only_id.SerializeAsString());
  }

  served.world.Add(MakeUnit("third").Cpu(9));
  served.Publish();
  do {
    REQUIRE(reader->Read(&change));
  } while (change.id().revision() == first.id().revision());
  CHECK_FALSE(change.whole());
  CHECK(change.queues_size() == 1);
  context->TryCancel();
  while (reader->Read(&change)) {
  }
  CHECK(reader->Finish().error_code() == grpc::StatusCode::CANCELLED);
}

TEST_CASE("a watcher that gets news needs no sign of life", "[rpc]") {
  Served served;
  served.Publish();
  const auto context = served.Context();
  auto reader = served.stub->WatchSnapshots(context.get(), {});
  v1::SnapshotChange change;
  REQUIRE(reader->Read(&change));
  for (int i = 0; i < 5; ++i) {
    served.world.Add(MakeUnit(absl::StrCat("more-", i)).Cpu(9));
    served.Publish();
    REQUIRE(reader->Read(&change));
    CHECK(change.queues_size() == 1);
  }
  context->TryCancel();
  while (reader->Read(&change)) {
  }
  CHECK_FALSE(reader->Finish().ok());
}

TEST_CASE("every watcher ends with the newest picture, however many were published", "[rpc]") {
  constexpr int kPictures = 300;
  Served served;
  served.Publish();
  const uint64_t last = served.publisher.Latest()->revision + kPictures;
  std::vector<std::string> wrong(4);
  std::vector<std::thread> readers;
  for (std::string& problem : wrong) {
    readers.emplace_back([&served, &problem, last] {
      const auto context = served.Context();
      auto reader = served.stub->WatchSnapshots(context.get(), {});
      v1::SnapshotChange change;
      uint64_t seen = 0;
      int waiting = 0;
      while (seen < last && reader->Read(&change)) {
        if (change.whole() != (seen == 0)) problem = "whole at the wrong time";
        if (change.id().revision() < seen) problem = "went back";
        seen = change.id().revision();
        if (change.queues_size() > 0) waiting = change.queues(0).waiting_size();
      }
      if (seen != last) problem = absl::StrCat("ended at ", seen);
      if (waiting != kPictures + 1) problem = absl::StrCat("saw ", waiting, " units");
      context->TryCancel();
      while (reader->Read(&change)) {
      }
      if (reader->Finish().ok()) problem = "a cancelled watch ended well";
    });
  }
  for (int i = 0; i < kPictures; ++i) {
    served.world.Add(MakeUnit(absl::StrCat("more-", i)).Cpu(9));
    served.Publish();
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == std::vector<std::string>(4));
}

TEST_CASE("one watch too many is refused", "[rpc]") {
  SnapshotServiceOptions options = Served::QuickOptions();
  options.feed.max_watchers = 1;
  Served served(options);
  served.Publish();
  v1::SnapshotChange change;
  const auto first_context = served.Context();
  auto first = served.stub->WatchSnapshots(first_context.get(), {});
  REQUIRE(first->Read(&change));
  CHECK(served.service().watchers() == 1);

  const auto second_context = served.Context();
  auto second = served.stub->WatchSnapshots(second_context.get(), {});
  CHECK_FALSE(second->Read(&change));
  const grpc::Status refused = second->Finish();
  CHECK(refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(refused.error_message() == "1 watches are open, which is the limit");
  CHECK(served.service().watches_refused() == 1);
  first_context->TryCancel();
  CHECK_FALSE(first->Read(&change));
  CHECK_FALSE(first->Finish().ok());
}

TEST_CASE("a watch is told when the server stops", "[rpc]") {
  Served served;
  served.Publish();
  const auto context = served.Context();
  auto reader = served.stub->WatchSnapshots(context.get(), {});
  v1::SnapshotChange change;
  REQUIRE(reader->Read(&change));
  served.service().Stop();
  CHECK_FALSE(reader->Read(&change));
  const grpc::Status status = reader->Finish();
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "the server is shutting down");

  const auto late_context = served.Context();
  auto late = served.stub->WatchSnapshots(late_context.get(), {});
  CHECK_FALSE(late->Read(&change));
  CHECK(late->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace kq::scheduler
