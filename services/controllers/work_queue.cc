#include "services/controllers/work_queue.h"

#include <algorithm>
#include <utility>

namespace kq::controllers {

WorkQueue::WorkQueue(WorkQueueOptions options, const Clock* clock) : options_(std::move(options)), clock_(clock) {
  MutexLock lock(&mu_);
  if (options_.retries_per_second > 0) retry_rate_.emplace(options_.retries_per_second, options_.retry_burst);
}

void WorkQueue::Add(const ObjectKey& key) {
  MutexLock lock(&mu_);
  ++adds_;
  AddLocked(key, clock_->TimeNow());
}

void WorkQueue::AddAfter(const ObjectKey& key, absl::Duration delay) {
  MutexLock lock(&mu_);
  if (delay <= absl::ZeroDuration()) {
    AddLocked(key, clock_->TimeNow());
  } else {
    WaitLocked(key, clock_->TimeNow() + delay);
  }
}

void WorkQueue::Retry(const ObjectKey& key, absl::Duration at_least) {
  MutexLock lock(&mu_);
  ++retries_;
  const absl::Time now = clock_->TimeNow();
  // A fixed sequence serves: it only has to differ from key to key.
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  const double jitter = static_cast<double>(random_ >> 11) / static_cast<double>(uint64_t{1} << 53);
  absl::Duration delay = options_.backoff.Delay(failures_[key]++, jitter);
  if (retry_rate_.has_value()) delay = std::max(delay, retry_rate_->Reserve(now));
  WaitLocked(key, now + std::max(delay, at_least));
}

void WorkQueue::Forget(const ObjectKey& key) {
  MutexLock lock(&mu_);
  failures_.erase(key);
}

std::optional<ObjectKey> WorkQueue::Take(absl::Duration timeout) {
  MutexLock lock(&mu_);
  const absl::Time deadline = clock_->TimeNow() + timeout;
  while (!stopped_) {
    const absl::Time now = clock_->TimeNow();
    WakeDueLocked(now);
    if (!ready_.empty()) {
      ObjectKey key = std::move(ready_.front());
      ready_.pop_front();
      const auto wanted = wanted_.find(key);
      if (options_.observe_wait != nullptr) options_.observe_wait(now - wanted->second);
      wanted_.erase(wanted);
      taken_.insert(key);
      PassOnLocked();
      return key;
    }
    if (now >= deadline) break;
    WaitForWorkLocked(now, deadline);
  }
  PassOnLocked();
  return std::nullopt;
}

void WorkQueue::Done(const ObjectKey& key) {
  MutexLock lock(&mu_);
  taken_.erase(key);
  if (taken_.empty()) all_done_.SignalAll();
  if (!wanted_.contains(key)) return;
  ready_.push_back(key);
  changed_.Signal();
}

void WorkQueue::Stop() {
  MutexLock lock(&mu_);
  stopped_ = true;
  changed_.SignalAll();
}

bool WorkQueue::Stopped() const {
  MutexLock lock(&mu_);
  return stopped_;
}

bool WorkQueue::WaitIdle(absl::Time deadline) {
  MutexLock lock(&mu_);
  while (!taken_.empty()) {
    const absl::Duration left = deadline - clock_->TimeNow();
    if (left <= absl::ZeroDuration()) return false;
    all_done_.WaitFor(&mu_, left);
  }
  return true;
}

absl::Time WorkQueue::NextDue() const {
  MutexLock lock(&mu_);
  if (!ready_.empty()) return absl::InfinitePast();
  return waiting_.empty() ? absl::InfiniteFuture() : waiting_.begin()->first;
}

WorkQueue::Totals WorkQueue::Now() const {
  MutexLock lock(&mu_);
  Totals totals;
  totals.ready = static_cast<int64_t>(ready_.size());
  totals.waiting = static_cast<int64_t>(waiting_.size());
  totals.taken = static_cast<int64_t>(taken_.size());
  totals.adds = adds_;
  totals.retries = retries_;
  return totals;
}

void WorkQueue::AddLocked(const ObjectKey& key, absl::Time since) {
  if (!wanted_.emplace(key, since).second) return;
  if (taken_.contains(key)) return;  // Done brings it back
  ready_.push_back(key);
  changed_.Signal();
}

void WorkQueue::WaitLocked(const ObjectKey& key, absl::Time until) {
  const auto [at, is_new] = due_.try_emplace(key, until);
  if (!is_new) {
    if (at->second <= until) return;
    waiting_.erase({at->second, key});
    at->second = until;
  }
  waiting_.emplace(until, key);
  if (waiting_.begin()->first < until) return;
  // It is the next one now, and whoever is woken waits for it.
  timekeeper_ = 0;
  changed_.Signal();
}

void WorkQueue::WakeDueLocked(absl::Time now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const auto [due, key] = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    due_.erase(key);
    AddLocked(key, due);
  }
}

void WorkQueue::WaitForWorkLocked(absl::Time now, absl::Time until) {
  if (waiting_.empty() || timekeeper_ != 0) {
    changed_.WaitFor(&mu_, until - now);
    return;
  }
  const uint64_t me = ++timekeepers_;
  timekeeper_ = me;
  changed_.WaitFor(&mu_, std::min(until, waiting_.begin()->first) - now);
  if (timekeeper_ == me) timekeeper_ = 0;
}

void WorkQueue::PassOnLocked() {
  if (!ready_.empty() || (!waiting_.empty() && timekeeper_ == 0)) changed_.Signal();
}

}  // namespace kq::controllers
