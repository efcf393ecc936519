#include "cli/kqctl/testing/canned_scheduler.h"

#include "cli/kqctl/testing/pictures.h"

namespace kq::kqctl::testing {

namespace v1 = queueing::v1;

CannedScheduler::CannedScheduler(const std::shared_ptr<grpc::ServerCredentials>& credentials)
    : FakeScheduler(credentials), units_(Units()), decisions_(Decided()) {
  SetExplanation(Explained());
  TellOfChange();
}

CannedScheduler::~CannedScheduler() { Stop(); }

void CannedScheduler::SetUnits(const v1::ListUnitsResponse& units) {
  {
    MutexLock lock(&mu_);
    units_ = units;
  }
  TellOfChange();
}

void CannedScheduler::TellOfChange() {
  v1::SnapshotChange change;
  change.mutable_id()->set_revision(++revision_);
  Send(change);
}

void CannedScheduler::ForgetDecisions() {
  MutexLock lock(&mu_);
  decisions_.Clear();
}

v1::ListUnitsRequest CannedScheduler::last_list() const {
  MutexLock lock(&mu_);
  return last_list_;
}
v1::DecisionsRequest CannedScheduler::last_decisions() const {
  MutexLock lock(&mu_);
  return last_decisions_;
}
v1::GetSnapshotRequest CannedScheduler::last_snapshot() const {
  MutexLock lock(&mu_);
  return last_snapshot_;
}

grpc::Status CannedScheduler::GetSnapshot(grpc::ServerContext* context, const v1::GetSnapshotRequest* request,
                                          v1::Snapshot* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  *response = Picture();
  MutexLock lock(&mu_);
  last_snapshot_ = *request;
  return grpc::Status::OK;
}

grpc::Status CannedScheduler::ListUnits(grpc::ServerContext* context, const v1::ListUnitsRequest* request,
                                        v1::ListUnitsResponse* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  if (request->queue() == "nowhere") return {grpc::StatusCode::NOT_FOUND, "queue nowhere not found"};
  if (request->quota() == "nowhere") return {grpc::StatusCode::NOT_FOUND, "quota nowhere not found"};
  MutexLock lock(&mu_);
  last_list_ = *request;
  *response = units_;
  return grpc::Status::OK;
}

grpc::Status CannedScheduler::Decisions(grpc::ServerContext* context, const v1::DecisionsRequest* request,
                                        v1::DecisionsResponse* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  MutexLock lock(&mu_);
  *response = decisions_;
  last_decisions_ = *request;
  return grpc::Status::OK;
}

}  // namespace kq::kqctl::testing
