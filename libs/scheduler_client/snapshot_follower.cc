#include "libs/scheduler_client/snapshot_follower.h"

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "libs/common/backoff.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"
#include "libs/scheduler_client/client.h"
#include "libs/scheduler_client/picture_change.h"

namespace kq {
namespace {

namespace v1 = queueing::v1;

// Short at first, since the next leader is there within a second of a clean stop; never
// long, since nobody is to wait for its picture longer than for the leader itself.
constexpr Backoff kBetweenTries = {absl::Milliseconds(200), absl::Milliseconds(500), 0.2};

}  // namespace

SnapshotFollower::SnapshotFollower(SchedulerConnectionOptions options, const Clock* clock)
    : options_(std::move(options)), clock_(clock) {}

Following SnapshotFollower::Look() const {
  MutexLock lock(&mu_);
  return following_;
}

void SnapshotFollower::Run() {
  std::mt19937_64 random{std::random_device{}()};
  std::uniform_real_distribution<double> share(0, 1);
  int attempt = 0;
  do {
    const absl::Status ended = FollowOnce();
    bool followed = false;
    {
      MutexLock lock(&mu_);
      if (stop_.stopped()) break;
      followed = following_.connection.ok();
      following_.connection = ended;
    }
    if (followed || attempt == 0) KQ_LOG(Warning, "No leading scheduler is followed", {{"err", ended}});
    attempt = followed ? 0 : attempt + 1;
  } while (stop_.WaitFor(kBetweenTries.Delay(attempt, share(random))));
  MutexLock lock(&mu_);
  following_.connection = absl::UnavailableError("it is no longer followed: this process stops");
}

void SnapshotFollower::Stop() {
  stop_.Stop();
  canceller_.Cancel();
}

absl::Status SnapshotFollower::FollowOnce() {
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client, SchedulerClient::Connect(options_, &canceller_));
  return client->WatchChanges({}, [&](v1::SnapshotChange change) { return Take(client->server(), std::move(change)); });
}

absl::Status SnapshotFollower::Take(const std::string& server, v1::SnapshotChange change) {
  // Only this thread changes the picture, so it may be made without the lock.
  const Following before = Look();
  KQ_ASSIGN_OR_RETURN(std::shared_ptr<const Picture> picture, ApplyChange(before.picture, std::move(change)));
  if (!before.connection.ok()) KQ_LOG(Info, "Follows the leading scheduler", {{"server", server}});
  MutexLock lock(&mu_);
  following_ = {std::move(picture), clock_->TimeNow(), absl::OkStatus(), server};
  return absl::OkStatus();
}

}  // namespace kq
