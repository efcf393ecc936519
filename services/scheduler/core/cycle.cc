#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
namespace {

// How often the same reason is told again when the message got lost. Whoever
// keeps overwriting it gets the last word.
constexpr int kRetellLimit = 5;

// What has an event of its own gets no FailedScheduling beside it.
bool HasOwnEvent(Refusal refusal) { return refusal == Refusal::kNoQuotaLabel || refusal == Refusal::kQueueNotFound; }

Notify OwnEvent(const QueueUnit& unit, const RefusalDetail& why) {
  Notify notify;
  notify.kind = Notify::Kind::kUnit;
  notify.object = unit.key;
  notify.uid = unit.uid;
  notify.reason = why.refusal == Refusal::kNoQuotaLabel ? "MissingQuotaLabel" : "QueueNotFound";
  notify.message = RefusalSentence(why);
  return notify;
}

Requeue RequeueOf(const UnitEntry& entry, bool with_event, absl::Time now) {
  const QueueUnit& unit = *entry.unit;
  Requeue requeue;
  requeue.unit = unit.key;
  requeue.uid = unit.uid;
  requeue.version = unit.version;
  requeue.why = *entry.why;
  if (IsWaiting(unit.phase)) {
    requeue.conditions = ConditionsFor(Phase::kEnqueued, unit.conditions, "", now);
    if (requeue.conditions == unit.conditions) requeue.conditions.clear();
  }
  requeue.attempts = entry.attempts;
  requeue.now = now;
  requeue.with_event = with_event && !HasOwnEvent(entry.why->refusal);
  return requeue;
}

}  // namespace

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
  // 4. Tell the units that wait in no queue, and those whose message was lost.
  state.TellUnplaced(now, &decisions);
  state.TellAgain(now, &decisions);
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
  Resources amount = need;
  if (HasAdmission(unit)) {
    // A part was admitted before: what it will hold is what a restart would find.
    QueueUnit after = unit;
    after.phase = Phase::kDequeued;
    after.admissions = dequeue.admissions;
    amount = Held(after);
  }
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
  entry->why = std::make_shared<const RefusalDetail>(std::move(why));
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

void CoreState::Tell(UnitEntry* entry, absl::Time now, std::vector<Decision>* decisions) {
  const QueueUnit& unit = *entry->unit;
  const RefusalDetail& why = *entry->why;
  if (entry->telling) return;  // looked at again when its answer is there
  const bool same = entry->told != nullptr && entry->told->SameReason(why);
  if (absl::StartsWith(unit.message, RefusalPrefix(why))) {
    entry->told = entry->why;
    entry->told_version = unit.version;
    entry->tell_written = true;
    entry->retold = entry->tell_failures = 0;
    return;
  }
  if (same && entry->tell_written && unit.version <= entry->told_version) return;  // the watch has not shown it yet
  if (entry->tell_at > now) {
    resting_tells.insert({entry->tell_at, unit.key});
    return;
  }
  if (tells_on_the_way >= options.tells_on_the_way) {
    to_tell_again.insert(unit.key);
    return;
  }
  const bool overwritten = same && entry->tell_written;
  entry->retold = overwritten ? entry->retold + 1 : 0;
  if (entry->retold > kRetellLimit) return;
  entry->told = entry->why;
  entry->told_version = unit.version;
  entry->telling = true;
  ++tells_on_the_way;
  decisions->push_back(RequeueOf(*entry, /*with_event=*/!same, now));
  if (!same && HasOwnEvent(why.refusal)) decisions->push_back(OwnEvent(unit, why));
}

bool CoreState::QueueIsComing(const UnitEntry& entry) const {
  if (entry.why->refusal != Refusal::kQueueNotFound || !ledger.Has(entry.queue)) return false;
  const auto write = queue_writes.find(entry.queue);
  return write == queue_writes.end() || write->second.failures == 0;
}

void CoreState::TellUnplaced(absl::Time now, std::vector<Decision>* decisions) {
  std::set<ObjectKey> later;
  for (const ObjectKey& key : std::exchange(untold, {})) {
    UnitEntry* entry = table.Find(key);
    if (QueueIsComing(*entry)) {
      later.insert(key);
    } else {
      Tell(entry, now, decisions);
    }
  }
  untold = std::move(later);
}

void CoreState::TellAgain(absl::Time now, std::vector<Decision>* decisions) {
  while (!resting_tells.empty() && resting_tells.begin()->first <= now) {
    to_tell_again.insert(resting_tells.begin()->second);
    resting_tells.erase(resting_tells.begin());
  }
  while (!to_tell_again.empty() && tells_on_the_way < options.tells_on_the_way) {
    UnitEntry* entry = table.Find(*to_tell_again.begin());
    to_tell_again.erase(to_tell_again.begin());
    if (entry == nullptr || entry->why == nullptr || QueueIsComing(*entry)) continue;
    // Who is ready is about to be asked, and whoever made a unit inactive told it himself.
    if (entry->place == Place::kParked || entry->place == Place::kUnmapped || entry->place == Place::kInvalid)
      Tell(entry, now, decisions);
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
