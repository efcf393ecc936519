#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
namespace {

bool WaitsInLine(Place place) { return place == Place::kReady || place == Place::kResting || place == Place::kParked; }

bool IsUnplaced(Place place) {
  return place == Place::kUnmapped || place == Place::kInvalid || place == Place::kInactive;
}

// What this unit must be charged, by its place and its object.
Resources Owed(const UnitEntry& entry) {
  if (IsFinished(entry.unit->phase)) return {};
  return entry.place == Place::kAssumed ? HeldOnceAdmitted(*entry.unit) : Held(*entry.unit);
}

}  // namespace

std::vector<std::string> Core::BrokenInvariants() const {
  CoreState& state = *state_;
  std::vector<std::string> broken = state.ledger.BrokenInvariants();
  std::set<const UnitEntry*> in_line;
  for (const auto& [name, record] : state.queues) {
    for (const UnitEntry* entry : record.pending.Line()) {
      if (!in_line.insert(entry).second)
        broken.push_back(absl::StrCat(entry->unit->key.ToString(), ": waits in two queues"));
      if (entry->queue != name)
        broken.push_back(absl::StrCat(entry->unit->key.ToString(), ": waits in a queue that is not its own"));
    }
  }
  size_t parked = 0;
  for (const auto& [key, entry] : state.table.entries()) {
    const std::string who = absl::StrCat(key.ToString(), " (", PlaceName(entry.place), ")");
    if (WaitsInLine(entry.place) != in_line.contains(&entry))
      broken.push_back(absl::StrCat(who, ": its place and its line differ"));
    if ((entry.place == Place::kParked) != entry.lot.has_value())
      broken.push_back(absl::StrCat(who, ": its place and the lot differ"));
    if ((entry.place == Place::kResting) != state.resting.contains({entry.retry_at, key})) {
      broken.push_back(absl::StrCat(who, ": its place and the resting ones differ"));
    }
    if (IsUnplaced(entry.place) != state.unplaced.contains(key))
      broken.push_back(absl::StrCat(who, ": its place and the unplaced ones differ"));
    if (entry.refresh_at != absl::InfinitePast() && !state.refreshes.contains({entry.refresh_at, key}))
      broken.push_back(absl::StrCat(who, ": its message is to be refreshed, and never will be"));
    parked += entry.place == Place::kParked ? 1 : 0;
    const auto claim = state.ledger.claims().find(key);
    const Resources charged = claim == state.ledger.claims().end() ? Resources() : claim->second.amount;
    const Resources owed = entry.unit->quota.empty() ? Resources() : Owed(entry);
    if (!Resources::EqualAmounts(charged, owed)) {
      broken.push_back(absl::StrCat(who, ": charged ", charged.DebugString(), ", owes ", owed.DebugString()));
    }
    if (claim != state.ledger.claims().end() && claim->second.quota != entry.unit->quota) {
      broken.push_back(absl::StrCat(who, ": charged to ", claim->second.quota, ", names ", entry.unit->quota));
    }
  }
  if (parked != state.lot.Size()) broken.push_back("the lot holds units that are not parked");
  for (const auto& [key, claim] : state.ledger.claims()) {
    if (state.table.Find(key) == nullptr) broken.push_back(absl::StrCat(key.ToString(), ": charged, but unknown"));
  }
  std::sort(broken.begin(), broken.end());
  return broken;
}

}  // namespace kq::scheduler
