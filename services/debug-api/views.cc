#include "services/debug-api/views.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/debug-api/view_json.h"

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

// By the names under which they are shown.
std::map<std::string, const v1::QuotaSnapshot*> QuotasByName(const Picture& picture) {
  std::map<std::string, const v1::QuotaSnapshot*> quotas;
  for (const auto& [key, quota] : picture.quotas) {
    quotas.emplace(quota->shadowed_by().empty() ? quota->name() : key, quota.get());
  }
  return quotas;
}

JsonObject ItemsJson(const v1::QuotaSnapshot& quota) {
  JsonObject items;
  for (const v1::UnitSnapshot& unit : quota.charged()) {
    items[KeyText(unit)] = {{"Name", unit.name()},
                            {"Resource", AmountsJson(unit.charged())},
                            {"Priority", unit.priority()},
                            {"CreationTimestamp", TimeJson(unit.has_created(), unit.created())},
                            {"InReserveCache", true}};
  }
  return items;
}

JsonObject WaitingJson(const v1::UnitSnapshot& unit) {
  JsonObject waiting = {{"Position", unit.position()},
                        {"Namespace", unit.namespace_()},
                        {"Name", unit.name()},
                        {"Quota", unit.quota()},
                        {"Priority", unit.priority()},
                        {"Place", v1::Place_Name(unit.place())},
                        {"Reason", ReasonText(unit)},
                        {"Message", unit.refusal().sentence()},
                        {"Attempts", unit.attempts()},
                        {"Need", AmountsJson(unit.need())},
                        {"CreationTimestamp", TimeJson(unit.has_created(), unit.created())},
                        {"Since", TimeJson(unit.has_since(), unit.since())}};
  if (unit.has_retry_at()) waiting["RetryAt"] = TimeJson(true, unit.retry_at());
  return waiting;
}

// Sums by resource and counts, of one namespace within a quota.
struct Share {
  std::map<std::string, int64_t> used;
  int64_t charged = 0, waiting = 0;
};

using Units = std::vector<const v1::UnitSnapshot*>;

// The units that wait, by the quota they name, in the order of their queue.
std::map<std::string, Units> WaitingByQuota(const Picture& picture) {
  std::map<std::string, Units> waiting;
  for (const auto& [name, queue] : picture.queues) {
    for (const v1::UnitSnapshot& unit : queue->waiting()) waiting[unit.quota()].push_back(&unit);
  }
  return waiting;
}

JsonObject SharesJson(const v1::QuotaSnapshot& quota, const Units& waiting) {
  std::map<std::string, Share> shares;
  for (const v1::UnitSnapshot& unit : quota.charged()) {
    Share& share = shares[unit.namespace_()];
    ++share.charged;
    for (const v1::Amount& amount : unit.charged()) share.used[amount.resource()] += amount.amount();
  }
  for (const v1::UnitSnapshot* unit : waiting) ++shares[unit->namespace_()].waiting;
  JsonObject out;
  for (const auto& [ns, share] : shares) {
    JsonObject used;
    for (const auto& [resource, amount] : share.used) used[resource] = amount;
    out[ns] = {{"Used", std::move(used)}, {"Charged", share.charged}, {"Waiting", share.waiting}};
  }
  return out;
}

JsonObject UserUnitJson(const v1::UnitSnapshot& unit) {
  return {{"Namespace", unit.namespace_()},  {"Name", unit.name()},
          {"Phase", unit.phase()},           {"Place", v1::Place_Name(unit.place())},
          {"Position", unit.position()},     {"Charged", AmountsJson(unit.charged())},
          {"Need", AmountsJson(unit.need())}};
}

JsonObject UserQuotaJson(const v1::QuotaSnapshot& quota, const Units& waiting, int64_t limit) {
  // A unit of which a part was admitted holds quota and waits; it is shown once.
  std::set<std::string> holders;
  Units units;
  for (const v1::UnitSnapshot& unit : quota.charged()) {
    holders.insert(KeyText(unit));
    units.push_back(&unit);
  }
  for (const v1::UnitSnapshot* unit : waiting) {
    if (!holders.contains(KeyText(*unit))) units.push_back(unit);
  }
  JsonArray shown;
  for (const v1::UnitSnapshot* unit : units) {
    if (static_cast<int64_t>(shown.size()) == limit) break;
    shown.push_back(UserUnitJson(*unit));
  }
  const int64_t hidden = static_cast<int64_t>(units.size() - shown.size());
  return {{"Quota", absl::StrCat(quota.namespace_(), "/", quota.name())},
          {"Namespaces", SharesJson(quota, waiting)},
          {"Used", AmountsJson(quota.self_used())},
          {"Units", std::move(shown)},
          {"NotShown", hidden}};
}

Json ExplanationJson(const v1::Explanation& explanation) {
  JsonArray levels;
  for (const v1::QuotaLevel& level : explanation.levels()) {
    levels.push_back({{"Quota", level.quota()},
                      {"Used", AmountsJson(level.used())},
                      {"Min", AmountsJson(level.min())},
                      {"Max", AmountsJson(level.max())},
                      {"ShortBy", AmountsJson(level.short_by())}});
  }
  return {{"WaitsFor", explanation.waits_for()},
          {"Ahead", explanation.ahead()},
          {"QueueLength", explanation.queue_length()},
          {"Levels", std::move(levels)}};
}

Json DecisionsJson(const v1::DecisionsResponse& response) {
  JsonArray decisions;
  for (const v1::DecisionRecord& decision : response.decisions()) {
    decisions.push_back({{"Sequence", decision.sequence()},
                         {"Time", TimeJson(decision.has_time(), decision.time())},
                         {"Kind", decision.kind()},
                         {"Version", decision.version()},
                         {"Message", decision.refusal().sentence()},
                         {"Detail", decision.detail()}});
  }
  return decisions;
}

}  // namespace

Json ElasticQuotaView(const Picture& picture) {
  JsonObject view;
  for (const auto& [name, quota] : QuotasByName(picture)) {
    JsonObject books = {{"Count", quota->charged_size()},
                        {"Max", AmountsJson(quota->max_amounts())},
                        {"Min", AmountsJson(quota->min_amounts())},
                        {"Used", AmountsJson(quota->used())},
                        {"SelfUsed", AmountsJson(quota->self_used())},
                        {"ChildrenUsed", AmountsJson(quota->children_used())},
                        {"GuaranteedUsed", AmountsJson(quota->guaranteed_used())},
                        {"SelfGuaranteedUsed", AmountsJson(quota->self_guaranteed_used())},
                        {"ChildrenGuaranteedUsed", AmountsJson(quota->children_guaranteed_used())},
                        {"Items", ItemsJson(*quota)}};
    if (!quota->trouble().empty()) books["Trouble"] = quota->trouble();
    view[name] = std::move(books);
  }
  return view;
}

Json QueueView(const Picture& picture, int64_t limit) {
  JsonObject view;
  for (const auto& [name, queue] : picture.queues) {
    JsonArray waiting;
    for (const v1::UnitSnapshot& unit : queue->waiting()) {
      if (static_cast<int64_t>(waiting.size()) == limit) break;
      waiting.push_back(WaitingJson(unit));
    }
    const int64_t hidden = queue->waiting_size() - static_cast<int64_t>(waiting.size());
    view[name] = {{"Policy", queue->policy()},   {"Priority", queue->priority()}, {"Trouble", queue->trouble()},
                  {"Ready", queue->ready()},     {"Resting", queue->resting()},   {"Parked", queue->parked()},
                  {"Assumed", queue->assumed()}, {"Waiting", std::move(waiting)}, {"NotShown", hidden}};
  }
  return view;
}

Json UserQuotaView(const Picture& picture, int64_t limit) {
  const std::map<std::string, Units> waiting = WaitingByQuota(picture);
  JsonObject view;
  for (const auto& [name, quota] : QuotasByName(picture)) {
    const auto found = waiting.find(name);
    view[name] = UserQuotaJson(*quota, found == waiting.end() ? Units() : found->second, limit);
  }
  return view;
}

FoundUnit FindUnit(const Picture& picture, absl::string_view ns, absl::string_view name) {
  const auto among = [&](const auto& units) -> const v1::UnitSnapshot* {
    for (const v1::UnitSnapshot& unit : units) {
      if (unit.name() == name && unit.namespace_() == ns) return &unit;
    }
    return nullptr;
  };
  for (const auto& [queue_name, queue] : picture.queues) {
    if (const v1::UnitSnapshot* unit = among(queue->waiting())) return {unit, queue_name};
  }
  for (const auto& [key, quota] : picture.quotas) {
    if (const v1::UnitSnapshot* unit = among(quota->charged())) return {unit, ""};
  }
  return {among(*picture.unplaced), ""};
}

Json UnitView(const FoundUnit& found, const LeaderAnswers& answers) {
  JsonObject view = UnitJson(*found.unit);
  // The object names its queue only where somebody set it; what counts is where it waits.
  if (!found.queue.empty()) view["Queue"] = found.queue;
  if (answers.explanation.ok()) {
    view["Explanation"] = ExplanationJson(*answers.explanation);
  } else {
    view["Explanation"] = nullptr;
    view["ExplanationError"] = std::string(answers.explanation.status().message());
  }
  if (answers.decisions.ok()) {
    view["Decisions"] = DecisionsJson(*answers.decisions);
  } else {
    view["Decisions"] = nullptr;
    view["DecisionsError"] = std::string(answers.decisions.status().message());
  }
  return view;
}

}  // namespace kq::debug_api
