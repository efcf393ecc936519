#include "services/scheduler/core/core.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
namespace {

// How long the watch may take to show a Queue that was written.
constexpr absl::Duration kQueueEchoLimit = absl::Seconds(10);

}  // namespace

Core::Core(CoreOptions options) : state_(std::make_unique<CoreState>(std::move(options))) {}
Core::~Core() = default;
Core::Core(Core&&) noexcept = default;
Core& Core::operator=(Core&&) noexcept = default;

absl::Duration CoreOptions::RestAfter(int failures) const {
  constexpr int kMostDoublings = 20;  // keeps the product in range
  return std::min(rest_limit, first_rest * (int64_t{1} << std::min(failures, kMostDoublings)));
}

void Core::Apply(const Event& event, absl::Time now) {
  std::visit([&](const auto& e) { state_->On(e, now); }, event);
}

bool Core::Synced() const { return state_->listed.size() == 3; }
bool Core::MayDecide() const { return Synced() && !state_->epoch.empty(); }
bool Core::Changed() const { return state_->changed; }
int64_t Core::asked() const { return state_->asked; }
const std::vector<Core::AskCount>& Core::last_cycle() const { return state_->last_cycle; }

std::optional<absl::Time> Core::WaitedSince(const WriteFinished& answer) const {
  const UnitEntry* entry = state_->table.Find(answer.unit);
  if (entry == nullptr || entry->place != Place::kAssumed || entry->assumed_version != answer.based_on) return {};
  const bool granted = answer.result.ok() && answer.result->uid == entry->unit->uid && IsAdmittedWhole(*answer.result);
  if (!granted) return {};
  return entry->waiting_since;
}

std::shared_ptr<const Snapshot> Core::TakeSnapshot(absl::Time now) { return state_->TakeSnapshot(now); }

absl::Time Core::NextWakeup() const {
  if (!MayDecide()) return absl::InfiniteFuture();
  if (state_->more_to_ask) return absl::InfinitePast();
  absl::Time next = absl::InfiniteFuture();
  if (!state_->resting.empty()) next = std::min(next, state_->resting.begin()->first);
  if (!state_->resting_tells.empty()) next = std::min(next, state_->resting_tells.begin()->first);
  if (!state_->refreshes.empty())
    next = std::min(next, std::max(state_->refreshes.begin()->first, state_->refresh_free_at));
  if (state_->reconcile_at.has_value()) next = std::min(next, *state_->reconcile_at);
  return next;
}

void CoreState::On(const UnitUpserted& event, absl::Time now) {
  const auto [entry, before] = table.Accept(std::make_shared<const QueueUnit>(event.unit));
  if (entry == nullptr) return;
  changed = true;
  if (before != nullptr) CountType(*before, -1);
  CountType(*entry->unit, 1);
  if (before != nullptr && SameClaim(*before, *entry->unit)) return Refresh(entry, *before);
  Unlink(entry);
  Place(entry, now);
}

void CoreState::On(const UnitRemoved& event, absl::Time) {
  if (!table.AcceptsRemoval(event.unit, event.version)) return;
  Forget(event.unit, event.version);
}

void CoreState::On(const QueueUpserted& event, absl::Time now) {
  if (event.queue.key.ns != kQueueNamespace) return;
  const std::string& name = event.queue.key.name;
  const auto [found, is_new] = queues.try_emplace(name, options.order);
  QueueRecord& record = found->second;
  if (!is_new && event.queue.version < record.object.version) return;
  const Queue before = std::exchange(record.object, event.queue);
  queue_writes.erase(name);
  record.picture = nullptr;
  changed = queues_to_reconcile = true;
  if (is_new || before.priority != record.object.priority) SortQueues();
  const bool same = !is_new && before.policy == record.object.policy && before.invalid == record.object.invalid &&
                    before.admission_checks == record.object.admission_checks;
  if (same) return;
  Configure(&record);
  // Everybody may be asked again; units that had no queue now have one.
  for (UnitEntry* entry : record.pending.Line()) {
    Unlink(entry);
    Place(entry, now);
  }
  const std::set<ObjectKey> waiting = std::move(unmapped[name]);
  unmapped.erase(name);
  for (const ObjectKey& key : waiting) {
    UnitEntry* entry = table.Find(key);
    Unlink(entry);
    entry->told = nullptr;  // mapped from now on: QueueNotFound may be said again later
    Place(entry, now);
  }
}

void CoreState::On(const QueueRemoved& event, absl::Time now) {
  const auto found = queues.find(event.queue.name);
  if (event.queue.ns != kQueueNamespace || found == queues.end() || event.version < found->second.object.version)
    return;
  const std::vector<UnitEntry*> line = found->second.pending.Line();
  for (UnitEntry* entry : line) Unlink(entry);
  queues.erase(found);
  queue_writes.erase(event.queue.name);
  DropNotices(event.queue);
  SortQueues();
  changed = queues_to_reconcile = true;
  for (UnitEntry* entry : line) Place(entry, now);
}

void CoreState::On(const QuotaUpserted& event, absl::Time) {
  ledger.Upsert(event.quota);
  NoteQuotaChange(event.quota.key.name);
}

void CoreState::On(const QuotaRemoved& event, absl::Time) {
  const Quota* active = ledger.Find(event.quota.name);
  if (active != nullptr && active->key == event.quota && event.version < active->version) return;
  if (ledger.Remove(event.quota)) NoteQuotaChange(event.quota.name);
}

void CoreState::NoteQuotaChange(const std::string& name) {
  unplaced_picture = nullptr;
  if (QueueRecord* record = RecordOf(name); record != nullptr) record->picture = nullptr;
  queues_to_reconcile = quotas_listed_anew = changed = true;
}

void CoreState::On(const Listed& event, absl::Time) {
  listed.insert(event.kind);
  changed = true;
}

void CoreState::On(const LeadershipTaken& event, absl::Time) {
  epoch = event.epoch;
  changed = queues_to_reconcile = true;
}

void CoreState::On(const WriteFinished& event, absl::Time now) {
  UnitEntry* entry = table.Answer(event.unit, event.based_on);
  if (entry == nullptr) return;
  changed = true;
  CountAssumed(entry->queue, -1);
  TakeAnswer(entry, event, now);
}

void CoreState::TakeAnswer(UnitEntry* entry, const WriteFinished& event, absl::Time now) {
  const std::shared_ptr<const QueueUnit> decided_on = entry->unit;
  std::shared_ptr<const QueueUnit> newest = std::move(entry->stashed);
  entry->stashed = nullptr;
  if (absl::IsNotFound(event.result.status()) && newest == nullptr) return Forget(event.unit, entry->newest);
  if (event.result.ok() && (newest == nullptr || newest->version < event.result->version)) {
    newest = std::make_shared<const QueueUnit>(*event.result);
  }
  const bool news = newest != nullptr && newest->version > decided_on->version;
  if (news) {
    CountType(*entry->unit, -1);
    CountType(*newest, 1);
    if (newest->uid != decided_on->uid) {
      entry->told = entry->why = nullptr;
      entry->telling = false;
      entry->waiting_since = absl::InfinitePast();
    }
    entry->unit = std::move(newest);
    entry->newest = std::max(entry->newest, entry->unit->version);
    entry->attempts = std::max(entry->attempts, entry->unit->attempts);
  }
  Unlink(entry);
  Place(entry, now);
  if (entry->place != Place::kReady) {
    entry->failed_writes = 0;
    return;
  }
  // Not admitted after all. With news there is something else to decide on at
  // once; without, the same write would only fail again.
  if (!news) Rest(entry, event.result.ok() ? absl::UnknownError("not written") : event.result.status(), now);
}

void CoreState::On(const QueueWriteFinished& event, absl::Time now) {
  const auto write = queue_writes.find(event.queue);
  if (write == queue_writes.end()) return;  // the watch was quicker
  write->second.on_its_way = false;
  queues_to_reconcile = true;
  if (event.status.ok()) {
    // The watch ends the wait. If somebody undid the write before the watch saw
    // it, there is nothing to see, and it is made again.
    write->second.failures = 0;
    write->second.retry_at = now + kQueueEchoLimit;
    return;
  }
  write->second.retry_at = now + options.RestAfter(write->second.failures++);
}

}  // namespace kq::scheduler
