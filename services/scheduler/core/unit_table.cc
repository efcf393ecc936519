#include "services/scheduler/core/unit_table.h"

#include <algorithm>
#include <utility>

namespace kq::scheduler {

UnitTable::UnitTable(Guards guards, size_t graves) : guards_(guards), graves_limit_(graves) {}

UnitEntry* UnitTable::Find(const ObjectKey& key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

const UnitEntry* UnitTable::Find(const ObjectKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

UnitTable::Accepted UnitTable::Accept(std::shared_ptr<const QueueUnit> news) {
  const auto found = entries_.find(news->key);
  if (found == entries_.end()) {
    const auto grave = graves_.find(news->key);
    if (guards_.news && grave != graves_.end() && news->version <= grave->second) return {};
    UnitEntry& entry = entries_[news->key];
    entry.unit = std::move(news);
    entry.newest = entry.unit->version;
    entry.attempts = entry.unit->attempts;
    return {&entry, nullptr};
  }
  UnitEntry& entry = found->second;
  if (guards_.news && news->version < entry.newest) return {};
  if (entry.place == Place::kAssumed) {
    // The decision beats the news until its answer is there.
    entry.newest = std::max(entry.newest, news->version);
    entry.stashed = std::move(news);
    return {};
  }
  entry.newest = news->version;
  const bool another = news->uid != entry.unit->uid;
  std::shared_ptr<const QueueUnit> before = std::exchange(entry.unit, std::move(news));
  if (another) {
    // Another object under the same name: nothing of the old one counts.
    entry.why = entry.told = nullptr;
    entry.told_version = 0;
    entry.retold = entry.failed_writes = entry.tell_failures = 0;
    entry.telling = false;
    entry.attempts = 0;
    entry.waiting_since = absl::InfinitePast();
  }
  entry.attempts = std::max(entry.attempts, entry.unit->attempts);
  return {&entry, std::move(before)};
}

bool UnitTable::AcceptsRemoval(const ObjectKey& key, uint64_t version) const {
  const UnitEntry* entry = Find(key);
  if (entry == nullptr) return false;
  return !guards_.removal || version >= entry->newest;
}

void UnitTable::Forget(const ObjectKey& key, uint64_t version) {
  entries_.erase(key);
  uint64_t& grave = graves_[key];
  grave = std::max(grave, version);
  grave_order_.emplace_back(key, grave);
  while (grave_order_.size() > graves_limit_) {
    const auto& [oldest, at] = grave_order_.front();
    const auto found = graves_.find(oldest);
    if (found != graves_.end() && found->second == at) graves_.erase(found);
    grave_order_.pop_front();
  }
}

void UnitTable::Assume(UnitEntry* entry) {
  entry->place = Place::kAssumed;
  entry->assumed_version = entry->unit->version;
  entry->stashed = nullptr;
}

UnitEntry* UnitTable::Answer(const ObjectKey& key, uint64_t based_on) {
  UnitEntry* entry = Find(key);
  if (entry == nullptr || entry->place != Place::kAssumed) return nullptr;
  if (guards_.answer && entry->assumed_version != based_on) return nullptr;
  entry->place = Place::kReady;
  return entry;
}

}  // namespace kq::scheduler
