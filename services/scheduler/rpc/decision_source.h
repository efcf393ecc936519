#ifndef SERVICES_SCHEDULER_RPC_DECISION_SOURCE_H_
#define SERVICES_SCHEDULER_RPC_DECISION_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "services/scheduler/core/decision.h"

namespace kq::scheduler {

// The decisions of one turn of the core.
struct DecidedTurn {
  uint64_t first = 0;  // number of its first decision, counted from 1 since the start
  absl::Time now;
  std::shared_ptr<const std::vector<Decision>> decisions;
};

// The newest decisions, as far as they are kept in memory. Implemented over the
// ring that records them. Thread-safe.
class DecisionSource {
 public:
  virtual ~DecisionSource() = default;
  // Oldest first, without gaps.
  virtual std::vector<DecidedTurn> Turns() const = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_DECISION_SOURCE_H_
