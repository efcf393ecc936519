#include "services/scheduler/core/pending_queue.h"

namespace kq::scheduler {
namespace {

// A unit that may be asked although it is not ready: it only waited for the unit
// before it.
bool WaitsBehindHead(const UnitEntry& entry) {
  return entry.place == Place::kParked && entry.why != nullptr && entry.why->refusal == Refusal::kBehindHead;
}

}  // namespace

PendingQueue::PendingQueue(const OrderPolicy* order) : order_(order), line_(Before{order}), ready_(Before{order}) {}

void PendingQueue::SetPolicy(Policy policy) {
  policy_ = policy;
  by_quota_.clear();
  if (policy_ != Policy::kBlock) return;
  for (UnitEntry* entry : line_) by_quota_.try_emplace(entry->lined->quota, Before{order_}).first->second.insert(entry);
}

void PendingQueue::Add(UnitEntry* entry) {
  entry->lined = entry->unit;
  entry->place = Place::kReady;
  line_.insert(entry);
  ready_.insert(entry);
  if (policy_ == Policy::kBlock) by_quota_.try_emplace(entry->lined->quota, Before{order_}).first->second.insert(entry);
}

void PendingQueue::Remove(UnitEntry* entry) {
  line_.erase(entry);
  LeaveReady(entry);
  if (policy_ == Policy::kBlock) {
    const auto line = by_quota_.find(entry->lined->quota);
    if (line != by_quota_.end() && line->second.erase(entry) > 0 && line->second.empty()) by_quota_.erase(line);
  }
  entry->lined = nullptr;
}

void PendingQueue::MakeReady(UnitEntry* entry) {
  entry->place = Place::kReady;
  ready_.insert(entry);
}

void PendingQueue::LeaveReady(UnitEntry* entry) {
  // Who was asked is the first: found without a comparison.
  if (!ready_.empty() && *ready_.begin() == entry) {
    ready_.erase(ready_.begin());
  } else {
    ready_.erase(entry);
  }
}

UnitEntry* PendingQueue::NextToAsk() const {
  if (policy_ == Policy::kPriority) return ready_.empty() ? nullptr : *ready_.begin();
  for (const auto& [quota, line] : by_quota_) {
    UnitEntry* head = *line.begin();
    if (head->place == Place::kReady || WaitsBehindHead(*head)) return head;
  }
  return nullptr;
}

std::vector<UnitEntry*> PendingQueue::BehindHeads() const {
  if (policy_ != Policy::kBlock) return {};
  return std::vector<UnitEntry*>(ready_.begin(), ready_.end());
}

const UnitEntry* PendingQueue::HeadOf(const std::string& quota) const {
  const auto line = by_quota_.find(quota);
  return line == by_quota_.end() ? nullptr : *line->second.begin();
}

std::vector<UnitEntry*> PendingQueue::Line() const { return std::vector<UnitEntry*>(line_.begin(), line_.end()); }

}  // namespace kq::scheduler
