#ifndef CLI_KQCTL_TESTING_CANNED_SCHEDULER_H_
#define CLI_KQCTL_TESTING_CANNED_SCHEDULER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"
#include "libs/scheduler_client/testing/fake_scheduler.h"

namespace kq::kqctl::testing {

// A scheduler that tells of the world of pictures.h. Thread-safe.
class CannedScheduler final : public kq::testing::FakeScheduler {
 public:
  explicit CannedScheduler(
      const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials());
  ~CannedScheduler() override;

  // What ListUnits answers. Watches are told of the change.
  void SetUnits(const queueing::v1::ListUnitsResponse& units);
  // From then on Decisions answers none.
  void ForgetDecisions();
  queueing::v1::ListUnitsRequest last_list() const;
  queueing::v1::DecisionsRequest last_decisions() const;
  queueing::v1::GetSnapshotRequest last_snapshot() const;

  grpc::Status GetSnapshot(grpc::ServerContext* context, const queueing::v1::GetSnapshotRequest* request,
                           queueing::v1::Snapshot* response) override;
  // NOT_FOUND for the queue and the quota "nowhere".
  grpc::Status ListUnits(grpc::ServerContext* context, const queueing::v1::ListUnitsRequest* request,
                         queueing::v1::ListUnitsResponse* response) override;
  grpc::Status Decisions(grpc::ServerContext* context, const queueing::v1::DecisionsRequest* request,
                         queueing::v1::DecisionsResponse* response) override;

 private:
  void TellOfChange();

  std::atomic<uint64_t> revision_{0};
  mutable Mutex mu_;
  queueing::v1::ListUnitsResponse units_ ABSL_GUARDED_BY(mu_);
  queueing::v1::DecisionsResponse decisions_ ABSL_GUARDED_BY(mu_);
  queueing::v1::ListUnitsRequest last_list_ ABSL_GUARDED_BY(mu_);
  queueing::v1::DecisionsRequest last_decisions_ ABSL_GUARDED_BY(mu_);
  queueing::v1::GetSnapshotRequest last_snapshot_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::kqctl::testing

#endif  // CLI_KQCTL_TESTING_CANNED_SCHEDULER_H_
