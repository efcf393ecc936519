#ifndef SERVICES_SCHEDULER_CORE_UNIT_TABLE_H_
#define SERVICES_SCHEDULER_CORE_UNIT_TABLE_H_

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
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

struct UnitEntry;
// What parked units wait for, and up to which use of the resource they fit. See parking_lot.h.
struct ParkingCause {
  std::string quota;
  std::string resource;
  Refusal refusal = Refusal::kNone;
  int64_t fits_up_to = 0;
  friend auto operator<=>(const ParkingCause&, const ParkingCause&) = default;
};
using ParkedUnits = std::map<ParkingCause, std::vector<UnitEntry*>>;

// One unit as the core knows it.
struct UnitEntry {
  std::shared_ptr<const QueueUnit> unit;
  uint64_t newest = 0;  // newest version seen, from the watch or from an answer
  Place place = Place::kUnmapped;
  std::string queue;                        // that it waits in, or would; empty if unmapped
  absl::Time since = absl::InfinitePast();  // in its queue, or in its place, from then on
  // From when it lacks what it asks for, kept until that is admitted or no longer
  // asked for; the one truth of all readers and metrics. The order in a queue does
  // not look at it. InfinitePast: waits for nothing.
  //   never admitted   its creation
  //   put back         when QuotaReserved, Admitted or Evicted became False. Without
  //                    conditions what the object first says here: lastUpdateTime,
  //                    not before lastAllocateTime. Later messages do not move it
  //   wants more       when this process first saw it: nothing on the object tells. A
  //                    replica that follows sees it too; after a cold start the wait
  //                    begins anew, for lastAllocateTime would count all the time that
  //                    the job ran
  absl::Time waiting_since = absl::InfinitePast();
  bool waits_for_rest = false;  // holds something, wants more
  absl::Time retry_at = absl::InfinitePast();
  std::shared_ptr<const RefusalDetail> why;  // null: not refused yet
  int64_t attempts = 0;                      // asks
  int failed_writes = 0;                     // in a row

  // What the object was last told in a Requeue, the version that rested on,
  // whether its answer is awaited, and whether the answer was that it is written.
  std::shared_ptr<const RefusalDetail> told;
  uint64_t told_version = 0;
  bool telling = false;
  bool tell_written = false;
  int retold = 0;                                          // how often the same was told again because it was gone
  int tell_failures = 0;                                   // in a row
  absl::Time tell_at = absl::InfinitePast();               // not before
  std::optional<std::list<UnitEntry*>::iterator> to_tell;  // where it waits to be told
  absl::Time refresh_at = absl::InfinitePast();            // its message has old numbers; written anew then

  // While assumed: the version the decision rested on, and the newest news that
  // came meanwhile.
  uint64_t assumed_version = 0;
  std::shared_ptr<const QueueUnit> stashed;

  std::optional<std::string> held_under;  // the quota that lists it as a holder

  // Where it is linked in; kept by PendingQueue and ParkingLot alone.
  std::shared_ptr<const QueueUnit> lined;  // the value that its queue has ordered it by
  std::optional<ParkedUnits::iterator> lot;
  size_t lot_index = 0;
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
  // Remembers the removals of `graves` units.
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

  // Whether a removal counts: the caller then takes the unit out of every
  // structure and calls Forget.
  bool AcceptsRemoval(const ObjectKey& key, uint64_t version) const;
  // Forgets a unit; news of it up to `version` will be ignored.
  void Forget(const ObjectKey& key, uint64_t version);

  // Marks the unit as assumed; the decision rests on the present version.
  void Assume(UnitEntry* entry);
  // The answer to a decision that rested on `based_on`. Null if it belongs to no
  // assumption of ours. When it returns, the assumption has ended and the stashed
  // news, if any, are left in the entry for the caller.
  UnitEntry* Answer(const ObjectKey& key, uint64_t based_on);

  // In no order: for sums and checks, never for decisions.
  const absl::node_hash_map<ObjectKey, UnitEntry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }

 private:
  const Guards guards_;
  const size_t graves_limit_;
  absl::node_hash_map<ObjectKey, UnitEntry> entries_;  // addresses are stable
  // Keys of removed units and the version of their removal; the oldest are forgotten.
  absl::flat_hash_map<ObjectKey, uint64_t> graves_;
  std::deque<std::pair<ObjectKey, uint64_t>> grave_order_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_UNIT_TABLE_H_
