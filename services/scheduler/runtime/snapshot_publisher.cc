#include "services/scheduler/runtime/snapshot_publisher.h"

#include <chrono>
#include <utility>
#include <vector>

namespace kq::scheduler {

void SnapshotPublisher::Publish(std::shared_ptr<const Snapshot> snapshot) {
  std::vector<std::shared_ptr<const std::function<void()>>> listeners;
  {
    MutexLock lock(&mu_);
    latest_.swap(snapshot);
    listeners.reserve(listeners_.size());
    for (const auto& [id, listener] : listeners_) listeners.push_back(listener);
    published_.SignalAll();
  }
  // The picture before, if nobody else holds it, is taken down here and not under the lock.
  snapshot.reset();
  for (const auto& listener : listeners) (*listener)();
}

std::shared_ptr<const Snapshot> SnapshotPublisher::Latest() const {
  MutexLock lock(&mu_);
  return latest_;
}

std::shared_ptr<const Snapshot> SnapshotPublisher::AwaitNewer(uint64_t seen, absl::Duration timeout) const {
  // A steady clock: a jump of the wall clock must not lengthen the wait.
  const auto start = std::chrono::steady_clock::now();
  MutexLock lock(&mu_);
  while (latest_ == nullptr || latest_->revision == seen) {
    const absl::Duration left = timeout - absl::FromChrono(std::chrono::steady_clock::now() - start);
    if (left <= absl::ZeroDuration()) break;
    published_.WaitFor(&mu_, left);
  }
  return latest_;
}

SnapshotPublisher::ListenerId SnapshotPublisher::AddListener(std::function<void()> listener) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(listener));
  MutexLock lock(&mu_);
  listeners_[next_id_] = std::move(shared);
  return next_id_++;
}

void SnapshotPublisher::RemoveListener(ListenerId id) {
  std::shared_ptr<const std::function<void()>> removed;
  MutexLock lock(&mu_);
  const auto at = listeners_.find(id);
  if (at == listeners_.end()) return;
  removed = std::move(at->second);
  listeners_.erase(at);
}

}  // namespace kq::scheduler
