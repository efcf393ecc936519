#include "libs/api/codec.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/api/internal/node.h"

namespace kq {
namespace {

using internal::Amounts;
using internal::kCount32;
using internal::kCount64;
using internal::kInt32;
using internal::Node;
using internal::Problems;

constexpr absl::string_view kQuotaLabel = "quota.scheduling.koordinator.sh/name";
constexpr absl::string_view kOldQuotaLabel = "alibabacloud.com/quota-name";
constexpr absl::string_view kParentLabel = "quota.scheduling.koordinator.sh/parent";
constexpr absl::string_view kPolicyKey = "koord-queue/queue-policy";
constexpr absl::string_view kItemsIntervalKey = "koord-queue/queue-items-refresh-interval";
constexpr absl::string_view kHideItemsKey = "koord-queue/disable-show-queue-items";
constexpr absl::string_view kWaitForPodsKey = "koord-queue/wait-for-pods-running";
constexpr absl::string_view kMaxDepthKey = "koord-queue/max-depth";
constexpr absl::string_view kOldPolicyKey = "kube-queue/queue-policy";
constexpr absl::string_view kEnableAnnotation = "quota-koord-queue-enable";
constexpr absl::string_view kOursPrefix = "koord-queue/";
constexpr absl::string_view kCreatedByUs = "create-by-koordqueue";

constexpr size_t kMaxAdmissionChecks = 64;
// Of fields that are not known, how many are named, and how much of each.
constexpr size_t kMaxFieldNames = 8;
constexpr size_t kMaxFieldName = 64;

// The object's metadata, as far as every kind needs it.
struct Meta {
  ObjectKey key;
  std::string uid;
  uint64_t version = 0;
  absl::Time created = absl::InfinitePast();
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
};

std::string ValueOf(const std::map<std::string, std::string>& map, absl::string_view key) {
  const auto at = map.find(std::string(key));
  return at == map.end() ? "" : at->second;
}

// The first of two keys that has a value; an empty one says nothing.
std::string FirstOf(const std::map<std::string, std::string>& map, absl::string_view key, absl::string_view old_key) {
  std::string value = ValueOf(map, key);
  return value.empty() ? ValueOf(map, old_key) : value;
}

absl::StatusOr<Meta> ReadMeta(const Json& object, Problems* problems) {
  if (!object.is_object()) return absl::InvalidArgumentError("expected an object");
  const Node metadata = Node(&object.get_object(), "", problems).Child("metadata");
  Meta meta;
  meta.key = {metadata.Text("namespace"), metadata.Text("name")};
  if (meta.key.name.empty()) return absl::InvalidArgumentError("metadata.name: is missing");
  meta.uid = metadata.Text("uid");
  const std::string version = metadata.Text("resourceVersion");
  if (!version.empty() && !absl::SimpleAtoi(version, &meta.version)) {
    metadata.Complain("resourceVersion", "is not a number");
  }
  meta.created = metadata.Time("creationTimestamp");
  meta.labels = metadata.TextMap("labels");
  meta.annotations = metadata.TextMap("annotations");
  return meta;
}

template <typename Object>
void SetMeta(const Meta& meta, Object* object) {
  object->key = meta.key;
  object->uid = meta.uid;
  object->version = meta.version;
  object->created = meta.created;
}

ConsumerRef ReadConsumer(const Node& ref, absl::string_view unit_namespace) {
  ConsumerRef consumer;
  if (!ref.Present()) return consumer;
  consumer.api_version = ref.Text("apiVersion");
  consumer.kind = ref.Text("kind");
  consumer.key = {ref.Text("namespace", unit_namespace), ref.Text("name")};
  consumer.uid = ref.Text("uid");
  return consumer;
}

std::vector<PodSet> ReadPodSets(const Node& spec) {
  std::vector<PodSet> sets;
  for (const Node& node : spec.List("podSet", kMaxPodSets)) {
    PodSet set;
    set.name = node.Text("name", "main");
    set.count = node.Int("count", kCount32, 1);
    set.per_pod = ReadPodRequest(node.Child("template"));
    for (const PodSet& other : sets) {
      if (other.name == set.name) node.Complain("name", absl::StrCat("a second pod set \"", set.name, "\""));
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

void ReadUnitSpec(const Node& spec, QueueUnit* unit) {
  unit->consumer = ReadConsumer(spec.Child("consumerRef"), unit->key.ns);
  unit->priority = static_cast<int32_t>(spec.Int("priority", kInt32));
  unit->priority_class = spec.Text("priorityClassName");
  unit->queue = spec.Text("queue");
  Amounts resource = spec.Quantities("resource");
  unit->resource = std::move(resource.amounts);
  unit->resource_text = std::move(resource.texts);
  Amounts request = spec.Quantities("request");
  unit->request = std::move(request.amounts);
  unit->request_text = std::move(request.texts);
  unit->pod_sets = ReadPodSets(spec);
  unit->active = spec.Bool("active", true);
}

std::vector<Admission> ReadAdmissions(const Node& status) {
  std::vector<Admission> admissions;
  for (const Node& node : status.Keyed("admissions", "name", kMaxAdmissions)) {
    Admission& admission = admissions.emplace_back();
    admission.name = node.Text("name");
    admission.replicas = node.Int("replicas", kCount64);
    admission.resources = node.Quantities("resources").amounts;
    admission.running = node.Int("running", kCount64);
    const Node reclaim = node.Child("reclaimState");
    if (reclaim.Present()) admission.reclaim_replicas = reclaim.Int("replicas", kCount64);
  }
  return admissions;
}

std::vector<Condition> ReadConditions(const Node& status) {
  std::vector<Condition> conditions;
  for (const Node& node : status.Keyed("conditions", "type", kMaxConditions)) {
    Condition& condition = conditions.emplace_back();
    condition.type = node.Text("type");
    condition.status = node.Text("status");
    condition.reason = node.Text("reason");
    condition.message = node.Text("message");
    condition.last_transition = node.Time("lastTransitionTime");
    if (node.Has("observedGeneration")) condition.observed_generation = node.Int("observedGeneration", kCount64);
  }
  return conditions;
}

void ReadUnitStatus(const Node& status, QueueUnit* unit) {
  const std::string phase = status.Text("phase");
  if (const std::optional<Phase> known = PhaseFromName(phase); known.has_value()) {
    unit->phase = *known;
  } else {
    status.Complain("phase", absl::StrCat("unknown phase \"", phase, "\""));
  }
  unit->attempts = status.Int("attempts", kCount64);
  unit->message = status.Text("message");
  unit->last_update = status.Time("lastUpdateTime");
  unit->last_allocate = status.Time("lastAllocateTime");
  const Node pods = status.Child("podState");
  unit->pods_running = pods.Int("running", kCount64);
  unit->pods_pending = pods.Int("pending", kCount64);
  unit->admissions = ReadAdmissions(status);
  unit->conditions = ReadConditions(status);
}

// The fields of `spec` that are not known, in name order; bounded, since anybody may write them.
std::string UnknownFields(const Json* spec, std::initializer_list<absl::string_view> known) {
  if (spec == nullptr || !spec->is_object()) return "";
  std::vector<std::string> found;
  for (const auto& field : spec->get_object()) {
    const absl::string_view name(field.key().data(), field.key().size());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      found.push_back(absl::StrCat("spec.", name.substr(0, kMaxFieldName)));
    }
  }
  std::sort(found.begin(), found.end());
  const size_t shown = std::min(found.size(), kMaxFieldNames);
  return absl::StrCat(absl::StrJoin(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                      found.size() > shown ? absl::StrCat("; and ", found.size() - shown, " more") : "");
}

}  // namespace

absl::StatusOr<QueueUnit> ParseQueueUnit(const Json& object) {
  Problems problems;
  absl::StatusOr<Meta> meta = ReadMeta(object, &problems);
  if (!meta.ok()) return meta.status();
  QueueUnit unit;
  SetMeta(*meta, &unit);
  unit.quota = FirstOf(meta->labels, kQuotaLabel, kOldQuotaLabel);
  const Node root(&object.get_object(), "", &problems);
  ReadUnitSpec(root.Child("spec"), &unit);
  ReadUnitStatus(root.Child("status"), &unit);
  unit.invalid = problems.Text();
  return unit;
}

absl::StatusOr<Queue> ParseQueue(const Json& object) {
  Problems problems;
  absl::StatusOr<Meta> meta = ReadMeta(object, &problems);
  if (!meta.ok()) return meta.status();
  Queue queue;
  SetMeta(*meta, &queue);
  const Node spec = Node(&object.get_object(), "", &problems).Child("spec");
  queue.policy = spec.Text("queuePolicy");
  queue.priority = static_cast<int32_t>(spec.Int("priority", kInt32));
  queue.priority_class = spec.Text("priorityClassName");
  for (const Node& check : spec.Keyed("admissionChecks", "name", kMaxAdmissionChecks)) {
    queue.admission_checks.push_back(check.Text("name"));
  }
  queue.created_by_us = ValueOf(meta->labels, kCreatedByUs) == "true";
  queue.carried_policy = ValueOf(meta->annotations, kPolicyKey);
  queue.items_refresh_interval = ValueOf(meta->annotations, kItemsIntervalKey);
  queue.items_hidden = meta->annotations.count(std::string(kHideItemsKey)) > 0;
  queue.wait_for_pods_running = ValueOf(meta->annotations, kWaitForPodsKey);
  queue.max_depth = ValueOf(meta->annotations, kMaxDepthKey);
  queue.invalid = problems.Text();
  return queue;
}

absl::StatusOr<Quota> ParseQuota(const Json& object) {
  Problems problems;
  absl::StatusOr<Meta> meta = ReadMeta(object, &problems);
  if (!meta.ok()) return meta.status();
  Quota quota;
  SetMeta(*meta, &quota);
  if (quota.key.name != kRootQuota) {
    quota.parent = ValueOf(meta->labels, kParentLabel);
    if (quota.parent.empty()) quota.parent = std::string(kRootQuota);
  }
  const std::string lends = ValueOf(meta->labels, kLendLabel);
  quota.lends = lends != "false";
  if (quota.lends && lends != "true") quota.odd_lends = lends;
  quota.queue_policy = FirstOf(meta->labels, kPolicyKey, kOldPolicyKey);
  for (const auto& [key, value] : meta->annotations) {
    const bool ours = absl::StartsWith(key, kOursPrefix) && key != kPolicyKey;
    if (ours || key == kEnableAnnotation) quota.queue_annotations.emplace_back(key, value);
  }
  const Node spec = Node(&object.get_object(), "", &problems).Child("spec");
  Amounts min = spec.Quantities("min");
  quota.min = std::move(min.amounts);
  quota.min_text = std::move(min.texts);
  Amounts max = spec.Quantities("max");
  quota.max = std::move(max.amounts);
  quota.max_text = std::move(max.texts);
  quota.unknown_fields = UnknownFields(Find(object, {"spec"}), {"min", "max"});
  quota.invalid = problems.Text();
  return quota;
}

}  // namespace kq
