#ifndef CLI_KQCTL_TESTING_FAKE_SCHEDULER_H_
#define CLI_KQCTL_TESTING_FAKE_SCHEDULER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq::kqctl::testing {

// A scheduler of canned answers on a free port of loopback. Thread-safe.
class FakeScheduler final : public queueing::v1::Scheduler::Service {
 public:
  explicit FakeScheduler(
      const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials());
  ~FakeScheduler() override;

  std::string address() const;  // "localhost:PORT"

  // From then on calls are UNAVAILABLE as from a replica that does not lead.
  void StopLeading(const std::string& leader);
  // What ListUnits answers. Watches are told of the change.
  void SetUnits(const queueing::v1::ListUnitsResponse& units);
  // From then on Decisions answers none.
  void ForgetDecisions();
  queueing::v1::ListUnitsRequest last_list() const;
  queueing::v1::DecisionsRequest last_decisions() const;
  queueing::v1::GetSnapshotRequest last_snapshot() const;

  // Ends watches and the server.
  void Stop();

  grpc::Status GetSnapshot(grpc::ServerContext* context, const queueing::v1::GetSnapshotRequest* request,
                           queueing::v1::Snapshot* response) override;
  grpc::Status WatchSnapshots(grpc::ServerContext* context, const queueing::v1::WatchSnapshotsRequest* request,
                              grpc::ServerWriter<queueing::v1::SnapshotChange>* writer) override;
  // NOT_FOUND for the queue and the quota "nowhere".
  grpc::Status ListUnits(grpc::ServerContext* context, const queueing::v1::ListUnitsRequest* request,
                         queueing::v1::ListUnitsResponse* response) override;
  // Knows default/train-big alone.
  grpc::Status Explain(grpc::ServerContext* context, const queueing::v1::ExplainRequest* request,
                       queueing::v1::Explanation* response) override;
  grpc::Status Decisions(grpc::ServerContext* context, const queueing::v1::DecisionsRequest* request,
                         queueing::v1::DecisionsResponse* response) override;

 private:
  grpc::Status Leading(grpc::ServerContext* context) const;

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  mutable Mutex mu_;
  CondVar changed_;
  bool leading_ ABSL_GUARDED_BY(mu_) = true;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::string leader_ ABSL_GUARDED_BY(mu_);
  uint64_t revision_ ABSL_GUARDED_BY(mu_) = 1;
  queueing::v1::ListUnitsResponse units_ ABSL_GUARDED_BY(mu_);
  queueing::v1::DecisionsResponse decisions_ ABSL_GUARDED_BY(mu_);
  queueing::v1::ListUnitsRequest last_list_ ABSL_GUARDED_BY(mu_);
  queueing::v1::DecisionsRequest last_decisions_ ABSL_GUARDED_BY(mu_);
  queueing::v1::GetSnapshotRequest last_snapshot_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::kqctl::testing

#endif  // CLI_KQCTL_TESTING_FAKE_SCHEDULER_H_
