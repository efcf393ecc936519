#ifndef SERVICES_SCHEDULER_RPC_UNIT_LISTING_H_
#define SERVICES_SCHEDULER_RPC_UNIT_LISTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/api/object_key.h"
#include "services/scheduler/core/snapshot.h"

// Finding units in a picture. Pure functions; what they return points into the
// picture and is valid as long as it is.
namespace kq::scheduler {

// Which units, and which page of them.
struct UnitFilter {
  // At most one of the two. A queue: the units that wait in it. A quota (bare
  // name): its units that are not finished. Neither: all that are not finished.
  std::string queue;
  std::string quota;
  std::string phase;  // exact, as shown ("Enqueued" for none); empty: any
  std::string ns;     // empty: any
  int64_t offset = 0;
  int64_t limit = 0;   // 0: all
  bool below = false;  // also the units of the quotas below `quota`
};

struct UnitPage {
  // Waiting ones in the order of their queue, queues by name; then those that wait
  // in no queue, by key; then those that hold quota, by key. Each once.
  std::vector<const UnitSnapshot*> units;
  int64_t total = 0;      // after filtering, before offset and limit
  int64_t remaining = 0;  // after the last one of the page
};

// kInvalidArgument: a negative offset or limit, or both queue and quota.
// kNotFound: no such queue, or neither such a quota nor a unit that names it.
absl::StatusOr<UnitPage> ListUnits(const Snapshot& snapshot, const UnitFilter& filter);

// A unit, and where in the picture it was found; `unit` is null if it is not there.
struct FoundUnit {
  const UnitSnapshot* unit = nullptr;
  const QueueSnapshot* queue = nullptr;  // that it waits in; else null
};
FoundUnit FindUnit(const Snapshot& snapshot, const ObjectKey& key);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_UNIT_LISTING_H_
