#ifndef LIBS_SCHEDULER_CLIENT_CLIENT_H_
#define LIBS_SCHEDULER_CLIENT_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/scheduler_client/call_canceller.h"
#include "libs/scheduler_client/connection_options.h"
#include "proto/queueing/v1/scheduler.pb.h"

namespace kq {

// The scheduler that leads, among those that may be asked.
//
// Errors have messages for people, without gRPC's inner life: kUnavailable and
// kDeadlineExceeded if no leader could be reached (and why, server by server), else
// the server's own code and words. Not thread-safe.
class SchedulerClient {
 public:
  // Asks all servers at once who leads and keeps that one. kInvalidArgument if a
  // TLS file cannot be read. A `canceller` ends this and all calls.
  static absl::StatusOr<std::unique_ptr<SchedulerClient>> Connect(const SchedulerConnectionOptions& options,
                                                                  CallCanceller* canceller = nullptr);
  ~SchedulerClient();

  absl::StatusOr<queueing::v1::Snapshot> Snapshot(const queueing::v1::GetSnapshotRequest& request);
  absl::StatusOr<queueing::v1::ListUnitsResponse> ListUnits(const queueing::v1::ListUnitsRequest& request);
  absl::StatusOr<queueing::v1::Explanation> Explain(const queueing::v1::ExplainRequest& request);
  absl::StatusOr<queueing::v1::DecisionsResponse> Decisions(const queueing::v1::DecisionsRequest& request);

  // Calls `changed` once at first and then whenever the picture changed, as long
  // as it returns OK; returns its error, or why the stream ended. Changes that come
  // while `changed` runs are one.
  absl::Status Watch(const std::function<absl::Status()>& changed);

  // Calls `received` with each message of a watch, signs of life included, as long
  // as it returns OK; returns its error, or why the stream ended. A server that can
  // no longer be reached is noticed within some 10 s.
  using Received = std::function<absl::Status(queueing::v1::SnapshotChange change)>;
  absl::Status WatchChanges(const queueing::v1::WatchSnapshotsRequest& request, const Received& received);

  const std::string& server() const;

 private:
  struct Server;
  SchedulerClient(SchedulerConnectionOptions options, CallCanceller* canceller);

  // The index of the first server that answers as the leader.
  absl::StatusOr<size_t> FindLeader(const std::vector<std::unique_ptr<Server>>& servers) const;

  const SchedulerConnectionOptions options_;
  CallCanceller* const canceller_;
  std::unique_ptr<Server> leader_;
};

// Whether no server that leads could be reached.
bool IsUnreachable(const absl::Status& status);

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_CLIENT_H_
