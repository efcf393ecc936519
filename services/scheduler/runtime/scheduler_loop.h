#ifndef SERVICES_SCHEDULER_RUNTIME_SCHEDULER_LOOP_H_
#define SERVICES_SCHEDULER_RUNTIME_SCHEDULER_LOOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/runtime/event_mailbox.h"
#include "services/scheduler/runtime/snapshot_publisher.h"
#include "services/scheduler/runtime/turn.h"

namespace kq::scheduler {

struct SchedulerLoopOptions {
  // The loop turns at least so often, also when nothing happens, so that its
  // liveness can be seen. Such a turn changes nothing.
  absl::Duration idle_limit = absl::Seconds(2);
  // A turn that took longer is logged and counted.
  absl::Duration turn_limit = absl::Seconds(1);
  // The part of the time that pictures may take, from more than 0 to 1 (no limit).
  // Where each is expensive, as with one queue of 100 000 units, and each turn would
  // make one, some turns publish none; what they changed is shown at most a second
  // later.
  double snapshot_share = 1;
  // After each turn check every invariant and abort if one is broken. Costs a
  // walk over everything: for debugging.
  bool check_invariants = false;
  // Called once, from the decision thread, when the first snapshot of this
  // process's leadership has been published.
  std::function<void()> on_leading = [] {};
};

// What the loop works with. All but `recorder`s and `observer`, which may be
// absent, are needed; all must outlive the loop.
struct SchedulerLoopParts {
  Core* core = nullptr;  // owned by the decision thread alone from now on
  EventMailbox* mailbox = nullptr;
  SnapshotPublisher* publisher = nullptr;
  DecisionSink* sink = nullptr;
  const Clock* clock = nullptr;
  TurnObserver* observer = nullptr;
  std::vector<TurnRecorder*> recorders;
};

// Turns the core: drains the mailbox, applies every event, runs a cycle,
// publishes the picture, hands the decisions over. Inside a turn there is one
// time, and it never goes back from turn to turn.
//
// RunTurn in one thread (a simulation calls it directly), the rest from any.
class SchedulerLoop {
 public:
  SchedulerLoop(SchedulerLoopOptions options, SchedulerLoopParts parts);

  // One turn; waits up to `wait_limit` for something to do.
  void RunTurn(absl::Duration wait_limit);

  // Turns until Stop. For the decision thread.
  void Run();
  // No turn begins after it; a running one ends as usual.
  void Stop();

  // When the last turn ended, by the clock; when the loop was made if none did.
  absl::Time LastTurn() const;
  int64_t turns() const { return turns_.load(); }
  int64_t slow_turns() const { return slow_turns_.load(); }

 private:
  // Applies `turn`'s events, decides and publishes.
  void Decide(Turn* turn, TurnTimes* times);
  // Tells the observer of an event that the core is about to be given.
  void Observe(const Event& event, absl::Time now);
  // Takes a picture and publishes it, if there is news and it is time for one.
  // `took` becomes what that cost.
  void Publish(absl::Time now, absl::Duration* took);
  void Finish(const Turn& turn, const TurnTimes& times);
  void CheckInvariants() const;

  const SchedulerLoopOptions options_;
  const SchedulerLoopParts parts_;
  absl::Time last_now_ = absl::InfinitePast();
  bool leading_told_ = false;
  absl::Time next_snapshot_ = absl::InfinitePast();  // none before
  std::atomic<bool> stopped_ = false;
  std::atomic<int64_t> last_turn_nanos_;
  std::atomic<int64_t> turns_ = 0;
  std::atomic<int64_t> slow_turns_ = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_SCHEDULER_LOOP_H_
