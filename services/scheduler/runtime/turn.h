#ifndef SERVICES_SCHEDULER_RUNTIME_TURN_H_
#define SERVICES_SCHEDULER_RUNTIME_TURN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/event.h"

// What the loop hands to those around it, turn by turn.
namespace kq::scheduler {

// One turn: the events that the core was given, and the decisions of the cycle
// that followed. Cheap to copy.
struct Turn {
  absl::Time now;
  std::shared_ptr<const std::vector<Event>> events;        // never null
  bool cycled = false;                                     // RunCycle was called; not while the picture is incomplete
  int64_t asked = 0;                                       // units asked in the cycle
  std::shared_ptr<const std::vector<Decision>> decisions;  // null or empty: none
};

// Carries decisions out. Submit is called from the decision thread and does not block.
class DecisionSink {
 public:
  virtual ~DecisionSink() = default;
  virtual void Submit(const Decision& decision) = 0;
};

// Keeps a record of turns. Called from the decision thread; does not block.
class TurnRecorder {
 public:
  virtual ~TurnRecorder() = default;
  virtual void Record(const Turn& turn) = 0;
};

// How long the parts of a turn took.
struct TurnTimes {
  absl::Duration apply, cycle, snapshot, submit;

  absl::Duration Total() const { return apply + cycle + snapshot + submit; }
};

// Is told what happens, for metrics. Called from the decision thread.
class TurnObserver {
 public:
  virtual ~TurnObserver() = default;
  // Before the core is given `event`.
  virtual void OnEvent(const Event& event) = 0;
  // The API server has confirmed an admission, of a unit that waited from `since` on.
  virtual void OnAdmitted(absl::Time since, absl::Time now) = 0;
  // After a turn. `asks` counts the units asked by queue and outcome.
  virtual void OnTurn(const Turn& turn, const TurnTimes& times, const std::vector<Core::AskCount>& asks) = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_TURN_H_
