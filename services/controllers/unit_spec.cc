#include "services/controllers/unit_spec.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/api/codec.h"
#include "libs/common/status_macros.h"
#include "services/controllers/annotations.h"

namespace kq::controllers {
namespace {

// Not copied to the unit: a second copy of the whole job, and what we write on the
// job ourselves.
bool IsCopied(absl::string_view annotation) {
  return annotation != "kubectl.kubernetes.io/last-applied-configuration" &&
         !absl::StartsWith(annotation, "koord-queue/job-");
}

bool IsRelated(absl::string_view annotation) { return absl::StartsWith(annotation, "koord-queue/related-"); }

absl::string_view View(boost::json::string_view text) { return {text.data(), text.size()}; }

JsonObject ObjectAt(const Json& object, std::initializer_list<absl::string_view> path) {
  const Json* found = Find(object, path);
  return found != nullptr && found->is_object() ? found->get_object() : JsonObject();
}

// The quantity as the only container that asks for it spells it; empty if there is
// no such container or the pod asks for another amount.
std::string SpellingOf(const Json& pod_template, absl::string_view resource, int64_t amount) {
  const Json* containers = Find(pod_template, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return "";
  std::string spelling;
  for (const Json& container : containers->get_array()) {
    const Json* value = Find(container, {"resources", "requests", resource});
    if (value == nullptr) continue;
    if (!spelling.empty() || !value->is_string()) return "";
    spelling = std::string(value->get_string());
  }
  if (spelling.empty()) return "";
  const absl::StatusOr<Resources> parsed =
      ParseResourceList(JsonObject{{JsonKey(resource), JsonKey(spelling)}}, "requests");
  return parsed.ok() && parsed->At(resource) == amount ? spelling : "";
}

// What the pod sets ask for together; a single pod's amounts as its user wrote them.
Json TotalText(const std::vector<PodSetClaim>& sets) {
  Resources total;
  for (const PodSetClaim& set : sets) total.Add(set.per_pod.Scaled(set.count));
  Json text = ResourceListJson(total);
  if (sets.size() != 1 || sets[0].count != 1) return text;
  for (const auto& [name, amount] : total) {
    const std::string spelling = SpellingOf(sets[0].pod_template, name, amount);
    if (!spelling.empty()) text.get_object()[JsonKey(name)] = spelling;
  }
  return text;
}

Json WithoutNulls(const Json& value) {
  if (value.is_array()) {
    JsonArray out;
    for (const Json& item : value.get_array()) out.push_back(WithoutNulls(item));
    return out;
  }
  if (!value.is_object()) return value;
  JsonObject out;
  for (const auto& [key, item] : value.get_object()) {
    if (!item.is_null()) out[key] = WithoutNulls(item);
  }
  return out;
}

// Without nulls and without annotations of ours, so that two texts of one template
// compare equal.
Json Plain(const Json& pod_template) {
  Json out = WithoutNulls(pod_template);
  if (!out.is_object()) return out;
  Json* metadata = out.get_object().if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return out;
  JsonObject notes;
  for (const auto& [key, value] : ObjectAt(*metadata, {"annotations"})) {
    if (!IsRelated(View(key))) notes[key] = value;
  }
  metadata->get_object().erase("annotations");
  if (!notes.empty()) metadata->get_object()["annotations"] = std::move(notes);
  if (metadata->get_object().empty()) out.get_object().erase("metadata");
  return out;
}

JsonArray PodSetsJson(std::vector<PodSetClaim> sets) {
  JsonArray list;
  for (PodSetClaim& set : sets) {
    list.push_back(JsonObject{{"name", set.name}, {"count", set.count}, {"template", Plain(set.pod_template)}});
  }
  return list;
}

Json OwnerOf(const Json& job, const JobKind& kind) {
  return JsonObject{{"apiVersion", kind.api_version},
                    {"kind", kind.kind},
                    {"name", StringAt(job, {"metadata", "name"})},
                    {"uid", UidOf(job)},
                    {"blockOwnerDeletion", false}};
}

JsonObject MetadataOf(const Json& job, const JobAdapter& adapter, bool held) {
  const ObjectKey key = KeyOf(job);
  JsonObject notes;
  for (const auto& [name, value] : ObjectAt(job, {"metadata", "annotations"})) {
    if (IsCopied(View(name))) notes[name] = value;
  }
  if (held) notes[JsonKey(kHeldAnnotation)] = "true";
  JsonObject metadata{{"name", adapter.UnitName(key.name)},
                      {"namespace", key.ns},
                      {"ownerReferences", JsonArray{OwnerOf(job, adapter.kind())}}};
  if (JsonObject labels = ObjectAt(job, {"metadata", "labels"}); !labels.empty())
    metadata["labels"] = std::move(labels);
  if (!notes.empty()) metadata["annotations"] = std::move(notes);
  return metadata;
}

bool SameAmounts(const Json& a, const Json& b) {
  const absl::StatusOr<Resources> left = ParseResourceList(a, "");
  const absl::StatusOr<Resources> right = ParseResourceList(b, "");
  return left.ok() && right.ok() && Resources::EqualAmounts(*left, *right);
}

bool SamePodSets(const Json& desired, const Json& current, bool suspended) {
  if (!current.is_array() || current.get_array().size() != desired.get_array().size()) return false;
  for (size_t i = 0; i < desired.get_array().size(); ++i) {
    const Json& want = desired.get_array()[i];
    const Json& have = current.get_array()[i];
    if (!have.is_object() || StringAt(want, {"name"}) != StringAt(have, {"name"})) return false;
    const Json* count = Find(have, {"count"});
    if (count == nullptr || *count != *Find(want, {"count"})) return false;
    const Json* pod_template = Find(have, {"template"});
    if (suspended && (pod_template == nullptr || Plain(*pod_template) != *Find(want, {"template"}))) return false;
  }
  return true;
}

bool SameField(absl::string_view field, const Json& desired, const Json& current, bool suspended) {
  if (field == "request" || field == "resource") return SameAmounts(desired, current);
  if (field == "podSet") return SamePodSets(desired, current, suspended);
  if (!desired.is_object()) return desired == current;
  for (const auto& [key, value] : desired.get_object()) {
    const Json* have = Find(current, {View(key)});
    if (have == nullptr || *have != value) return false;
  }
  return true;
}

// `desired` as a merge patch over `current`: what is no longer there goes.
Json Merging(const Json& desired, const Json* current) {
  Json out = desired;
  if (current == nullptr || !current->is_object() || !out.is_object()) return out;
  for (const auto& [key, value] : current->get_object()) {
    if (!out.get_object().contains(key)) out.get_object()[key] = nullptr;
  }
  return out;
}

JsonObject SpecChanges(const Json& desired, const Json& unit, bool suspended) {
  constexpr std::array<absl::string_view, 8> kFields = {
      "consumerRef", "priority", "priorityClassName",          "queue", "request",
      "resource",    "podSet",   "maximumExecutionTimeSeconds"};
  JsonObject changes;
  for (const absl::string_view field : kFields) {
    const Json* want = Find(desired, {"spec", field});
    const Json* have = Find(unit, {"spec", field});
    if (want == nullptr && have != nullptr && !have->is_null()) changes[JsonKey(field)] = nullptr;
    if (want == nullptr || (have != nullptr && SameField(field, *want, *have, suspended))) continue;
    changes[JsonKey(field)] = Merging(*want, have);
  }
  const Json* active = Find(desired, {"spec", "active"});
  const Json* now = Find(unit, {"spec", "active"});
  // By a hold, or by the annotation, of which the unit has a copy.
  const bool was_ours = !AnnotationOf(unit, kHeldAnnotation).empty() || ActiveOverride(unit).has_value();
  if (active != nullptr && (now == nullptr || *now != *active)) changes["active"] = *active;
  if (active == nullptr && now != nullptr && was_ours) changes["active"] = nullptr;
  return changes;
}

JsonObject AddedOrChanged(const JsonObject& desired, const JsonObject& current) {
  JsonObject changes;
  for (const auto& [name, value] : desired) {
    const Json* have = current.if_contains(name);
    if (have == nullptr || *have != value) changes[name] = value;
  }
  return changes;
}

JsonObject MetadataChanges(const Json& desired, const Json& unit) {
  const JsonObject have_labels = ObjectAt(unit, {"metadata", "labels"});
  const JsonObject want_labels = ObjectAt(desired, {"metadata", "labels"});
  JsonObject labels = AddedOrChanged(want_labels, have_labels);
  for (const absl::string_view name : {kQuotaLabel, kOldQuotaLabel}) {
    if (have_labels.contains(JsonKey(name)) && !want_labels.contains(JsonKey(name))) labels[JsonKey(name)] = nullptr;
  }
  const JsonObject have_notes = ObjectAt(unit, {"metadata", "annotations"});
  const JsonObject want_notes = ObjectAt(desired, {"metadata", "annotations"});
  JsonObject notes = AddedOrChanged(want_notes, have_notes);
  // Those by which spec.active is known to be ours.
  for (const absl::string_view name : {kHeldAnnotation, kActiveAnnotation, kIgnoredQuotaAnnotation}) {
    if (have_notes.contains(JsonKey(name)) && !want_notes.contains(JsonKey(name))) notes[JsonKey(name)] = nullptr;
  }

  JsonObject metadata;
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!notes.empty()) metadata["annotations"] = std::move(notes);
  const std::string uid = StringAt(*Find(desired, {"spec", "consumerRef"}), {"uid"});
  const Json* owners = Find(unit, {"metadata", "ownerReferences"});
  JsonArray list = owners != nullptr && owners->is_array() ? owners->get_array() : JsonArray();
  for (const Json& owner : list) {
    if (StringAt(owner, {"uid"}) == uid) return metadata;
  }
  list.push_back(Find(desired, {"metadata", "ownerReferences"})->get_array()[0]);
  metadata["ownerReferences"] = std::move(list);
  return metadata;
}

// `desired` with the quota of the unit, and a note of the one that it would have.
Json KeepingQuota(Json desired, const Json& unit) {
  const std::string wanted = QuotaOf(desired);
  JsonObject& metadata = desired.as_object()["metadata"].as_object();
  JsonObject labels = ObjectAt(desired, {"metadata", "labels"});
  for (const absl::string_view name : {kQuotaLabel, kOldQuotaLabel}) {
    labels.erase(JsonKey(name));
    if (const Json* label = Find(unit, {"metadata", "labels", name}); label != nullptr) labels[JsonKey(name)] = *label;
  }
  metadata["labels"] = std::move(labels);
  JsonObject notes = ObjectAt(desired, {"metadata", "annotations"});
  notes[JsonKey(kIgnoredQuotaAnnotation)] = wanted.empty() ? "none" : JsonKey(wanted);
  metadata["annotations"] = std::move(notes);
  JsonObject& spec = desired.as_object()["spec"].as_object();
  spec.erase("queue");
  if (const Json* queue = Find(unit, {"spec", "queue"}); queue != nullptr) spec["queue"] = *queue;
  return desired;
}

// The first owner of the kind, or an empty object.
JsonObject OwnerOfKind(const Json& unit, const JobKind& kind) {
  const Json* owners = Find(unit, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return {};
  for (const Json& owner : owners->get_array()) {
    if (StringAt(owner, {"kind"}) == kind.kind && StringAt(owner, {"apiVersion"}) == kind.api_version) {
      return owner.get_object();
    }
  }
  return {};
}

// The reference to a job of the kind by which the unit was made, or an empty object.
JsonObject ReferenceToJob(const Json& unit, const JobKind& kind) {
  JsonObject owner = OwnerOfKind(unit, kind);
  if (!owner.empty()) return owner;
  const Json* owners = Find(unit, {"metadata", "ownerReferences"});
  if (owners != nullptr && owners->is_array() && !owners->get_array().empty()) return {};  // another's
  const JsonObject consumer = ObjectAt(unit, {"spec", "consumerRef"});
  if (StringAt(consumer, {"kind"}) != kind.kind || StringAt(consumer, {"apiVersion"}) != kind.api_version) return {};
  // Without a UID it was written by hand.
  return StringAt(consumer, {"uid"}).empty() ? JsonObject() : consumer;
}

}  // namespace

KubeResource UnitResource() { return {"scheduling.x-k8s.io", "v1alpha1", "queueunits"}; }

std::optional<int32_t> PriorityOf(const Json& job, const PriorityClaim& claim, const PriorityValues& values) {
  if (const std::optional<int32_t> override = PriorityOverride(job); override.has_value()) return override;
  if (!claim.class_name.empty()) {
    const auto at = values.by_name.find(claim.class_name);
    if (at != values.by_name.end()) return at->second;
  }
  if (claim.value.has_value() || !claim.class_name.empty()) return claim.value;
  return values.global_default;
}

absl::StatusOr<Json> DesiredUnit(const Json& job, const JobAdapter& adapter, const PriorityValues& values, bool held) {
  KQ_ASSIGN_OR_RETURN(std::vector<PodSetClaim> sets, adapter.PodSets(job));
  const JobKind& kind = adapter.kind();
  const ObjectKey key = KeyOf(job);
  JsonObject spec;
  spec["consumerRef"] = JsonObject{{"apiVersion", kind.api_version},
                                   {"kind", kind.kind},
                                   {"namespace", key.ns},
                                   {"name", key.name},
                                   {"uid", UidOf(job)}};
  const PriorityClaim claim = adapter.Priority(job);
  if (const auto priority = PriorityOf(job, claim, values); priority.has_value()) spec["priority"] = *priority;
  if (!claim.class_name.empty()) spec["priorityClassName"] = claim.class_name;
  if (const std::string quota = QuotaOf(job); !quota.empty()) spec["queue"] = quota;
  spec["resource"] = TotalText(sets);
  spec["request"] = spec["resource"];
  spec["podSet"] = PodSetsJson(std::move(sets));
  if (const std::optional<bool> active = held ? false : ActiveOverride(job); active.has_value()) {
    spec["active"] = *active;
  }
  if (const auto seconds = MaxExecutionSeconds(job); seconds.has_value()) {
    spec["maximumExecutionTimeSeconds"] = *seconds;
  }
  return JsonObject{{"apiVersion", JsonKey(kUnitApiVersion)},
                    {"kind", JsonKey(kUnitKind)},
                    {"metadata", MetadataOf(job, adapter, held)},
                    {"spec", std::move(spec)}};
}

std::optional<Json> UnitPatch(const Json& desired_now, const Json& unit, bool suspended, bool holds_quota) {
  const std::string quota = QuotaOf(unit);
  std::optional<Json> kept;
  if (holds_quota && !quota.empty() && quota != QuotaOf(desired_now)) kept = KeepingQuota(desired_now, unit);
  const Json& desired = kept.has_value() ? *kept : desired_now;
  JsonObject patch;
  if (JsonObject metadata = MetadataChanges(desired, unit); !metadata.empty()) patch["metadata"] = std::move(metadata);
  if (JsonObject spec = SpecChanges(desired, unit, suspended); !spec.empty()) patch["spec"] = std::move(spec);
  if (patch.empty()) return std::nullopt;
  return Json(std::move(patch));
}

Claim ClaimOf(const Json& unit, const JobKind& kind, absl::string_view job_name, absl::string_view uid) {
  const JsonObject job = ReferenceToJob(unit, kind);
  if (job.empty() || StringAt(job, {"name"}) != job_name) return Claim::kForeign;
  return uid.empty() || StringAt(job, {"uid"}) == uid ? Claim::kOurs : Claim::kEarlier;
}

std::string JobNameOf(const Json& unit, const JobKind& kind) { return StringAt(ReferenceToJob(unit, kind), {"name"}); }

}  // namespace kq::controllers
