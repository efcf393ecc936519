#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
namespace {

RefusalDetail Because(Refusal refusal, std::string quota = "", std::string text = "") {
  RefusalDetail why;
  why.refusal = refusal;
  why.quota = std::move(quota);
  why.text = std::move(text);
  return why;
}

bool AsksForMore(const Resources& need) {
  return std::any_of(need.begin(), need.end(), [](const Resources::Entry& entry) { return entry.amount > 0; });
}

// When a unit that holds nothing began to wait: its creation, or when it was last put
// back, as far as the object tells.
absl::Time QueuedSince(const QueueUnit& unit) {
  const bool admitted_before = unit.last_allocate != absl::InfinitePast();
  absl::Time since = unit.created;
  for (const Condition& condition : unit.conditions) {
    if (condition.status != "False") continue;
    // The other two begin with the first message that tells why it waits, not with the wait.
    const bool put_back =
        condition.type == "Evicted" || ((condition.type == "QuotaReserved" || condition.type == "Admitted") &&
                                        admitted_before && condition.last_transition >= unit.last_allocate);
    if (put_back) since = std::max(since, condition.last_transition);
  }
  if (!admitted_before || since >= unit.last_allocate) return since;
  return std::max(unit.last_allocate, unit.last_update);
}

}  // namespace

bool SaidByController(const UnitEntry& entry) {
  if (entry.place != Place::kInactive) return false;
  return !IsWaiting(entry.unit->phase) || entry.unit->message == kHeldMessage;
}

Resources HeldOnceAdmitted(const QueueUnit& unit) {
  QueueUnit after = unit;
  after.phase = Phase::kDequeued;
  after.admissions = FullAdmissions(unit);
  return Held(after);
}

bool SameClaim(const QueueUnit& a, const QueueUnit& b) {
  return a.uid == b.uid && a.quota == b.quota && a.priority == b.priority && a.created == b.created &&
         a.active == b.active && a.phase == b.phase && a.invalid == b.invalid && a.resource == b.resource &&
         a.pod_sets == b.pod_sets && a.admissions == b.admissions;
}

void CoreState::Place(UnitEntry* entry, absl::Time now) {
  const QueueUnit& unit = *entry->unit;
  const Resources held = Held(unit);
  const bool holds = HoldsQuota(unit.phase) || HasAdmission(unit);
  if (!IsFinished(unit.phase) && holds) {
    Hold(entry, held);
  } else {
    ledger.Refund(unit.key);
  }
  if (IsFinished(unit.phase)) return SetPlace(entry, Place::kFinished, {}, now);
  if (!unit.invalid.empty())
    return SetPlace(entry, Place::kInvalid, Because(Refusal::kUnitInvalid, "", unit.invalid), now);
  if (HoldsQuota(unit.phase)) {
    // Admitted, in whole or in part: the rest waits like any other claim.
    const bool waits_for_rest =
        unit.active && unit.phase != Phase::kReserved && HasAdmission(unit) && AsksForMore(Need(unit));
    if (!waits_for_rest) return SetPlace(entry, Place::kAdmitted, {}, now);
    return PlaceWaiting(entry, now);
  }
  if (HasAdmission(unit)) return SetPlace(entry, Place::kDraining, {}, now);
  if (!unit.active) return SetPlace(entry, Place::kInactive, Because(Refusal::kInactive), now);
  if (!IsWaiting(unit.phase)) {
    // Backoff or a failed reservation: the controllers put it back to Enqueued.
    return SetPlace(entry, Place::kInactive, Because(Refusal::kInactive, "", std::string(PhaseName(unit.phase))), now);
  }
  PlaceWaiting(entry, now);
}

void CoreState::NoteWaiting(UnitEntry* entry, absl::Time now) {
  const QueueUnit& unit = *entry->unit;
  const bool for_rest = HasAdmission(unit);
  const bool goes_on = entry->waiting_since != absl::InfinitePast() && entry->waits_for_rest == for_rest &&
                       unit.last_allocate <= entry->waiting_since;
  if (goes_on) return;
  entry->waits_for_rest = for_rest;
  entry->waiting_since = for_rest ? now : QueuedSince(unit);
}

void CoreState::PlaceWaiting(UnitEntry* entry, absl::Time now) {
  const QueueUnit& unit = *entry->unit;
  NoteWaiting(entry, now);
  const std::optional<std::string> name = options.selector->QueueFor(unit);
  entry->queue = name.value_or("");
  QueueRecord* record = RecordOf(entry->queue);
  if (record == nullptr) {
    const bool named = name.has_value();
    unmapped[entry->queue].insert(unit.key);
    return SetPlace(
        entry, Place::kUnmapped,
        named ? Because(Refusal::kQueueNotFound, *name, unit.key.ToString()) : Because(Refusal::kNoQuotaLabel), now);
  }
  entry->since = entry->waiting_since;
  record->pending.Add(entry);
  record->picture = nullptr;
}

void CoreState::SetPlace(UnitEntry* entry, kq::scheduler::Place place, const RefusalDetail& why, absl::Time now) {
  if (entry->place != place || entry->since == absl::InfinitePast()) entry->since = now;
  entry->place = place;
  if (place != Place::kUnmapped) entry->waiting_since = absl::InfinitePast();
  const ObjectKey& key = entry->unit->key;
  if (why.refusal == Refusal::kNone) {
    entry->why = nullptr;
    entry->told = nullptr;
  } else {
    entry->why = std::make_shared<const RefusalDetail>(why);
    unplaced.insert(key);
    if (!SaidByController(*entry)) untold.insert(key);
    unplaced_picture = nullptr;
  }
  MarkChanged(*entry);
}

void CoreState::Unlink(UnitEntry* entry) {
  const ObjectKey& key = entry->unit->key;
  MarkChanged(*entry);
  if (entry->lined != nullptr) {
    if (QueueRecord* record = RecordOf(entry->queue); record != nullptr) {
      record->pending.Remove(entry);
      record->picture = nullptr;
    }
    entry->lined = nullptr;
  }
  lot.Unpark(entry);
  StopResting(entry);
  if (unplaced.erase(key) > 0) unplaced_picture = nullptr;
  untold.erase(key);
  if (const auto missing = unmapped.find(entry->queue); missing != unmapped.end()) {
    missing->second.erase(key);
    if (missing->second.empty()) unmapped.erase(missing);
  }
  LetGo(entry);
}

void CoreState::Hold(UnitEntry* entry, const Resources& amount) {
  const QueueUnit& unit = *entry->unit;
  ledger.Charge(unit.key, unit.quota, amount);
  entry->held_under = unit.quota;
  holders[unit.quota][unit.key] = entry;
  if (!ledger.Has(unit.quota)) unplaced_picture = nullptr;
  changed_quotas.insert(unit.quota);
}

void CoreState::LetGo(UnitEntry* entry) {
  if (!entry->held_under.has_value()) return;
  const auto of_quota = holders.find(*entry->held_under);
  of_quota->second.erase(entry->unit->key);
  if (of_quota->second.empty()) holders.erase(of_quota);
  if (!ledger.Has(*entry->held_under)) unplaced_picture = nullptr;
  changed_quotas.insert(*entry->held_under);
  entry->held_under.reset();
}

void CoreState::Refresh(UnitEntry* entry, const QueueUnit& before) {
  MarkChanged(*entry);
  if (entry->lined != nullptr) {
    if (QueueRecord* record = RecordOf(entry->queue); record != nullptr) record->picture = nullptr;
  }
  if (unplaced.contains(entry->unit->key)) unplaced_picture = nullptr;
  const bool rests_for_conflict = entry->place == Place::kResting && entry->unit->version > before.version;
  if (rests_for_conflict) MakeReady(entry);
  // Our message may have been lost; Tell finds out.
  if (entry->told != nullptr && entry->unit->version > entry->told_version) WantTold(entry);
}

void CoreState::Rest(UnitEntry* entry, const absl::Status& status, absl::Time now) {
  QueueRecord* record = RecordOf(entry->queue);
  record->pending.LeaveReady(entry);
  entry->why = std::make_shared<const RefusalDetail>(Because(Refusal::kWriteFailed, "", std::string(status.message())));
  entry->place = Place::kResting;
  entry->retry_at = now + options.RestAfter(entry->failed_writes++);
  resting.insert({entry->retry_at, entry->unit->key});
}

void CoreState::StopResting(UnitEntry* entry) {
  if (entry->retry_at == absl::InfinitePast()) return;
  resting.erase({entry->retry_at, entry->unit->key});
  entry->retry_at = absl::InfinitePast();
}

void CoreState::MakeReady(UnitEntry* entry) {
  lot.Unpark(entry);
  StopResting(entry);
  if (QueueRecord* record = RecordOf(entry->queue); record != nullptr) {
    record->pending.MakeReady(entry);
    record->picture = nullptr;
  }
}

void CoreState::Forget(const ObjectKey& key, uint64_t version) {
  UnitEntry* entry = table.Find(key);
  if (entry->place == Place::kAssumed) CountAssumed(entry->queue, -1);
  Unlink(entry);
  ledger.Refund(key);
  CountType(*entry->unit, -1);
  if (entry->to_tell.has_value()) to_tell.erase(*entry->to_tell);
  refreshes.erase({entry->refresh_at, key});
  table.Forget(key, version);
  changed = true;
}

void CoreState::CountAssumed(const std::string& queue, int64_t by) {
  if ((assumed[queue] += by) == 0) assumed.erase(queue);
  if (QueueRecord* record = RecordOf(queue); record != nullptr) record->picture = nullptr;
}

void CoreState::CountType(const QueueUnit& unit, int64_t by) {
  const std::pair<std::string, std::string> type(unit.key.ns, unit.consumer.kind);
  int64_t& count = units_by_type[type];
  count += by;
  if (count == 0) units_by_type.erase(type);
  type_picture = nullptr;
}

void CoreState::MarkChanged(const UnitEntry& entry) {
  changed = true;
  if (!entry.held_under.has_value()) return;
  changed_quotas.insert(*entry.held_under);
  if (!ledger.Has(*entry.held_under)) unplaced_picture = nullptr;
}

QueueRecord* CoreState::RecordOf(const std::string& name) {
  const auto found = queues.find(name);
  return found == queues.end() ? nullptr : &found->second;
}

}  // namespace kq::scheduler
