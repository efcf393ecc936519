#include "libs/api/codec.h"
#include "libs/api/quantity.h"
#include "libs/common/time_format.h"

namespace kq {
namespace {

boost::json::string_view Text(absl::string_view text) { return {text.data(), text.size()}; }

// Null for a time that was never set.
Json TimeJson(absl::Time time) {
  const std::string text = TimeText(time);
  return text.empty() ? Json(nullptr) : Json(text);
}

Json AdmissionsJson(const std::vector<Admission>& admissions) {
  JsonArray list;
  for (const Admission& admission : admissions) {
    JsonObject entry;
    entry["name"] = admission.name;
    entry["replicas"] = admission.replicas;
    if (!admission.resources.Empty()) entry["resources"] = ResourceListJson(admission.resources);
    entry["running"] = admission.running;
    if (admission.reclaim_replicas.has_value()) {
      entry["reclaimState"] = JsonObject{{"replicas", *admission.reclaim_replicas}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json ConditionsJson(const std::vector<Condition>& conditions) {
  JsonArray list;
  for (const Condition& condition : conditions) {
    JsonObject entry;
    entry["type"] = condition.type;
    entry["status"] = condition.status;
    if (condition.observed_generation.has_value()) entry["observedGeneration"] = *condition.observed_generation;
    // The API server demands a time, also of a condition that was stored without one.
    const std::string transition = TimeText(condition.last_transition);
    entry["lastTransitionTime"] = transition.empty() ? TimeText(absl::UnixEpoch()) : transition;
    entry["reason"] = condition.reason;
    entry["message"] = condition.message;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Json ResourceListJson(const Resources& resources) {
  JsonObject list;
  for (const auto& [name, amount] : resources) list[Text(name)] = QuantityText(name, amount);
  return list;
}

Json UnitStatusPatch(const UnitStatusChange& change) {
  JsonObject status;
  if (change.phase.has_value()) status["phase"] = Text(PhaseName(*change.phase));
  if (change.message.has_value()) status["message"] = *change.message;
  if (change.attempts.has_value()) status["attempts"] = *change.attempts;
  if (change.last_update.has_value()) status["lastUpdateTime"] = TimeJson(*change.last_update);
  if (change.last_allocate.has_value()) status["lastAllocateTime"] = TimeJson(*change.last_allocate);
  if (change.admissions.has_value()) status["admissions"] = AdmissionsJson(*change.admissions);
  if (change.conditions.has_value()) status["conditions"] = ConditionsJson(*change.conditions);
  if (change.pods.has_value()) {
    status["podState"] = JsonObject{{"running", change.pods->first}, {"pending", change.pods->second}};
  }
  return JsonObject{{"status", std::move(status)}};
}

Json QueueJson(const Queue& queue, const std::vector<std::pair<std::string, std::string>>& annotations,
               absl::string_view parent_quota) {
  JsonObject labels;
  if (queue.created_by_us) labels["create-by-koordqueue"] = "true";
  if (!parent_quota.empty()) labels["quota.scheduling.koordinator.sh/parent"] = Text(parent_quota);
  JsonObject notes;
  for (const auto& [key, value] : annotations) notes[key] = value;
  if (!queue.carried_policy.empty()) notes["koord-queue/queue-policy"] = queue.carried_policy;

  JsonObject metadata{{"name", queue.key.name}, {"namespace", queue.key.ns}};
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!notes.empty()) metadata["annotations"] = std::move(notes);

  JsonObject spec{{"queuePolicy", queue.policy}, {"priority", queue.priority}};
  if (!queue.priority_class.empty()) spec["priorityClassName"] = queue.priority_class;
  if (!queue.admission_checks.empty()) {
    JsonArray checks;
    for (const std::string& name : queue.admission_checks) checks.push_back(JsonObject{{"name", name}});
    spec["admissionChecks"] = std::move(checks);
  }
  return JsonObject{{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                    {"kind", "Queue"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

}  // namespace kq
