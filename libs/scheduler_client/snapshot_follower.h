#ifndef LIBS_SCHEDULER_CLIENT_SNAPSHOT_FOLLOWER_H_
#define LIBS_SCHEDULER_CLIENT_SNAPSHOT_FOLLOWER_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/common/stop_signal.h"
#include "libs/scheduler_client/call_canceller.h"
#include "libs/scheduler_client/connection_options.h"
#include "libs/scheduler_client/picture.h"
#include "proto/queueing/v1/scheduler.pb.h"

namespace kq {

// Follows the scheduler that leads, for ever: finds it, watches it, and when the
// watch ends looks for it again, after a delay that grows to a few seconds while
// none is found. What was seen last is kept meanwhile; `heard` says how old it is.
//
//   SnapshotFollower follower(options, &Clock::Real());
//   std::thread thread([&] { follower.Run(); });
//   ...
//   follower.Stop();
//   thread.join();
//
// A leader gives a sign of life every two seconds, and a peer that is gone without
// a word is noticed within some ten. Thread-safe.
class SnapshotFollower : public PictureSource {
 public:
  // `clock` tells when something was heard, and must outlive the follower.
  SnapshotFollower(SchedulerConnectionOptions options, const Clock* clock);

  // Returns after Stop. To be called once.
  void Run();
  void Stop();

  Following Look() const override;

 private:
  // Until the watch ends; says why.
  absl::Status FollowOnce();
  absl::Status Take(const std::string& server, queueing::v1::SnapshotChange change);

  const SchedulerConnectionOptions options_;
  const Clock* const clock_;
  CallCanceller canceller_;
  StopSignal stop_;

  mutable Mutex mu_;
  Following following_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_SNAPSHOT_FOLLOWER_H_
