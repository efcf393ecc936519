#ifndef SERVICES_SCHEDULER_RPC_SNAPSHOT_SERVICE_H_
#define SERVICES_SCHEDULER_RPC_SNAPSHOT_SERVICE_H_

#include <functional>
#include <memory>

#include "proto/queueing/v1/scheduler.grpc.pb.h"
#include "services/scheduler/rpc/decision_source.h"
#include "services/scheduler/rpc/explanation.h"
#include "services/scheduler/rpc/leadership_view.h"
#include "services/scheduler/rpc/snapshot_feed.h"
#include "services/scheduler/runtime/snapshot_publisher.h"

namespace kq::scheduler {

struct SnapshotServiceOptions {
  SnapshotFeedOptions feed;
  ExplainOptions explain;
};

// What the service reads; all must outlive it.
struct SnapshotServiceParts {
  SnapshotPublisher* publisher = nullptr;
  const DecisionSource* decisions = nullptr;
  LeadershipView leadership;
};

// The gRPC service of scheduler.proto. It reads published pictures and nothing
// else, so no call can disturb a decision or wait for one.
//
// A call is UNAVAILABLE, with the leader in the trailing metadata, while this
// process does not lead or has no picture yet. Thread-safe.
class SnapshotService final : public queueing::v1::Scheduler::CallbackService {
 public:
  SnapshotService(SnapshotServiceParts parts, SnapshotServiceOptions options);

  grpc::ServerUnaryReactor* GetSnapshot(grpc::CallbackServerContext* context,
                                        const queueing::v1::GetSnapshotRequest* request,
                                        queueing::v1::Snapshot* response) override;
  grpc::ServerWriteReactor<queueing::v1::SnapshotChange>* WatchSnapshots(
      grpc::CallbackServerContext* context, const queueing::v1::WatchSnapshotsRequest* request) override;
  grpc::ServerUnaryReactor* ListUnits(grpc::CallbackServerContext* context,
                                      const queueing::v1::ListUnitsRequest* request,
                                      queueing::v1::ListUnitsResponse* response) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context, const queueing::v1::ExplainRequest* request,
                                    queueing::v1::Explanation* response) override;
  grpc::ServerUnaryReactor* Decisions(grpc::CallbackServerContext* context,
                                      const queueing::v1::DecisionsRequest* request,
                                      queueing::v1::DecisionsResponse* response) override;

  // Ends the watches; to be called before the server is shut down.
  void Stop() { feed_.Stop(); }
  size_t watchers() const { return feed_.watchers(); }
  int64_t watches_refused() const { return feed_.refused(); }

 private:
  // The picture to answer from, or why there is none.
  absl::StatusOr<std::shared_ptr<const Snapshot>> Picture(grpc::CallbackServerContext* context) const;
  // Answers a unary call from the picture.
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                   const std::function<absl::Status(const Snapshot&)>& answer) const;

  const SnapshotServiceParts parts_;
  const SnapshotServiceOptions options_;
  SnapshotFeed feed_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_SNAPSHOT_SERVICE_H_
