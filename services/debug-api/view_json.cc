#include "services/debug-api/view_json.h"

#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/common/time_format.h"
#include "libs/scheduler_client/proto_time.h"

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

JsonArray PodSetsJson(const v1::UnitSnapshot& unit) {
  JsonArray sets;
  for (const v1::PodSetSnapshot& set : unit.pod_sets()) {
    sets.push_back({{"Name", set.name()},
                    {"Count", set.count()},
                    {"Admitted", set.admitted()},
                    {"Running", set.running()},
                    {"PerPod", AmountsJson(set.per_pod())}});
  }
  return sets;
}

}  // namespace

JsonObject AmountsJson(const google::protobuf::RepeatedPtrField<v1::Amount>& amounts) {
  std::map<std::string, int64_t> sorted;
  for (const v1::Amount& amount : amounts) sorted[amount.resource()] = amount.amount();
  JsonObject object;
  for (const auto& [resource, amount] : sorted) object[resource] = amount;
  return object;
}

JsonObject QuantitiesJson(const google::protobuf::RepeatedPtrField<v1::Quantity>& quantities) {
  JsonObject object;
  for (const v1::Quantity& quantity : quantities) object[quantity.resource()] = quantity.quantity();
  return object;
}

Json TimeJson(bool is_set, const google::protobuf::Timestamp& time) {
  if (!is_set) return nullptr;
  return Json(TimeText(TimeOf(time)));
}

std::string ReasonText(const v1::UnitSnapshot& unit) {
  if (unit.refusal().reason() == v1::REFUSAL_REASON_UNSPECIFIED) return "";
  return v1::RefusalReason_Name(unit.refusal().reason());
}

Json RefusalJson(const v1::UnitSnapshot& unit) {
  const v1::Refusal& why = unit.refusal();
  if (why.reason() == v1::REFUSAL_REASON_UNSPECIFIED) return nullptr;
  return {{"Reason", ReasonText(unit)},   {"Quota", why.quota()},      {"Resource", why.resource()},
          {"Requested", why.requested()}, {"Used", why.used()},        {"Limit", why.limit()},
          {"Reserved", why.reserved()},   {"ShortBy", why.short_by()}, {"Message", why.sentence()}};
}

JsonObject UnitJson(const v1::UnitSnapshot& unit) {
  return {{"Namespace", unit.namespace_()},
          {"Name", unit.name()},
          {"UID", unit.uid()},
          {"Quota", unit.quota()},
          {"Queue", unit.queue()},
          {"Priority", unit.priority()},
          {"PriorityClass", unit.priority_class()},
          {"Phase", unit.phase()},
          {"Place", v1::Place_Name(unit.place())},
          {"Position", unit.position()},
          {"Attempts", unit.attempts()},
          {"Refusal", RefusalJson(unit)},
          {"Message", unit.message()},
          {"CreationTimestamp", TimeJson(unit.has_created(), unit.created())},
          {"Since", TimeJson(unit.has_since(), unit.since())},
          {"RetryAt", TimeJson(unit.has_retry_at(), unit.retry_at())},
          {"Request", QuantitiesJson(unit.request())},
          {"Resources", QuantitiesJson(unit.resources())},
          {"Need", AmountsJson(unit.need())},
          {"Charged", AmountsJson(unit.charged())},
          {"PodSets", PodSetsJson(unit)},
          {"PodsRunning", unit.pods_running()},
          {"PodsPending", unit.pods_pending()},
          {"Job", {{"APIVersion", unit.job_api_version()}, {"Kind", unit.job_kind()}, {"Name", unit.job_name()}}},
          {"Invalid", unit.invalid()}};
}

std::string KeyText(const v1::UnitSnapshot& unit) { return absl::StrCat(unit.namespace_(), "/", unit.name()); }

std::string TabbedJsonText(const Json& value) {
  // Texts have no line breaks of their own in JSON, so spaces that begin a line are indentation.
  const std::string spaced = PrettyJsonText(value, 1);
  std::string out;
  out.reserve(spaced.size() + 1);
  bool begins = true;
  for (const char c : spaced) {
    out.push_back(begins && c == ' ' ? '\t' : c);
    begins = c == '\n' || (begins && c == ' ');
  }
  out.push_back('\n');
  return out;
}

}  // namespace kq::debug_api
