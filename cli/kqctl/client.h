#ifndef CLI_KQCTL_CLIENT_H_
#define CLI_KQCTL_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/kqctl/options.h"
#include "proto/queueing/v1/scheduler.pb.h"

namespace kq::kqctl {

// The scheduler that leads, among those that may be asked.
//
// Errors have messages for people, without gRPC's inner life: kUnavailable and
// kDeadlineExceeded if no leader could be reached (and why, server by server), else
// the server's own code and words. Not thread-safe.
class Client {
 public:
  // Asks all servers at once who leads and keeps that one. kInvalidArgument if a
  // TLS file cannot be read.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ConnectionOptions& options);
  ~Client();

  absl::StatusOr<queueing::v1::Snapshot> Snapshot(const queueing::v1::GetSnapshotRequest& request);
  absl::StatusOr<queueing::v1::ListUnitsResponse> ListUnits(const queueing::v1::ListUnitsRequest& request);
  absl::StatusOr<queueing::v1::Explanation> Explain(const queueing::v1::ExplainRequest& request);
  absl::StatusOr<queueing::v1::DecisionsResponse> Decisions(const queueing::v1::DecisionsRequest& request);

  // Calls `changed` once at first and then whenever the picture changed, as long
  // as it returns OK; returns its error, or why the stream ended. Changes that come
  // while `changed` runs are one.
  absl::Status Watch(const std::function<absl::Status()>& changed);

  const std::string& server() const;

 private:
  struct Server;
  explicit Client(ConnectionOptions options);

  // The index of the first server that answers as the leader.
  static absl::StatusOr<size_t> FindLeader(const std::vector<std::unique_ptr<Server>>& servers,
                                           const ConnectionOptions& options);

  const ConnectionOptions options_;
  std::unique_ptr<Server> leader_;
};

// Whether no server that leads could be reached.
bool IsUnreachable(const absl::Status& status);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_CLIENT_H_
