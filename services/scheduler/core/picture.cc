#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/core_state.h"

namespace kq::scheduler {
namespace {

UnitSnapshot UnitPicture(const UnitEntry& entry, int64_t position) {
  UnitSnapshot picture;
  picture.unit = entry.unit;
  picture.place = entry.place;
  picture.position = position;
  picture.why = entry.why;
  picture.since = entry.since;
  picture.retry_at = entry.retry_at;
  picture.attempts = entry.attempts;
  return picture;
}

}  // namespace

std::shared_ptr<const Snapshot> CoreState::TakeSnapshot(absl::Time now) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->epoch = epoch;
  snapshot->revision = ++revision;
  snapshot->as_of = now;
  snapshot->synced = listed.size() == 3;
  snapshot->queues.reserve(queues.size());
  for (auto& [name, record] : queues) {
    if (record.picture == nullptr) record.picture = QueuePicture(record);
    snapshot->queues.push_back(record.picture);
  }
  RefreshQuotaPictures();
  snapshot->quotas.reserve(quota_pictures.size());
  for (const auto& [key, picture] : quota_pictures) snapshot->quotas.push_back(picture);
  if (unplaced_picture == nullptr) {
    auto units = std::make_shared<std::vector<UnitSnapshot>>();
    std::map<ObjectKey, const UnitEntry*> shown;
    for (const ObjectKey& key : unplaced) shown.emplace(key, table.Find(key));
    // Who holds a quota that is not there is in no quota's picture.
    for (const auto& [quota, units_of_quota] : holders) {
      if (ledger.Has(quota)) continue;
      for (const auto& [key, entry] : units_of_quota) {
        if (entry->lined == nullptr) shown.emplace(key, entry);  // else in its queue's picture
      }
    }
    for (const auto& [key, entry] : shown) units->push_back(UnitPicture(*entry, 0));
    unplaced_picture = std::move(units);
  }
  snapshot->unplaced = unplaced_picture;
  if (type_picture == nullptr)
    type_picture = std::make_shared<const std::map<std::pair<std::string, std::string>, int64_t>>(units_by_type);
  snapshot->units_by_type = type_picture;
  changed = false;
  return snapshot;
}

std::shared_ptr<const QueueSnapshot> CoreState::QueuePicture(const QueueRecord& record) {
  auto picture = std::make_shared<QueueSnapshot>();
  picture->queue = record.object;
  if (record.has_policy) picture->policy = std::string(QueuePolicyName(record.pending.policy()));
  const auto on_their_way = assumed.find(record.object.key.name);
  picture->assumed = on_their_way == assumed.end() ? 0 : on_their_way->second;
  picture->trouble = record.trouble;
  picture->admits_nothing = record.unusable.refusal != Refusal::kNone;
  const bool without_quota = !options.admission.empty() && !ledger.Has(record.object.key.name);
  if (without_quota && !picture->admits_nothing) {
    picture->trouble = absl::StrCat("no ElasticQuota is named ", record.object.key.name);
    picture->admits_nothing = true;
  }
  picture->waiting.reserve(record.pending.Size());
  for (const UnitEntry* entry : record.pending.Line()) {
    picture->waiting.push_back(UnitPicture(*entry, static_cast<int64_t>(picture->waiting.size()) + 1));
    if (entry->place == Place::kReady) ++picture->ready;
    if (entry->place == Place::kResting) ++picture->resting;
    if (entry->place == Place::kParked) ++picture->parked;
  }
  return picture;
}

void CoreState::RefreshQuotaPictures() {
  const std::set<std::string> books_changed = ledger.TakeChanged();
  changed_quotas.insert(books_changed.begin(), books_changed.end());
  if (quotas_listed_anew) {
    // Quotas came or went, or were shadowed: every one is looked at.
    std::map<ObjectKey, std::shared_ptr<const QuotaSnapshot>> anew;
    for (const Quota* quota : ledger.Active()) anew[quota->key] = QuotaPicture(*quota, /*shadowed=*/false);
    for (const Quota* quota : ledger.Shadowed()) anew[quota->key] = QuotaPicture(*quota, /*shadowed=*/true);
    quota_pictures = std::move(anew);
    quotas_listed_anew = false;
  } else {
    for (const std::string& name : changed_quotas) {
      if (const Quota* quota = ledger.Find(name); quota != nullptr)
        quota_pictures[quota->key] = QuotaPicture(*quota, false);
    }
  }
  changed_quotas.clear();
}

std::shared_ptr<const QuotaSnapshot> CoreState::QuotaPicture(const Quota& quota, bool shadowed) {
  auto picture = std::make_shared<QuotaSnapshot>();
  picture->quota = quota;
  if (shadowed) {
    picture->shadowed_by = ledger.Find(quota.key.name)->key;
    picture->trouble = ShadowedText(*picture->shadowed_by);
    return picture;
  }
  QuotaLedger::Books books = *ledger.BooksOf(quota.key.name);
  picture->used = std::move(books.used);
  picture->self_used = std::move(books.self_used);
  picture->children_used = picture->used - picture->self_used;
  picture->guaranteed_used = std::move(books.guaranteed_used);
  picture->self_guaranteed_used = std::move(books.self_guaranteed_used);
  picture->children_guaranteed_used = picture->guaranteed_used;
  picture->children_guaranteed_used.SubtractOrZero(picture->self_guaranteed_used);
  picture->children = std::move(books.children);
  if (books.trouble.ok() && quota.max.Empty()) {
    books.trouble.refusal.refusal = Refusal::kQuotaEmpty;
    books.trouble.refusal.quota = quota.key.name;
  }
  if (!books.trouble.ok()) picture->trouble = RefusalSentence(books.trouble.refusal);
  picture->warning = WarningAbout(quota).text;
  const auto charged = holders.find(quota.key.name);
  if (charged == holders.end()) return picture;
  picture->charged.reserve(charged->second.size());
  for (const auto& [key, entry] : charged->second) picture->charged.push_back(UnitPicture(*entry, 0));
  return picture;
}

}  // namespace kq::scheduler
