#ifndef SERVICES_SCHEDULER_CORE_UNIT_TABLE_H_
#define SERVICES_SCHEDULER_CORE_UNIT_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/queue_unit.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/snapshot.h"

namespace kq::scheduler {

// The three guards that make it safe when news (the watch), answers (to our own
// writes) and removals overtake each other. Each is needed: without any one of
// them the simulation finds quota taken twice.
struct Guards {
  bool news = true;     // a unit's version never goes back
  bool answer = true;   // an answer counts only for the decision it belongs to
  bool removal = true;  // a removal older than the newest version seen is ignored
};

// One unit as the core knows it.
struct UnitEntry {
  std::shared_ptr<const QueueUnit> unit;
  uint64_t newest = 0;  // newest version seen, from the watch or from an answer
  Place place = Place::kUnmapped;
  std::string queue;  // that it waits in, or would; empty if unmapped
  absl::Time since;   // in its queue, or in its place, from then on
  absl::Time retry_at = absl::InfinitePast();
  std::shared_ptr<const RefusalDetail> why;  // null: not refused yet
  std::shared_ptr<const RefusalDetail> told;  // the reason last handed out in a Requeue
  int64_t attempts = 0;                      // asks
  int failed_writes = 0;                     // in a row

  // While assumed: the version the decision rested on, and the newest news that
  // came meanwhile.
  uint64_t assumed_version = 0;
  std::shared_ptr<const QueueUnit> stashed;

  bool told_not_found = false;  // QueueNotFound was said since it was last mapped
  bool told_no_label = false;   // MissingQuotaLabel was said for this UID
};

// All units by key, and the version guards.
//
//   news ----> Accept --older than known: dropped
//                |----assumed: stashed, the decision beats the news
//                '----else: the caller places it anew
//   answer --> Answer --not the decision it belongs to: dropped
//                '----else: the assumption ends; stashed news come out
//   removal -> Remove --older than known: dropped
//                '----else: gone; its version is remembered for a while, so that
//                     late news of it do not bring it back
//
// Not thread-safe.
class UnitTable {
 public:
  explicit UnitTable(Guards guards, size_t graves = 20000);

  // Null if unknown.
  UnitEntry* Find(const ObjectKey& key);
  const UnitEntry* Find(const ObjectKey& key) const;

  // News about a unit. Returns its entry if the caller must now place it anew
  // (with unit set to the news and `before` to what was known, null if new);
  // nullptr if the news is old or was stashed.
  struct Accepted {
    UnitEntry* entry = nullptr;
    std::shared_ptr<const QueueUnit> before;
  };
  Accepted Accept(std::shared_ptr<const QueueUnit> news);

  // A removal. True if the unit is to be forgotten now; `gone` is its last entry.
  bool Remove(const ObjectKey& key, absl::string_view uid, uint64_t version, UnitEntry* gone);

  // Marks the unit as assumed; its decision rests on the present version.
  void Assume(UnitEntry* entry);
  // The answer to a decision that rested on `based_on`. Null if it belongs to no
  // assumption of ours. The assumption has ended when it returns.
  UnitEntry* Answer(const ObjectKey& key, absl::string_view uid, uint64_t based_on);

  // In key order, so that walks are the same in every run.
  const std::map<ObjectKey, UnitEntry>& entries() const { return entries_; }
  std::map<ObjectKey, UnitEntry>& entries() { return entries_; }
  size_t size() const { return entries_.size(); }

 private:
  void Bury(const ObjectKey& key, uint64_t version);

  const Guards guards_;
  const size_t graves_limit_;
  std::map<ObjectKey, UnitEntry> entries_;
  // Keys of removed units and the version of their removal; the oldest are forgotten.
  absl::flat_hash_map<ObjectKey, uint64_t> graves_;
  std::deque<std::pair<ObjectKey, uint64_t>> grave_order_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_UNIT_TABLE_H_
