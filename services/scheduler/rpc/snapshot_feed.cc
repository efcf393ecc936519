#include "services/scheduler/rpc/snapshot_feed.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/grpc_status.h"
#include "libs/common/mutex.h"
#include "services/scheduler/rpc/snapshot_change.h"

namespace kq::scheduler {
namespace {

using Steady = std::chrono::steady_clock;
using queueing::v1::SnapshotChange;

constexpr Steady::time_point kNever = Steady::time_point::max();
// Of the time between two messages to a watcher, making one is at most a fifth.
constexpr int kRestFactor = 4;

absl::Status ShuttingDown() { return absl::UnavailableError("the server is shutting down"); }

class EndedWatch : public grpc::ServerWriteReactor<SnapshotChange> {
 public:
  explicit EndedWatch(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

// What the pump and the watchers share. Outlives the feed as long as gRPC has a
// watcher.
struct SnapshotFeed::State {
  explicit State(SnapshotFeedOptions options) : options(options) {}

  // Wakes the pump.
  void Nudge() {
    MutexLock lock(&mu);
    nudged = true;
    wake.Signal();
  }

  const SnapshotFeedOptions options;
  mutable Mutex mu;
  CondVar wake;
  bool nudged ABSL_GUARDED_BY(mu) = false;
  bool stopped ABSL_GUARDED_BY(mu) = false;
  std::vector<std::shared_ptr<Watcher>> watchers ABSL_GUARDED_BY(mu);
  int64_t refused ABSL_GUARDED_BY(mu) = 0;
};

// One stream. Offer and End are the pump's; the On... are gRPC's.
//
//   idle -- Offer --> writing -- OnWriteDone --> idle
//   idle or writing -- End, OnCancel --> (the write ends) --> finished -- OnDone --> gone
//
// gRPC is never called under the lock: it may call back at once.
class SnapshotFeed::Watcher : public grpc::ServerWriteReactor<SnapshotChange>,
                              public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(std::shared_ptr<State> state, Detail detail) : state_(std::move(state)), detail_(detail) {}

  // gRPC keeps the watcher by a bare pointer until OnDone.
  void Hold() { self_ = shared_from_this(); }

  // Starts a write if it is time for one; returns when to offer again.
  Steady::time_point Offer(const std::shared_ptr<const Snapshot>& newest, Steady::time_point now) {
    {
      MutexLock lock(&mu_);
      if (writing_ || end_.has_value() || newest == nullptr) return kNever;
      const Steady::time_point due = newest == sent_ ? sign_due_ : due_;
      if (now < due) return due;
      writing_ = true;
    }
    message_.Clear();
    if (newest == sent_) {
      ToPictureId(*newest, message_.mutable_id());
    } else {
      ToChange(sent_.get(), *newest, detail_, &message_);
      sent_ = newest;
    }
    const Steady::time_point made = Steady::now();
    const auto interval = absl::ToChronoNanoseconds(state_->options.min_interval);
    due_ = made + std::max<Steady::duration>(interval, kRestFactor * (made - now));
    sign_due_ = made + absl::ToChronoNanoseconds(state_->options.sign_of_life);
    StartWrite(&message_);
    return kNever;
  }

  void End(const absl::Status& status) {
    {
      MutexLock lock(&mu_);
      if (end_.has_value()) return;
      end_ = status;
      if (writing_) return;  // OnWriteDone finishes
    }
    Finish(ToGrpcStatus(status));
  }

  void OnWriteDone(bool ok) override {
    std::optional<absl::Status> end;
    {
      MutexLock lock(&mu_);
      writing_ = false;
      if (!ok && !end_.has_value()) end_ = absl::CancelledError("the client is gone");
      end = end_;
    }
    if (end.has_value()) {
      Finish(ToGrpcStatus(*end));
    } else {
      state_->Nudge();
    }
  }

  void OnCancel() override { End(absl::CancelledError("the client is gone")); }

  void OnDone() override {
    {
      MutexLock lock(&state_->mu);
      auto& all = state_->watchers;
      all.erase(std::remove(all.begin(), all.end(), self_), all.end());
    }
    const std::shared_ptr<Watcher> last = std::move(self_);
  }

 private:
  const std::shared_ptr<State> state_;
  const Detail detail_;
  std::shared_ptr<Watcher> self_;

  Mutex mu_;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // finished, or to be finished

  // The pump's, while no write is on its way.
  std::shared_ptr<const Snapshot> sent_;
  Steady::time_point due_ = Steady::time_point::min();       // of a newer picture
  Steady::time_point sign_due_ = Steady::time_point::min();  // of a sign of life
  SnapshotChange message_;
};

SnapshotFeed::SnapshotFeed(SnapshotPublisher* publisher, SnapshotFeedOptions options)
    : publisher_(publisher), state_(std::make_shared<State>(options)) {
  listener_ = publisher_->AddListener([state = state_] { state->Nudge(); });
  pump_ = std::thread([this] { Pump(); });
}

SnapshotFeed::~SnapshotFeed() { Stop(); }

grpc::ServerWriteReactor<SnapshotChange>* SnapshotFeed::Watch(Detail detail) {
  auto watcher = std::make_shared<Watcher>(state_, detail);
  {
    MutexLock lock(&state_->mu);
    if (state_->stopped) return RefusedWatch(ShuttingDown());
    if (state_->watchers.size() >= state_->options.max_watchers) {
      ++state_->refused;
      return RefusedWatch(
          absl::ResourceExhaustedError(absl::StrCat(state_->watchers.size(), " watches are open, which is the limit")));
    }
    watcher->Hold();
    state_->watchers.push_back(watcher);
  }
  state_->Nudge();
  return watcher.get();
}

size_t SnapshotFeed::watchers() const {
  MutexLock lock(&state_->mu);
  return state_->watchers.size();
}

int64_t SnapshotFeed::refused() const {
  MutexLock lock(&state_->mu);
  return state_->refused;
}

void SnapshotFeed::Stop() {
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    MutexLock lock(&state_->mu);
    if (state_->stopped) return;
    state_->stopped = true;
    watchers = state_->watchers;
    state_->wake.Signal();
  }
  publisher_->RemoveListener(listener_);
  pump_.join();
  for (const auto& watcher : watchers) watcher->End(ShuttingDown());
}

void SnapshotFeed::Pump() {
  Steady::time_point next = kNever;
  while (true) {
    std::vector<std::shared_ptr<Watcher>> watchers;
    {
      MutexLock lock(&state_->mu);
      while (!state_->stopped && !state_->nudged && Steady::now() < next) {
        const absl::Duration left = next == kNever ? absl::InfiniteDuration() : absl::FromChrono(next - Steady::now());
        state_->wake.WaitFor(&state_->mu, left);
      }
      if (state_->stopped) return;
      state_->nudged = false;
      watchers = state_->watchers;
    }
    const std::shared_ptr<const Snapshot> newest = publisher_->Latest();
    next = kNever;
    for (const auto& watcher : watchers) next = std::min(next, watcher->Offer(newest, Steady::now()));
  }
}

grpc::ServerWriteReactor<SnapshotChange>* RefusedWatch(const absl::Status& status) { return new EndedWatch(status); }

}  // namespace kq::scheduler
