#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
namespace {

// How often the same reason is told again when the message got lost. Whoever
// keeps overwriting it gets the last word.
constexpr int kRetellLimit = 5;

bool HasOwnEvent(Refusal refusal) { return refusal == Refusal::kNoQuotaLabel || refusal == Refusal::kQueueNotFound; }

// What has an event of its own gets no FailedScheduling beside it, and who was put off on purpose did not fail.
bool IsFailure(Refusal refusal) { return !HasOwnEvent(refusal) && refusal != Refusal::kInactive; }

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
  requeue.with_event = with_event && IsFailure(entry.why->refusal);
  return requeue;
}

}  // namespace

void CoreState::Tell(UnitEntry* entry, absl::Time now, std::vector<Decision>* decisions) {
  if (entry->telling || entry->to_tell.has_value()) return;  // looked at again when its answer, or its turn, is there
  const QueueUnit& unit = *entry->unit;
  const RefusalDetail& why = *entry->why;
  const bool same = entry->told != nullptr && entry->told->SameReason(why);
  const bool written = same && entry->tell_written;
  if (written && unit.version <= entry->told_version) return NoteNumbers(entry, *entry->told != why, now);
  if (absl::StartsWith(unit.message, RefusalPrefix(why))) {
    NoteNumbers(entry, written ? *entry->told != why : unit.message != RefusalSentence(why), now);
    if (!written) entry->told = entry->why;
    entry->told_version = unit.version;
    entry->tell_written = true;
    entry->retold = entry->tell_failures = 0;
    return;
  }
  if (entry->tell_at > now) {
    resting_tells.insert({entry->tell_at, unit.key});
    return;
  }
  if (tells_on_the_way >= options.tells_on_the_way) return WantTold(entry);
  entry->retold = written ? entry->retold + 1 : 0;  // somebody overwrote it
  if (entry->retold > kRetellLimit) return;
  SendMessage(entry, /*with_event=*/!same, now, decisions);
  if (!same && HasOwnEvent(why.refusal)) decisions->push_back(OwnEvent(unit, why));
}

void CoreState::SendMessage(UnitEntry* entry, bool with_event, absl::Time now, std::vector<Decision>* decisions) {
  entry->told = entry->why;
  entry->told_version = entry->unit->version;
  entry->telling = true;
  ++tells_on_the_way;
  decisions->push_back(RequeueOf(*entry, with_event, now));
}

void CoreState::On(const TellFinished& event, absl::Time now) {
  --tells_on_the_way;
  UnitEntry* entry = table.Find(event.unit);
  if (entry == nullptr || !entry->telling || entry->told_version != event.based_on || entry->unit->uid != event.uid)
    return;
  entry->telling = false;
  entry->tell_written = event.written;
  if (event.written) {
    entry->tell_failures = 0;
  } else {
    entry->tell_at = now + options.RestAfter(entry->tell_failures++);
  }
  // The reason may have changed meanwhile, or was not written.
  WantTold(entry);
}

void CoreState::WantTold(UnitEntry* entry) {
  if (!entry->to_tell.has_value()) entry->to_tell = to_tell.insert(to_tell.end(), entry);
}

void CoreState::NoteNumbers(UnitEntry* entry, bool differ, absl::Time now) {
  const bool noted = entry->refresh_at != absl::InfinitePast();
  if (!differ || noted || options.refresh_interval <= absl::ZeroDuration()) return;
  entry->refresh_at = now + options.refresh_interval;
  refreshes.insert({entry->refresh_at, entry->unit->key});
}

bool CoreState::QueueIsComing(const UnitEntry& entry) const {
  if (entry.why->refusal != Refusal::kQueueNotFound || !ledger.Has(entry.queue)) return false;
  const auto write = queue_writes.find(entry.queue);
  return write == queue_writes.end() || write->second.failures == 0;
}

bool CoreState::MayBeTold(const UnitEntry& entry) const {
  // Who is ready is about to be asked.
  const bool waits = entry.place == Place::kParked || entry.place == Place::kUnmapped ||
                     entry.place == Place::kInvalid || entry.place == Place::kInactive;
  return waits && entry.why != nullptr && !SaidByController(entry) && !QueueIsComing(entry);
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
    if (UnitEntry* entry = table.Find(resting_tells.begin()->second); entry != nullptr) WantTold(entry);
    resting_tells.erase(resting_tells.begin());
  }
  while (!to_tell.empty() && tells_on_the_way < options.tells_on_the_way) {
    UnitEntry* entry = to_tell.front();
    to_tell.pop_front();
    entry->to_tell.reset();
    if (MayBeTold(*entry)) Tell(entry, now, decisions);
  }
}

void CoreState::RefreshMessages(absl::Time now, std::vector<Decision>* decisions) {
  // What was not used up of the last second may be used at once.
  refresh_free_at = std::max(refresh_free_at, now - absl::Seconds(1));
  while (!refreshes.empty() && refreshes.begin()->first <= now && refresh_free_at <= now &&
         tells_on_the_way < options.tells_on_the_way) {
    UnitEntry* entry = table.Find(refreshes.begin()->second);
    refreshes.erase(refreshes.begin());
    entry->refresh_at = absl::InfinitePast();
    if (entry->telling || !MayBeTold(*entry)) continue;
    const bool told = entry->told != nullptr && entry->told->SameReason(*entry->why) && entry->tell_written;
    if (!told || entry->unit->message == RefusalSentence(*entry->why)) continue;
    refresh_free_at += options.refresh_spacing;
    SendMessage(entry, /*with_event=*/false, now, decisions);
  }
}

}  // namespace kq::scheduler
