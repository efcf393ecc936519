#ifndef SERVICES_SCHEDULER_RPC_SNAPSHOT_FEED_H_
#define SERVICES_SCHEDULER_RPC_SNAPSHOT_FEED_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/queueing/v1/scheduler.pb.h"
#include "services/scheduler/rpc/snapshot_proto.h"
#include "services/scheduler/runtime/snapshot_publisher.h"

namespace kq::scheduler {

struct SnapshotFeedOptions {
  size_t max_watchers = 64;
  // The least time between two messages to one watcher. It grows with the time
  // that a message takes to make, so that watchers use a part of a core at most.
  absl::Duration min_interval = absl::Milliseconds(100);
  // A watcher to whom nothing was sent for so long gets a message without changes,
  // so that it knows that its picture is still the newest.
  absl::Duration sign_of_life = absl::Seconds(2);
};

// Sends every watcher the newest picture, again and again, and a sign of life where
// nothing is new:
//
//   publisher --flag--> pump thread --StartWrite--> watcher (gRPC) --OnWriteDone--> pump
//
// The decision thread only sets a flag. One thread of the feed makes all messages
// and starts all writes; gRPC's threads only report that a write ended. A watcher
// that is slow has one write on its way and skips what is published meanwhile.
//
// Thread-safe. Stop, then shut the server down, then destroy the feed.
class SnapshotFeed {
 public:
  // `publisher` must outlive the feed.
  SnapshotFeed(SnapshotPublisher* publisher, SnapshotFeedOptions options);
  ~SnapshotFeed();
  SnapshotFeed(const SnapshotFeed&) = delete;
  SnapshotFeed& operator=(const SnapshotFeed&) = delete;

  // A new watcher, for gRPC, which owns it until it is done. One too many ends at
  // once with RESOURCE_EXHAUSTED, and after Stop every one with UNAVAILABLE.
  grpc::ServerWriteReactor<queueing::v1::SnapshotChange>* Watch(Detail detail);

  // How many are watching, and how many were one too many.
  size_t watchers() const;
  int64_t refused() const;

  // Ends all watches with UNAVAILABLE and the thread. May be called again.
  void Stop();

 private:
  class Watcher;
  struct State;

  void Pump();

  SnapshotPublisher* const publisher_;
  const std::shared_ptr<State> state_;
  SnapshotPublisher::ListenerId listener_ = 0;
  std::thread pump_;
};

// A stream that ends at once with `status`.
grpc::ServerWriteReactor<queueing::v1::SnapshotChange>* RefusedWatch(const absl::Status& status);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_SNAPSHOT_FEED_H_
