#include "libs/scheduler_client/testing/fake_scheduler.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace kq::testing {

namespace v1 = queueing::v1;

FakeScheduler::FakeScheduler(const std::shared_ptr<grpc::ServerCredentials>& credentials, int port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("localhost:", port), credentials, &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeScheduler::~FakeScheduler() { Stop(); }

void FakeScheduler::Stop() {
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    changed_.SignalAll();
  }
  server_->Shutdown();
  server_->Wait();
}

std::string FakeScheduler::address() const { return absl::StrCat("localhost:", port_); }

void FakeScheduler::StopLeading(const std::string& leader) {
  MutexLock lock(&mu_);
  leading_ = false;
  leader_ = leader;
  changed_.SignalAll();
}

void FakeScheduler::Lead() {
  MutexLock lock(&mu_);
  leading_ = true;
}

void FakeScheduler::Send(const v1::SnapshotChange& change) {
  MutexLock lock(&mu_);
  sent_.push_back(change);
  changed_.SignalAll();
}

void FakeScheduler::ForgetSent() {
  MutexLock lock(&mu_);
  forgotten_ = sent_.size();
}

void FakeScheduler::SetExplanation(const v1::Explanation& explanation) {
  MutexLock lock(&mu_);
  explanation_ = explanation;
}

int FakeScheduler::watches() const {
  MutexLock lock(&mu_);
  return watches_;
}

grpc::Status FakeScheduler::Leading(grpc::ServerContext* context) const {
  MutexLock lock(&mu_);
  if (leading_) return grpc::Status::OK;
  context->AddTrailingMetadata("koord-queue-leader", leader_);
  return {grpc::StatusCode::UNAVAILABLE, absl::StrCat("this replica does not lead; the leader is ", leader_)};
}

grpc::Status FakeScheduler::WatchSnapshots(grpc::ServerContext* context, const v1::WatchSnapshotsRequest*,
                                           grpc::ServerWriter<v1::SnapshotChange>* writer) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  size_t next = 0;
  {
    MutexLock lock(&mu_);
    ++watches_;
    next = forgotten_;
  }
  while (!context->IsCancelled()) {
    v1::SnapshotChange change;
    {
      MutexLock lock(&mu_);
      // Woken now and then, to see that the client is gone.
      while (!stopped_ && leading_ && next == sent_.size() && !context->IsCancelled()) {
        changed_.WaitFor(&mu_, absl::Milliseconds(20));
      }
      if (stopped_ || !leading_) return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
      if (next == sent_.size()) break;  // the client is gone
      change = sent_[next++];
    }
    if (!writer->Write(change)) break;
  }
  return grpc::Status::CANCELLED;
}

grpc::Status FakeScheduler::Explain(grpc::ServerContext* context, const v1::ExplainRequest* request,
                                    v1::Explanation* response) {
  if (grpc::Status status = Leading(context); !status.ok()) return status;
  MutexLock lock(&mu_);
  const v1::UnitSnapshot& unit = explanation_.unit();
  if (request->namespace_() != unit.namespace_() || request->name() != unit.name()) {
    return {grpc::StatusCode::NOT_FOUND,
            absl::StrCat("no unfinished queue unit ", request->namespace_(), "/", request->name())};
  }
  *response = explanation_;
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::Decisions(grpc::ServerContext* context, const v1::DecisionsRequest*,
                                      v1::DecisionsResponse*) {
  return Leading(context);
}

}  // namespace kq::testing
