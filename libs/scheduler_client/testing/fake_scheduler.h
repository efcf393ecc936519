#ifndef LIBS_SCHEDULER_CLIENT_TESTING_FAKE_SCHEDULER_H_
#define LIBS_SCHEDULER_CLIENT_TESTING_FAKE_SCHEDULER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq::testing {

// A scheduler on a free port of loopback that says what a test gave it. It leads
// until it is told otherwise. A class derived from it may answer more; its destructor
// calls Stop. Thread-safe.
class FakeScheduler : public queueing::v1::Scheduler::Service {
 public:
  // A port other than 0 is that of a server that was stopped before.
  explicit FakeScheduler(
      const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials(), int port = 0);
  ~FakeScheduler() override;

  int port() const { return port_; }
  std::string address() const;  // "localhost:PORT"

  // Ends watches and the server.
  void Stop();

  // From then on calls, and watches that run, are UNAVAILABLE.
  void StopLeading(const std::string& leader);
  void Lead();
  // Sends a message to the watches that run and, after those before, to later ones.
  void Send(const queueing::v1::SnapshotChange& change);
  // Forgets what was sent: later watches begin with what is sent from now on.
  void ForgetSent();
  // What Explain says of the unit that it is about; others are NOT_FOUND.
  void SetExplanation(const queueing::v1::Explanation& explanation);
  // How many watches were begun.
  int watches() const;

  grpc::Status WatchSnapshots(grpc::ServerContext* context, const queueing::v1::WatchSnapshotsRequest* request,
                              grpc::ServerWriter<queueing::v1::SnapshotChange>* writer) override;
  grpc::Status Explain(grpc::ServerContext* context, const queueing::v1::ExplainRequest* request,
                       queueing::v1::Explanation* response) override;
  // None; whoever looks for the leader asks for them.
  grpc::Status Decisions(grpc::ServerContext* context, const queueing::v1::DecisionsRequest* request,
                         queueing::v1::DecisionsResponse* response) override;

 protected:
  // OK, or what a replica says that does not lead.
  grpc::Status Leading(grpc::ServerContext* context) const;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  mutable Mutex mu_;
  CondVar changed_;
  bool leading_ ABSL_GUARDED_BY(mu_) = true;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::string leader_ ABSL_GUARDED_BY(mu_);
  std::vector<queueing::v1::SnapshotChange> sent_ ABSL_GUARDED_BY(mu_);
  size_t forgotten_ ABSL_GUARDED_BY(mu_) = 0;  // of sent_, at its beginning
  int watches_ ABSL_GUARDED_BY(mu_) = 0;
  queueing::v1::Explanation explanation_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::testing

#endif  // LIBS_SCHEDULER_CLIENT_TESTING_FAKE_SCHEDULER_H_
