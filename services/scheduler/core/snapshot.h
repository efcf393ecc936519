#ifndef SERVICES_SCHEDULER_CORE_SNAPSHOT_H_
#define SERVICES_SCHEDULER_CORE_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"
#include "libs/api/resources.h"
#include "services/scheduler/core/decision.h"

// An immutable picture of the core, for readers in other threads. Parts that did
// not change since the picture before are shared with it.
namespace kq::scheduler {

// Where a unit is. Exactly one of these at any time; the picture of who moves it
// is in unit_table.h.
enum class Place {
  kUnmapped,  // no quota label, or no such queue
  kInvalid,   // could not be understood
  kInactive,  // spec.active is false
  kReady,     // may be tried now
  kResting,   // may be tried from retry_at on
  kParked,    // waits for something to change
  kAssumed,   // admitted, the write is on its way
  kAdmitted,  // holds quota, waits for nothing
  kDraining,  // holds quota in a phase that waits for its pods to go
  kFinished,
};

absl::string_view PlaceName(Place place);  // "parked"

struct UnitSnapshot {
  std::shared_ptr<const QueueUnit> unit;
  Place place = Place::kReady;
  int64_t position = 0;                      // 1-based in the order of its queue; 0 if it does not wait in one
  std::shared_ptr<const RefusalDetail> why;  // null: not refused yet
  absl::Time since;                          // waits (see UnitEntry::waiting_since), or is in its place, from then on
  absl::Time retry_at;                       // of a resting unit
  int64_t attempts = 0;                      // asks, including those not yet written to the object
};

struct QueueSnapshot {
  Queue queue;
  std::string policy;                 // in force; the object may name another, which is refused. Empty: none ever was
  std::vector<UnitSnapshot> waiting;  // in the order in which they would be tried
  int64_t ready = 0, resting = 0, parked = 0, assumed = 0;
  std::string trouble;          // what is wrong with it, for people; it may admit all the same
  bool admits_nothing = false;  // whatever room there is
};

struct QuotaSnapshot {
  Quota quota;
  Resources used;                        // by units of it and of its descendants
  Resources self_used;                   // by its own units
  Resources children_used;               // used - self_used
  Resources guaranteed_used;             // the part of used within min
  Resources self_guaranteed_used;        // the part of self_used within min
  Resources children_guaranteed_used;    // the rest of guaranteed_used
  std::vector<std::string> children;     // bare names, in order
  std::vector<UnitSnapshot> charged;     // its own units that hold quota, by key
  std::string trouble;                   // why it admits nothing: conflict, cycle, missing parent, invalid
  std::optional<ObjectKey> shadowed_by;  // the older quota of its name that is in force in its place
  std::string warning;                   // what should be mended although it admits
};

struct Snapshot {
  std::string epoch;      // the leadership; revisions are compared only within one
  uint64_t revision = 0;  // counts pictures
  absl::Time as_of;
  bool synced = false;                                       // all kinds have been listed
  std::vector<std::shared_ptr<const QueueSnapshot>> queues;  // by name
  std::vector<std::shared_ptr<const QuotaSnapshot>> quotas;  // by key; every ElasticQuota
  // Units in no queue's and no quota's picture: unmapped, invalid, inactive, or
  // holding a quota that is not there; by key.
  std::shared_ptr<const std::vector<UnitSnapshot>> unplaced;
  // Unfinished and finished units by (namespace, job kind).
  std::shared_ptr<const std::map<std::pair<std::string, std::string>, int64_t>> units_by_type;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_SNAPSHOT_H_
