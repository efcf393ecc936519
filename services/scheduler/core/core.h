#ifndef SERVICES_SCHEDULER_CORE_CORE_H_
#define SERVICES_SCHEDULER_CORE_CORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/event.h"
#include "services/scheduler/core/policy.h"
#include "services/scheduler/core/snapshot.h"
#include "services/scheduler/core/unit_table.h"

namespace kq::scheduler {

struct CoreOptions {
  // All policies must outlive the core.
  const QueueSelector* selector = nullptr;
  const OrderPolicy* order = nullptr;
  std::vector<const AdmissionPolicy*> admission;  // asked in order; the first refusal wins

  // A cycle asks at most so many units and goes on in the next turn.
  int asks_per_cycle = 100000;
  // After a write that failed, a unit rests: first, 2*first, ... up to the limit.
  absl::Duration first_rest = absl::Seconds(1);
  absl::Duration rest_limit = absl::Minutes(1);
  // So many Requeues await their answer at most; who else is to be told waits.
  int tells_on_the_way = 2000;
  // The reason in a message is right at once; its numbers are brought up to date at
  // most so often per unit (zero: never), and the messages of all units together at
  // most one per spacing.
  absl::Duration refresh_interval = absl::Minutes(10);
  absl::Duration refresh_spacing = absl::Milliseconds(100);
  // Which version guards are on. Only tests take one away.
  Guards guards;

  // How long to rest after one more failure than `failures` in a row.
  absl::Duration RestAfter(int failures) const;
};

// The scheduler without its surroundings: events go in, decisions come out. It
// does no I/O, reads no clock and starts no thread; the same events at the same
// times give the same decisions.
//
// A turn of the loop is: Apply every event, RunCycle, TakeSnapshot, carry the
// decisions out. Whoever carries out a Dequeue answers it with exactly one
// WriteFinished, a Requeue with one TellFinished, a CreateQueue, UpdateQueue or
// DeleteQueue with one QueueWriteFinished.
//
// Not thread-safe. One thread owns it.
class Core {
 public:
  explicit Core(CoreOptions options);
  ~Core();
  Core(Core&&) noexcept;
  Core& operator=(Core&&) noexcept;

  // `now` must not go backwards from call to call.
  void Apply(const Event& event, absl::Time now);

  // True when every kind has been listed and this process leads. Before that
  // RunCycle decides nothing.
  bool MayDecide() const;
  // Every kind has been listed.
  bool Synced() const;

  // Asks the ready units, queues in order, best unit first, and applies what it
  // decides to its own state.
  std::vector<Decision> RunCycle(absl::Time now);

  // When RunCycle next has something to do without an event; InfiniteFuture if never.
  absl::Time NextWakeup() const;

  // Whether anything changed since the last TakeSnapshot.
  bool Changed() const;
  std::shared_ptr<const Snapshot> TakeSnapshot(absl::Time now);

  // From when the unit waited whose admission `answer` confirms, before it is applied;
  // none if it confirms none that is on its way. For metrics.
  std::optional<absl::Time> WaitedSince(const WriteFinished& answer) const;

  // How many units RunCycle asked so far; for metrics.
  struct AskCount {
    std::string queue;
    bool admitted = false;
    int64_t count = 0;
  };
  int64_t asked() const;
  // Asks per (queue, outcome) of the last cycle.
  const std::vector<AskCount>& last_cycle() const;

  // Every invariant that does not hold, in words; empty if all do. Costs a walk
  // over everything: for tests and the simulation.
  std::vector<std::string> BrokenInvariants() const;

 private:
  friend struct CoreState;
  std::unique_ptr<struct CoreState> state_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_CORE_H_
