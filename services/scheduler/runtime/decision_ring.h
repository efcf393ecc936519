#ifndef SERVICES_SCHEDULER_RUNTIME_DECISION_RING_H_
#define SERVICES_SCHEDULER_RUNTIME_DECISION_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/runtime/turn.h"

namespace kq::scheduler {

// The newest decisions, in memory, for those who ask what was decided lately.
// Shares them with the turn they come from. Thread-safe.
class DecisionRing : public TurnRecorder {
 public:
  // Keeps whole turns, as few as hold at least `limit` decisions.
  explicit DecisionRing(size_t limit);

  void Record(const Turn& turn) override;

  // The decisions of one turn; `first` is the number of its first one, counted
  // from 1 since the start.
  struct Entry {
    uint64_t first = 0;
    absl::Time now;
    std::shared_ptr<const std::vector<Decision>> decisions;
  };
  // Oldest first.
  std::vector<Entry> Entries() const;

 private:
  const size_t limit_;
  mutable Mutex mu_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
  size_t kept_ ABSL_GUARDED_BY(mu_) = 0;  // decisions in entries_
  uint64_t next_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_DECISION_RING_H_
