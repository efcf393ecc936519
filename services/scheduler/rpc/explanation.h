#ifndef SERVICES_SCHEDULER_RPC_EXPLANATION_H_
#define SERVICES_SCHEDULER_RPC_EXPLANATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/api/object_key.h"
#include "proto/queueing/v1/scheduler.pb.h"
#include "services/scheduler/core/snapshot.h"

// Why a unit waits, worked out from one picture: where it stands, what it lacks
// at each level of the quota tree, and what would end the wait. Pure functions.
namespace kq::scheduler {

struct ExplainOptions {
  // The rate by which limits are exceeded on purpose, as the admission policy has it.
  double oversell = 1;
};

// kNotFound: the picture has no unfinished unit of that name.
//
// The levels go from the unit's quota to the last ancestor that exists. short_by
// of a level is what would have to become free there for the unit alone: the hard
// limit, and above the unit's own quota also what is kept back for branches that
// do not lend. It is told for waiting units only. A unit that a quota refused waits for
// what the policy told first, and then for whatever else is short.
absl::StatusOr<queueing::v1::Explanation> Explain(const Snapshot& snapshot, const ObjectKey& unit,
                                                  const ExplainOptions& options);

// The event that ends the wait of a unit, as a phrase to follow "waits for"; empty if
// it waits for nothing.
std::string WaitsFor(const UnitSnapshot& unit);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_EXPLANATION_H_
