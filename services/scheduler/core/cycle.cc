#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
std::vector<Decision> Core::RunCycle(absl::Time now) {
  CoreState& state = *state_;
  state.last_cycle.clear();
  if (!MayDecide()) return {};
  std::vector<Decision> decisions = std::exchange(state.notices, {});

  // 1. Queues follow the quotas.
  state.ReconcileQueues(now, &decisions);
  // 2. Who waited for a time, or for what has changed, is ready again.
  state.WakeResting(now);
  state.WakeParked();
  // 3. Queues in order, best unit first: ask, then admit or park.
  const int64_t limit = state.asked + state.options.asks_per_cycle;
  state.more_to_ask = false;
  for (QueueRecord* queue : state.queue_order) {
    state.AskQueue(queue, now, &decisions);
    if (state.asked >= limit) state.more_to_ask = true;
    if (state.more_to_ask) break;
  }
  // 4. Tell the units that wait in no queue, those whose message was lost, and
  // those whose numbers are old.
  state.TellUnplaced(now, &decisions);
  state.TellAgain(now, &decisions);
  state.RefreshMessages(now, &decisions);
  return decisions;
}

void CoreState::WakeResting(absl::Time now) {
  while (!resting.empty() && resting.begin()->first <= now) MakeReady(table.Find(resting.begin()->second));
}

void CoreState::WakeParked() {
  std::vector<UnitEntry*> woken;
  const std::vector<std::string> loosened = ledger.TakeLoosened();
  if (ledger.TakeReshaped()) {
    woken = lot.WakeAllForQuota();
  } else {
    for (const std::string& quota : loosened) {
      const auto used = [&](const std::string& resource) { return ledger.UsedOf(quota, resource); };
      const std::vector<UnitEntry*> here = lot.WakeAt(quota, used);
      woken.insert(woken.end(), here.begin(), here.end());
    }
  }
  for (UnitEntry* entry : woken) MakeReady(entry);
}

void CoreState::AskQueue(QueueRecord* queue, absl::Time now, std::vector<Decision>* decisions) {
  const int64_t limit = options.asks_per_cycle;
  int64_t here = 0;
  while (UnitEntry* entry = queue->pending.NextToAsk()) {
    if (here++ == limit) return;
    changed = true;
    queue->picture = nullptr;
    const Resources need = Need(*entry->unit);
    Verdict verdict = Ask(entry, *queue, need);
    CountAsk(queue->object.key.name, verdict.ok());
    if (verdict.ok()) {
      decisions->push_back(Admit(entry, queue, need, now));
    } else {
      Refuse(entry, queue, std::move(verdict.refusal), now, decisions);
    }
  }
  ParkBehindHeads(queue, now, decisions);
}

Verdict CoreState::Ask(UnitEntry* entry, const QueueRecord& queue, const Resources& need) {
  ++asked;
  ++entry->attempts;
  if (queue.unusable.refusal != Refusal::kNone) return Verdict{queue.unusable};
  const QuotaPath& path = ledger.PathOf(entry->unit->quota);
  for (const AdmissionPolicy* policy : options.admission) {
    Verdict verdict = policy->Check(*entry->unit, need, path);
    if (!verdict.ok()) return verdict;
  }
  return Verdict{};
}

Decision CoreState::Admit(UnitEntry* entry, QueueRecord* queue, const Resources& need, absl::Time now) {
  const QueueUnit& unit = *entry->unit;
  Dequeue dequeue;
  dequeue.unit = unit.key;
  dequeue.uid = unit.uid;
  dequeue.version = unit.version;
  dequeue.admissions = FullAdmissions(unit);
  dequeue.conditions = ConditionsFor(Phase::kDequeued, unit.conditions, "", now);
  dequeue.attempts = entry->attempts;
  dequeue.now = now;
  // A part may have been admitted before: what it will hold is what a restart would find.
  const Resources amount = HasAdmission(unit) ? HeldOnceAdmitted(unit) : need;
  queue->pending.Remove(entry);
  lot.Unpark(entry);
  CountAssumed(entry->queue, 1);
  Hold(entry, amount);
  table.Assume(entry);
  entry->since = now;
  entry->why = entry->told = nullptr;
  return dequeue;
}

void CoreState::Refuse(UnitEntry* entry, QueueRecord* queue, RefusalDetail why, absl::Time now,
                       std::vector<Decision>* decisions) {
  queue->pending.LeaveReady(entry);
  lot.Unpark(entry);  // one that waited behind the head was asked as it stood
  // Units that wait side by side are often alike, to the last number: one text for all of them.
  if (last_why == nullptr || *last_why != why) last_why = std::make_shared<const RefusalDetail>(std::move(why));
  entry->why = last_why;
  lot.Park(entry);
  Tell(entry, now, decisions);
}

void CoreState::ParkBehindHeads(QueueRecord* queue, absl::Time now, std::vector<Decision>* decisions) {
  for (UnitEntry* entry : queue->pending.BehindHeads()) {
    RefusalDetail why;
    why.refusal = Refusal::kBehindHead;
    why.quota = entry->unit->quota;
    why.text = queue->pending.HeadOf(entry->lined->quota)->unit->key.ToString();
    queue->picture = nullptr;
    Refuse(entry, queue, std::move(why), now, decisions);
  }
}

void CoreState::CountAsk(const std::string& queue, bool admitted) {
  for (auto count = last_cycle.rbegin(); count != last_cycle.rend() && count->queue == queue; ++count) {
    if (count->admitted == admitted) {
      ++count->count;
      return;
    }
  }
  last_cycle.push_back({queue, admitted, 1});
}

}  // namespace kq::scheduler
