#ifndef SERVICES_SCHEDULER_SIM_SIMULATION_H_
#define SERVICES_SCHEDULER_SIM_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "services/scheduler/core/unit_table.h"

namespace kq::scheduler {

struct SimulationOptions {
  uint64_t seed = 1;
  int steps = 2000;
  Guards guards = {};
};

struct SimulationResult {
  std::vector<std::string> violations;  // with the step; empty: every promise was kept
  uint64_t digest = 0;                  // of every decision in order
  int64_t admitted = 0;
  int64_t restarts = 0;
};

// One seed's world: an API server, users, faults and one scheduler process after
// another. Each step does one thing that chance picks: a user acts, the watch
// delivers, a write is made, a turn runs, time passes or jumps back, late writes
// land, the process dies and another one begins.
//
// Checked after every step:
//   (1) each unit is in exactly one place, (2) the ledger is the sum of what its
//   units hold, for each quota and its ancestors; both by Core::BrokenInvariants
//   (3) no limit is exceeded on the server by a decision of ours: checked in the
//   worlds, three of four, whose users exceed none themselves
// and at the end, when the faults have stopped and everything has settled:
//   (4) no assumption is left without its answer
//   (5) a process that begins now has the same books
//   (6) nobody waits who fits, and everybody who waits has been told why
// (7), the same seed gives the same decisions, is for the caller: compare digests.
SimulationResult Simulate(const SimulationOptions& options);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_SIM_SIMULATION_H_
