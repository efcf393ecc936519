#include "cli/kqctl/testing/fake_scheduler.h"

#include "absl/strings/str_cat.h"
#include "cli/kqctl/testing/pictures.h"

namespace kq::kqctl::testing {

namespace v1 = queueing::v1;

FakeScheduler::FakeScheduler(const std::shared_ptr<grpc::ServerCredentials>& credentials)
    : units_(Units()), decisions_(Decided()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("localhost:0", credentials, &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeScheduler::~FakeScheduler() { Stop(); }

std::string FakeScheduler::address() const { return absl::StrCat("localhost:", port_); }

void FakeScheduler::StopLeading(const std::string& leader) {
  MutexLock lock(&mu_);
  leading_ = false;
  leader_ = leader;
  changed_.SignalAll();
}

void FakeScheduler::SetUnits(const v1::ListUnitsResponse& units) {
  MutexLock lock(&mu_);
  units_ = units;
  ++revision_;
  changed_.SignalAll();
}

void FakeScheduler::ForgetDecisions() {
  MutexLock lock(&mu_);
  decisions_.Clear();
}

v1::ListUnitsRequest FakeScheduler::last_list() const {
  MutexLock lock(&mu_);
  return last_list_;
}
v1::DecisionsRequest FakeScheduler::last_decisions() const {
  MutexLock lock(&mu_);
  return last_decisions_;
}
v1::GetSnapshotRequest FakeScheduler::last_snapshot() const {
  MutexLock lock(&mu_);
  return last_snapshot_;
}

void FakeScheduler::Stop() {
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    changed_.SignalAll();
  }
  server_->Shutdown();
  server_->Wait();
}

grpc::Status FakeScheduler::Leading(grpc::ServerContext* context) const {
  MutexLock lock(&mu_);
  if (leading_) return grpc::Status::OK;
  context->AddTrailingMetadata("koord-queue-leader", leader_);
  return {grpc::StatusCode::UNAVAILABLE, absl::StrCat("this replica does not lead; the leader is ", leader_)};
}

grpc::Status FakeScheduler::GetSnapshot(grpc::ServerContext* context, const v1::GetSnapshotRequest* request,
                                        v1::Snapshot* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  *response = Picture();
  MutexLock lock(&mu_);
  last_snapshot_ = *request;
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::WatchSnapshots(grpc::ServerContext* context, const v1::WatchSnapshotsRequest*,
                                           grpc::ServerWriter<v1::SnapshotChange>* writer) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  uint64_t sent = 0;
  while (!context->IsCancelled()) {
    v1::SnapshotChange change;
    {
      MutexLock lock(&mu_);
      // Woken now and then, to see that the client is gone.
      while (!stopped_ && leading_ && revision_ == sent && !context->IsCancelled()) {
        changed_.WaitFor(&mu_, absl::Milliseconds(20));
      }
      if (stopped_ || !leading_) return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
      sent = revision_;
      change.mutable_id()->set_revision(sent);
    }
    if (!writer->Write(change)) break;
  }
  return grpc::Status::CANCELLED;
}

grpc::Status FakeScheduler::ListUnits(grpc::ServerContext* context, const v1::ListUnitsRequest* request,
                                      v1::ListUnitsResponse* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  if (request->queue() == "nowhere") return {grpc::StatusCode::NOT_FOUND, "queue nowhere not found"};
  if (request->quota() == "nowhere") return {grpc::StatusCode::NOT_FOUND, "quota nowhere not found"};
  MutexLock lock(&mu_);
  last_list_ = *request;
  *response = units_;
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::Explain(grpc::ServerContext* context, const v1::ExplainRequest* request,
                                    v1::Explanation* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  if (request->namespace_() != "default" || request->name() != "train-big") {
    return {grpc::StatusCode::NOT_FOUND,
            absl::StrCat("no unfinished queue unit ", request->namespace_(), "/", request->name())};
  }
  *response = Explained();
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::Decisions(grpc::ServerContext* context, const v1::DecisionsRequest* request,
                                      v1::DecisionsResponse* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  MutexLock lock(&mu_);
  *response = decisions_;
  last_decisions_ = *request;
  return grpc::Status::OK;
}

}  // namespace kq::kqctl::testing
