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
  state.more_to_ask = false;
  if (!MayDecide()) return {};
  std::vector<Decision> decisions = std::exchange(state.notices, {});

  // 1. Queues follow the quotas.
  state.ReconcileQueues(now, &decisions);
  // 2. Who waited for a time, or for what has changed, is ready again.
  state.WakeResting(now);
  state.WakeParked();
  // 3. Queues in order, best unit first: ask, then admit or park.
  state.AskQueues(now, &decisions);
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

void CoreState::AskQueues(absl::Time now, std::vector<Decision>* decisions) {
  const int64_t limit = asked + options.asks_per_cycle;
  for (auto queue = queue_order.begin(); queue != queue_order.end() && !more_to_ask;) {
    const int32_t priority = (*queue)->object.priority;
    std::vector<QueueRecord*> equals;
    for (; queue != queue_order.end() && (*queue)->object.priority == priority; ++queue) {
      if ((*queue)->pending.NextToAsk() != nullptr) {
        equals.push_back(*queue);
      } else {
        ParkBehindHeads(*queue, now, decisions);
      }
    }
    TakeTurns(std::move(equals), limit, now, decisions);
  }
  for (QueueRecord* queue : queue_order) {
    for (const bool admitted : {true, false}) {
      int64_t& count = admitted ? queue->admitted_now : queue->refused_now;
      if (count > 0) last_cycle.push_back({queue->object.key.name, admitted, std::exchange(count, 0)});
    }
  }
}

void CoreState::TakeTurns(std::vector<QueueRecord*> queues, int64_t limit, absl::Time now,
                          std::vector<Decision>* decisions) {
  std::stable_sort(queues.begin(), queues.end(),
                   [](const QueueRecord* a, const QueueRecord* b) { return a->served < b->served; });
  while (!queues.empty()) {
    std::vector<QueueRecord*> again;
    for (QueueRecord* queue : queues) {
      if (AskUntilAdmitted(queue, limit, now, decisions)) again.push_back(queue);
      if (more_to_ask) return;
    }
    queues = std::move(again);
  }
}

bool CoreState::AskUntilAdmitted(QueueRecord* queue, int64_t limit, absl::Time now, std::vector<Decision>* decisions) {
  while (UnitEntry* entry = queue->pending.NextToAsk()) {
    if (asked >= limit) {
      more_to_ask = true;
      return false;
    }
    changed = true;
    queue->picture = nullptr;
    const Resources need = Need(*entry->unit);
    Verdict verdict = Ask(entry, *queue, need);
    if (verdict.ok()) {
      ++queue->admitted_now;
      queue->served = ++admissions;
      decisions->push_back(Admit(entry, queue, need, now));
      return true;
    }
    ++queue->refused_now;
    Refuse(entry, queue, std::move(verdict.refusal), now, decisions);
  }
  ParkBehindHeads(queue, now, decisions);
  return false;
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

}  // namespace kq::scheduler
