#include "services/scheduler/rpc/unit_listing.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/scheduler/rpc/snapshot_proto.h"

namespace kq::scheduler {
namespace {

const QueueSnapshot* FindQueue(const Snapshot& snapshot, const std::string& name) {
  const auto at = std::lower_bound(snapshot.queues.begin(), snapshot.queues.end(), name,
                                   [](const auto& queue, const std::string& n) { return queue->queue.key.name < n; });
  return at != snapshot.queues.end() && (*at)->queue.key.name == name ? at->get() : nullptr;
}

using Names = absl::flat_hash_set<std::string>;

// The quotas whose units are wanted; `quota` alone if it is not there. Of two with one
// name the one in force counts. A cycle of parents is walked once.
Names QuotasOf(const Snapshot& snapshot, const UnitFilter& filter) {
  Names found = {filter.quota};
  if (!filter.below) return found;
  absl::flat_hash_map<std::string, const QuotaSnapshot*> in_force;
  for (const auto& quota : snapshot.quotas) {
    if (!quota->shadowed_by.has_value()) in_force[quota->quota.key.name] = quota.get();
  }
  std::vector<std::string> left = {filter.quota};
  while (!left.empty()) {
    const auto at = in_force.find(left.back());
    left.pop_back();
    if (at == in_force.end()) continue;
    for (const std::string& child : at->second->children) {
      if (found.insert(child).second) left.push_back(child);
    }
  }
  return found;
}

// Whether there is such a quota, or at least a unit that names it.
bool IsKnownQuota(const Snapshot& snapshot, const std::string& name) {
  const auto names_it = [&name](const UnitSnapshot& unit) { return unit.unit->quota == name; };
  return std::any_of(snapshot.quotas.begin(), snapshot.quotas.end(),
                     [&name](const auto& quota) { return quota->quota.key.name == name; }) ||
         std::any_of(
             snapshot.queues.begin(), snapshot.queues.end(),
             [&](const auto& queue) { return std::any_of(queue->waiting.begin(), queue->waiting.end(), names_it); }) ||
         (snapshot.unplaced != nullptr && std::any_of(snapshot.unplaced->begin(), snapshot.unplaced->end(), names_it));
}

// Collects what passes the filter, each unit once.
class Collection {
 public:
  // `quotas`: those whose units are wanted; null means all.
  Collection(const UnitFilter& filter, const Names* quotas) : filter_(filter), quotas_(quotas) {}

  void Add(const std::vector<UnitSnapshot>& units) {
    for (const UnitSnapshot& unit : units) {
      if (Wanted(unit)) units_.push_back(&unit);
    }
  }
  // Those that hold quota, by key. One that waits for more is already there.
  void AddHolders(const Snapshot& snapshot) {
    absl::flat_hash_set<ObjectKey> seen;
    for (const UnitSnapshot* unit : units_) seen.insert(unit->unit->key);
    const auto first = static_cast<ptrdiff_t>(units_.size());
    for (const auto& quota : snapshot.quotas) {
      if (quotas_ != nullptr && !quotas_->contains(quota->quota.key.name)) continue;
      for (const UnitSnapshot& unit : quota->charged) {
        if (Wanted(unit) && !seen.contains(unit.unit->key)) units_.push_back(&unit);
      }
    }
    std::sort(units_.begin() + first, units_.end(),
              [](const UnitSnapshot* a, const UnitSnapshot* b) { return a->unit->key < b->unit->key; });
  }

  UnitPage Page() const {
    UnitPage page;
    page.total = static_cast<int64_t>(units_.size());
    const int64_t begin = std::min(filter_.offset, page.total);
    const int64_t count = filter_.limit == 0 ? page.total - begin : std::min(filter_.limit, page.total - begin);
    page.units.assign(units_.begin() + begin, units_.begin() + begin + count);
    page.remaining = page.total - begin - count;
    return page;
  }

 private:
  bool Wanted(const UnitSnapshot& unit) const {
    return unit.place != Place::kFinished && (quotas_ == nullptr || quotas_->contains(unit.unit->quota)) &&
           (filter_.ns.empty() || unit.unit->key.ns == filter_.ns) &&
           (filter_.phase.empty() || ShownPhase(*unit.unit) == filter_.phase);
  }

  const UnitFilter& filter_;
  const Names* const quotas_;
  std::vector<const UnitSnapshot*> units_;
};

}  // namespace

absl::StatusOr<UnitPage> ListUnits(const Snapshot& snapshot, const UnitFilter& filter) {
  if (filter.offset < 0) return absl::InvalidArgumentError(absl::StrCat("offset: ", filter.offset, " is negative"));
  if (filter.limit < 0) return absl::InvalidArgumentError(absl::StrCat("limit: ", filter.limit, " is negative"));
  if (!filter.queue.empty() && !filter.quota.empty()) {
    return absl::InvalidArgumentError("queue and quota: at most one of the two may be given");
  }
  if (!filter.quota.empty() && !IsKnownQuota(snapshot, filter.quota)) {
    return absl::NotFoundError(absl::StrCat("quota ", filter.quota, " not found"));
  }
  const Names quotas = QuotasOf(snapshot, filter);
  Collection collection(filter, filter.quota.empty() ? nullptr : &quotas);
  if (!filter.queue.empty()) {
    const QueueSnapshot* queue = FindQueue(snapshot, filter.queue);
    if (queue == nullptr) return absl::NotFoundError(absl::StrCat("queue ", filter.queue, " not found"));
    collection.Add(queue->waiting);
    return collection.Page();
  }
  for (const auto& queue : snapshot.queues) collection.Add(queue->waiting);
  if (snapshot.unplaced != nullptr) collection.Add(*snapshot.unplaced);
  collection.AddHolders(snapshot);
  return collection.Page();
}

FoundUnit FindUnit(const Snapshot& snapshot, const ObjectKey& key) {
  const auto find = [&key](const std::vector<UnitSnapshot>& units) -> const UnitSnapshot* {
    for (const UnitSnapshot& unit : units) {
      if (unit.unit->key == key) return &unit;
    }
    return nullptr;
  };
  for (const auto& queue : snapshot.queues) {
    if (const UnitSnapshot* unit = find(queue->waiting); unit != nullptr) return {unit, queue.get()};
  }
  if (snapshot.unplaced != nullptr) {
    if (const UnitSnapshot* unit = find(*snapshot.unplaced); unit != nullptr) return {unit, nullptr};
  }
  for (const auto& quota : snapshot.quotas) {
    if (const UnitSnapshot* unit = find(quota->charged); unit != nullptr) return {unit, nullptr};
  }
  return {};
}

}  // namespace kq::scheduler
