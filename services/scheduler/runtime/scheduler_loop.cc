#include "services/scheduler/runtime/scheduler_loop.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "libs/common/log.h"
#include "services/scheduler/runtime/stopwatch.h"

namespace kq::scheduler {
namespace {

// How long readers may not see what has changed, on account of snapshot_share.
constexpr absl::Duration kLongestBlindness = absl::Seconds(1);

}  // namespace

SchedulerLoop::SchedulerLoop(SchedulerLoopOptions options, SchedulerLoopParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      last_turn_nanos_(absl::ToUnixNanos(parts_.clock->TimeNow())) {}

void SchedulerLoop::RunTurn(absl::Duration wait_limit) {
  absl::Time due = parts_.core->NextWakeup();
  // What was left out by the last turn; before all is listed nothing is published.
  if (parts_.core->Synced() && parts_.core->Changed()) due = std::min(due, next_snapshot_);
  const absl::Duration until_due = due - parts_.clock->TimeNow();
  Turn turn;
  turn.events = std::make_shared<const std::vector<Event>>(
      parts_.mailbox->TakeAll(std::clamp(until_due, absl::ZeroDuration(), wait_limit)));
  turn.now = last_now_ = std::max(last_now_, parts_.clock->TimeNow());

  TurnTimes times;
  Decide(&turn, &times);
  if (options_.check_invariants) CheckInvariants();
  Finish(turn, times);
}

void SchedulerLoop::Decide(Turn* turn, TurnTimes* times) {
  Core& core = *parts_.core;
  Stopwatch watch;
  for (const Event& event : *turn->events) {
    if (parts_.observer != nullptr) Observe(event, turn->now);
    core.Apply(event, turn->now);
  }
  times->apply = watch.Lap();
  if (!core.Synced()) return;  // decide nothing on half a picture

  const int64_t asked_before = core.asked();
  turn->decisions = std::make_shared<const std::vector<Decision>>(core.RunCycle(turn->now));
  turn->cycled = true;
  turn->asked = core.asked() - asked_before;
  times->cycle = watch.Lap();

  Publish(turn->now, &times->snapshot);

  watch.Lap();
  for (const Decision& decision : *turn->decisions) parts_.sink->Submit(decision);
  times->submit = watch.Lap();
}

void SchedulerLoop::Observe(const Event& event, absl::Time now) {
  parts_.observer->OnEvent(event);
  const auto* answer = std::get_if<WriteFinished>(&event);
  if (answer == nullptr) return;
  const std::optional<absl::Time> since = parts_.core->WaitedSince(*answer);
  if (since.has_value()) parts_.observer->OnAdmitted(*since, now);
}

void SchedulerLoop::Publish(absl::Time now, absl::Duration* took) {
  Core& core = *parts_.core;
  if (!core.Changed() || now < next_snapshot_) return;
  Stopwatch watch;
  std::shared_ptr<const Snapshot> snapshot = core.TakeSnapshot(now);
  const bool leads = !snapshot->epoch.empty();
  parts_.publisher->Publish(std::move(snapshot));
  *took = watch.Lap();
  next_snapshot_ = now + std::min(*took * (1 / options_.snapshot_share - 1), kLongestBlindness);
  if (!leads || leading_told_) return;
  leading_told_ = true;
  options_.on_leading();
}

void SchedulerLoop::Finish(const Turn& turn, const TurnTimes& times) {
  if (parts_.observer != nullptr) parts_.observer->OnTurn(turn, times, parts_.core->last_cycle());
  if (times.Total() > options_.turn_limit) {
    ++slow_turns_;
    KQ_LOG(Warning, "A turn took long",
           {{"took", times.Total()}, {"events", turn.events->size()}, {"asked", turn.asked}, {"cycle", times.cycle}});
  }
  const bool happened =
      !turn.events->empty() || turn.asked > 0 || (turn.decisions != nullptr && !turn.decisions->empty());
  if (happened) {
    for (TurnRecorder* recorder : parts_.recorders) recorder->Record(turn);
  }
  ++turns_;
  last_turn_nanos_ = absl::ToUnixNanos(parts_.clock->TimeNow());
}

void SchedulerLoop::CheckInvariants() const {
  const std::vector<std::string> broken = parts_.core->BrokenInvariants();
  if (broken.empty()) return;
  for (const std::string& invariant : broken) KQ_LOG(Error, "Invariant broken", {{"invariant", invariant}});
  std::abort();
}

void SchedulerLoop::Run() {
  while (!stopped_) RunTurn(options_.idle_limit);
}

void SchedulerLoop::Stop() {
  stopped_ = true;
  parts_.mailbox->Wake();
}

absl::Time SchedulerLoop::LastTurn() const { return absl::FromUnixNanos(last_turn_nanos_.load()); }

}  // namespace kq::scheduler
