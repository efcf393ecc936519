#include "services/scheduler/runtime/decision_ring.h"

#include <algorithm>
#include <utility>

namespace kq::scheduler {

DecisionRing::DecisionRing(size_t limit) : limit_(std::max<size_t>(limit, 1)) {}

void DecisionRing::Record(const Turn& turn) {
  if (turn.decisions == nullptr || turn.decisions->empty()) return;
  std::vector<Entry> old;  // freed after the lock
  MutexLock lock(&mu_);
  kept_ += turn.decisions->size();
  const uint64_t first = next_;
  next_ += turn.decisions->size();
  entries_.push_back({first, turn.now, turn.decisions});
  while (kept_ - entries_.front().decisions->size() >= limit_) {
    kept_ -= entries_.front().decisions->size();
    old.push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
}

std::vector<DecisionRing::Entry> DecisionRing::Entries() const {
  MutexLock lock(&mu_);
  return {entries_.begin(), entries_.end()};
}

}  // namespace kq::scheduler
