#include "services/scheduler/rpc/explanation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/api/quantity.h"
#include "libs/common/time_format.h"
#include "services/scheduler/rpc/snapshot_proto.h"
#include "services/scheduler/rpc/unit_listing.h"

namespace kq::scheduler {
namespace {

constexpr int64_t kMillion = 1'000'000;

using QuotasByName = std::map<std::string, const QuotaSnapshot*>;

// Of two quotas with one name the older is in force.
QuotasByName InForce(const Snapshot& snapshot) {
  QuotasByName quotas;
  for (const auto& quota : snapshot.quotas) {
    const QuotaSnapshot*& chosen = quotas[quota->quota.key.name];
    if (chosen == nullptr ||
        std::tie(quota->quota.created, quota->quota.uid) < std::tie(chosen->quota.created, chosen->quota.uid)) {
      chosen = quota.get();
    }
  }
  return quotas;
}

// The unit's quota and its ancestors, as far as they exist; each once.
std::vector<const QuotaSnapshot*> PathOf(const QuotasByName& quotas, const std::string& quota) {
  std::vector<const QuotaSnapshot*> path;
  auto at = quotas.find(quota);
  while (at != quotas.end() && std::find(path.begin(), path.end(), at->second) == path.end()) {
    path.push_back(at->second);
    at = quotas.find(at->second->quota.parent);
  }
  return path;
}

bool Waits(Place place) {
  return place == Place::kReady || place == Place::kResting || place == Place::kParked || place == Place::kUnmapped ||
         place == Place::kInvalid || place == Place::kInactive;
}

// What a unit lacks along its path. The arithmetic is that of the ElasticQuota policy.
class Shortage {
 public:
  Shortage(const QuotasByName& quotas, const std::vector<const QuotaSnapshot*>& path, double oversell)
      : quotas_(quotas), path_(path), oversell_millionths_(std::llround(oversell * kMillion)) {}

  Resources At(size_t level, const Resources& need) const {
    const Resources& max = path_[level]->quota.max;
    Resources lacking;
    for (const auto& [resource, amount] : need) {
      if (amount <= 0) continue;
      if (max.Empty()) lacking.Set(resource, amount);
      if (!max.Has(resource)) continue;
      const int64_t after = SaturatingAdd(path_[level]->used.At(resource), amount);
      const int64_t kept = GoesBeyondMin(resource, amount) ? KeptForOthers(level, resource) : 0;
      const int64_t by = SaturatingSubtract(SaturatingAdd(after, kept), LimitOf(max.At(resource)));
      if (by > 0) lacking.Set(resource, by);
    }
    return lacking;
  }

 private:
  int64_t LimitOf(int64_t max) const {
    const __int128 limit = static_cast<__int128>(max) * oversell_millionths_ / kMillion;
    return static_cast<int64_t>(std::min<__int128>(limit, std::numeric_limits<int64_t>::max()));
  }
  bool GoesBeyondMin(const std::string& resource, int64_t amount) const {
    return amount > SaturatingSubtract(path_[0]->quota.min.At(resource), path_[0]->used.At(resource));
  }
  int64_t KeptForOthers(size_t level, const std::string& resource) const {
    if (level == 0) return 0;
    int64_t kept = 0;
    for (const std::string& name : path_[level]->children) {
      const auto child = quotas_.find(name);
      if (child == quotas_.end() || child->second == path_[level - 1] || child->second->quota.lends) continue;
      const int64_t idle = SaturatingSubtract(child->second->quota.min.At(resource), child->second->used.At(resource));
      kept = SaturatingAdd(kept, std::max<int64_t>(idle, 0));
    }
    return kept;
  }

  const QuotasByName& quotas_;
  const std::vector<const QuotaSnapshot*>& path_;
  const int64_t oversell_millionths_;
};

std::string MoreOf(const std::string& resource, int64_t amount) {
  return absl::StrCat(QuantityText(resource, amount), " more ", resource);
}
std::string MoreOf(const RefusalDetail& why) { return MoreOf(why.resource, why.short_by); }

std::string EventFor(const RefusalDetail& why) {
  switch (why.refusal) {
    case Refusal::kNone:
      return "its turn";
    case Refusal::kNoQuotaLabel:
      return "a label quota.scheduling.koordinator.sh/name that says which quota it belongs to";
    case Refusal::kQueueNotFound:
      return absl::StrCat("a queue named ", why.quota, ", which comes with an ElasticQuota of that name");
    case Refusal::kQuotaNotFound:
      return absl::StrCat("an ElasticQuota named ", why.quota);
    case Refusal::kQuotaInvalid:
      return absl::StrCat("quota ", why.quota, " to be corrected",
                          why.text.empty() ? "" : absl::StrCat(" (", why.text, ")"));
    case Refusal::kQuotaCycle:
      return absl::StrCat("the parents of quota ", why.quota, " to be corrected: they lead back to it");
    case Refusal::kQuotaEmpty:
      return absl::StrCat("quota ", why.quota, " to be given a max");
    case Refusal::kOverMax:
      if (why.requested > why.limit) {
        return absl::StrCat("the max of quota ", why.quota, " to be raised: alone it asks for ",
                            QuantityText(why.resource, why.requested), " ", why.resource, ", and max is ",
                            QuantityText(why.resource, why.limit));
      }
      return absl::StrCat(MoreOf(why), " in quota ", why.quota, ": units of it end, or its max is raised");
    case Refusal::kGuaranteedToOthers:
      return absl::StrCat(MoreOf(why), " in quota ", why.quota, ": units in it end, its max is raised, or the ",
                          QuantityText(why.resource, why.reserved), " kept for quotas that do not lend are put to use");
    case Refusal::kBehindHead:
      return absl::StrCat(why.text.empty() ? "the unit before it" : why.text,
                          " to be admitted: it is before this one in quota ", why.quota,
                          ", whose queue lets nobody pass");
    case Refusal::kUnitInvalid:
      return absl::StrCat("the queue unit to be corrected", why.text.empty() ? "" : absl::StrCat(" (", why.text, ")"));
    case Refusal::kInactive:
      return "spec.active to be set to true";
    case Refusal::kPolicyUnsupported:
      return absl::StrCat("queue ", why.quota, " to be given a policy that is supported: Priority or Block");
    case Refusal::kChecksUnsupported:
      return absl::StrCat("queue ", why.quota, " to name no admission checks");
    case Refusal::kWriteFailed:
      return "the next try: the admission could not be written";
  }
  return "";
}

// What else is short, now that the policy has told the first thing: "; and then 4 more cpu
// in quota org". Empty if the unit waits for something else than quota.
std::string FurtherShortages(const UnitSnapshot& unit, const queueing::v1::Explanation& explanation) {
  if (unit.place != Place::kParked || unit.why == nullptr) return "";
  const RefusalDetail& why = *unit.why;
  if (why.refusal != Refusal::kOverMax && why.refusal != Refusal::kGuaranteedToOthers) return "";
  std::string text;
  for (const queueing::v1::QuotaLevel& level : explanation.levels()) {
    std::vector<std::string> more;
    for (const queueing::v1::Amount& amount : level.short_by()) {
      if (level.quota() == why.quota && amount.resource() == why.resource) continue;
      more.push_back(MoreOf(amount.resource(), amount.amount()));
    }
    if (more.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "; and then " : ", ", absl::StrJoin(more, " and "), " in quota ",
                    level.quota());
  }
  return text;
}

// Which of the ElasticQuotas with the name of the unit's quota is in force, and which are not.
void TellNamesakes(const Snapshot& snapshot, const QuotaSnapshot& in_force, queueing::v1::Explanation* out) {
  const ObjectKey& key = in_force.quota.key;
  out->set_quota_namespace(key.ns);
  for (const auto& quota : snapshot.quotas) {
    if (quota->shadowed_by == key) out->add_shadowed_quotas(quota->quota.key.ToString());
  }
}

}  // namespace

std::string WaitsFor(const UnitSnapshot& unit) {
  switch (unit.place) {
    case Place::kReady:
      return "its turn in the next cycle";
    case Place::kResting:
      return IsFinite(unit.retry_at) ? absl::StrCat("the next try at ", TimeText(unit.retry_at)) : "the next try";
    case Place::kParked:
    case Place::kUnmapped:
      return unit.why == nullptr ? "its turn" : EventFor(*unit.why);
    case Place::kInvalid:
      return absl::StrCat("the queue unit to be corrected (", unit.unit->invalid, ")");
    case Place::kInactive:
      return "spec.active to be set to true";
    case Place::kAssumed:
      return "the API server to take its admission";
    case Place::kDraining:
      return "its pods to be gone";
    case Place::kAdmitted:
    case Place::kFinished:
      return "";
  }
  return "";
}

absl::StatusOr<queueing::v1::Explanation> Explain(const Snapshot& snapshot, const ObjectKey& key,
                                                  const ExplainOptions& options) {
  const FoundUnit found = FindUnit(snapshot, key);
  if (found.unit == nullptr || found.unit->place == Place::kFinished) {
    return absl::NotFoundError(absl::StrCat("no unfinished queue unit ", key.ToString()));
  }
  queueing::v1::Explanation explanation;
  ToPictureId(snapshot, explanation.mutable_id());
  ToProto(*found.unit, explanation.mutable_unit());
  if (found.queue != nullptr) {
    explanation.set_ahead(std::max<int64_t>(found.unit->position - 1, 0));
    explanation.set_queue_length(static_cast<int64_t>(found.queue->waiting.size()));
  }

  const QuotasByName quotas = InForce(snapshot);
  const std::vector<const QuotaSnapshot*> path = PathOf(quotas, found.unit->unit->quota);
  const Shortage shortage(quotas, path, options.oversell);
  const Resources need = Waits(found.unit->place) ? Need(*found.unit->unit) : Resources();
  for (size_t level = 0; level < path.size(); ++level) {
    queueing::v1::QuotaLevel* out = explanation.add_levels();
    out->set_quota(path[level]->quota.key.name);
    ToProto(path[level]->used, out->mutable_used());
    ToProto(path[level]->quota.min, out->mutable_min());
    ToProto(path[level]->quota.max, out->mutable_max());
    ToProto(shortage.At(level, need), out->mutable_short_by());
  }
  if (!path.empty()) TellNamesakes(snapshot, *path[0], &explanation);
  explanation.set_waits_for(absl::StrCat(WaitsFor(*found.unit), FurtherShortages(*found.unit, explanation)));
  return explanation;
}

}  // namespace kq::scheduler
