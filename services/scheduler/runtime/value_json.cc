#include "services/scheduler/runtime/value_json.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kq::scheduler {
namespace {

boost::json::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

void PutAmounts(JsonObject* object, absl::string_view name, const Resources& resources) {
  if (resources.Empty()) return;
  JsonObject amounts;
  for (const Resources::Entry& entry : resources) amounts[entry.name] = entry.amount;
  (*object)[View(name)] = std::move(amounts);
}

void PutPairs(JsonObject* object, absl::string_view name,
              const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (!pairs.empty()) (*object)[View(name)] = EncodePairs(pairs);
}

// Metadata that units, queues and quotas share.
template <typename Object>
JsonObject EncodeMetadata(const Object& of) {
  JsonObject object;
  PutText(&object, "ns", of.key.ns);
  PutText(&object, "name", of.key.name);
  PutText(&object, "uid", of.uid);
  PutInt(&object, "version", static_cast<int64_t>(of.version));
  PutTime(&object, "created", of.created);
  PutText(&object, "invalid", of.invalid);
  return object;
}

template <typename Object>
void DecodeMetadata(ValueReader* reader, Object* into) {
  into->key = reader->Key();
  into->uid = reader->Text("uid");
  into->version = reader->Version("version");
  into->created = reader->Time("created");
  into->invalid = reader->Text("invalid");
}

JsonArray EncodePodSets(const std::vector<PodSet>& pod_sets) {
  JsonArray array;
  for (const PodSet& set : pod_sets) {
    JsonObject object;
    PutText(&object, "name", set.name);
    PutInt(&object, "count", set.count, 1);
    PutAmounts(&object, "perPod", set.per_pod);
    array.push_back(std::move(object));
  }
  return array;
}

std::vector<PodSet> DecodePodSets(ValueReader* unit) {
  std::vector<PodSet> pod_sets;
  for (const Json& value : unit->Array("podSets")) {
    ValueReader reader(value, unit->Path("podSets"), unit->error());
    pod_sets.push_back({reader.Text("name"), reader.Int("count", 1), reader.Amounts("perPod")});
  }
  return pod_sets;
}

std::vector<Admission> DecodeAdmissions(ValueReader* unit) {
  std::vector<Admission> admissions;
  for (const Json& value : unit->Array("admissions")) {
    ValueReader reader(value, unit->Path("admissions"), unit->error());
    Admission admission;
    admission.name = reader.Text("name");
    admission.replicas = reader.Int("replicas");
    admission.resources = reader.Amounts("resources");
    admission.running = reader.Int("running");
    if (reader.Has("reclaim")) admission.reclaim_replicas = reader.Int("reclaim");
    admissions.push_back(std::move(admission));
  }
  return admissions;
}

std::vector<Condition> DecodeConditions(ValueReader* unit) {
  std::vector<Condition> conditions;
  for (const Json& value : unit->Array("conditions")) {
    ValueReader reader(value, unit->Path("conditions"), unit->error());
    Condition condition;
    condition.type = reader.Text("type");
    condition.status = reader.Text("status");
    condition.reason = reader.Text("reason");
    condition.message = reader.Text("message");
    condition.last_transition = reader.Time("since");
    if (reader.Has("generation")) condition.observed_generation = reader.Int("generation");
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

JsonObject EncodeConsumer(const ConsumerRef& consumer) {
  JsonObject object;
  PutText(&object, "apiVersion", consumer.api_version);
  PutText(&object, "kind", consumer.kind);
  PutText(&object, "ns", consumer.key.ns);
  PutText(&object, "name", consumer.key.name);
  PutText(&object, "uid", consumer.uid);
  return object;
}

void EncodeUnitStatus(const QueueUnit& unit, JsonObject* object) {
  PutText(object, "phase", std::string(PhaseName(unit.phase)));
  PutInt(object, "attempts", unit.attempts);
  PutText(object, "message", unit.message);
  PutTime(object, "lastUpdate", unit.last_update);
  PutTime(object, "lastAllocate", unit.last_allocate);
  PutInt(object, "podsRunning", unit.pods_running);
  PutInt(object, "podsPending", unit.pods_pending);
  if (!unit.admissions.empty()) (*object)["admissions"] = EncodeAdmissions(unit.admissions);
  if (!unit.conditions.empty()) (*object)["conditions"] = EncodeConditions(unit.conditions);
}

void DecodeUnitStatus(ValueReader* reader, QueueUnit* unit) {
  const std::string phase = reader->Text("phase");
  const std::optional<Phase> known = phase.empty() ? Phase::kUnset : PhaseFromName(phase);
  if (known.has_value()) {
    unit->phase = *known;
  } else {
    *reader->error() = absl::InvalidArgumentError(absl::StrCat(reader->Path("phase"), ": unknown phase ", phase));
  }
  unit->attempts = reader->Int("attempts");
  unit->message = reader->Text("message");
  unit->last_update = reader->Time("lastUpdate");
  unit->last_allocate = reader->Time("lastAllocate");
  unit->pods_running = reader->Int("podsRunning");
  unit->pods_pending = reader->Int("podsPending");
  unit->admissions = DecodeAdmissions(reader);
  unit->conditions = DecodeConditions(reader);
}

}  // namespace

void PutText(JsonObject* object, absl::string_view name, const std::string& text) {
  if (!text.empty()) (*object)[View(name)] = text;
}

void PutInt(JsonObject* object, absl::string_view name, int64_t number, int64_t fallback) {
  if (number != fallback) (*object)[View(name)] = number;
}

void PutTime(JsonObject* object, absl::string_view name, absl::Time time) {
  if (time != absl::InfinitePast()) (*object)[View(name)] = absl::ToUnixNanos(time);
}

JsonArray EncodePairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  JsonArray array;
  for (const auto& [name, text] : pairs) array.push_back(JsonArray{Json(name), Json(text)});
  return array;
}

JsonArray EncodeAdmissions(const std::vector<Admission>& admissions) {
  JsonArray array;
  for (const Admission& admission : admissions) {
    JsonObject object;
    PutText(&object, "name", admission.name);
    PutInt(&object, "replicas", admission.replicas);
    PutAmounts(&object, "resources", admission.resources);
    PutInt(&object, "running", admission.running);
    if (admission.reclaim_replicas.has_value()) object["reclaim"] = *admission.reclaim_replicas;
    array.push_back(std::move(object));
  }
  return array;
}

JsonArray EncodeConditions(const std::vector<Condition>& conditions) {
  JsonArray array;
  for (const Condition& condition : conditions) {
    JsonObject object;
    PutText(&object, "type", condition.type);
    PutText(&object, "status", condition.status);
    PutText(&object, "reason", condition.reason);
    PutText(&object, "message", condition.message);
    PutTime(&object, "since", condition.last_transition);
    if (condition.observed_generation.has_value()) object["generation"] = *condition.observed_generation;
    array.push_back(std::move(object));
  }
  return array;
}

JsonObject EncodeUnit(const QueueUnit& unit) {
  JsonObject object = EncodeMetadata(unit);
  PutText(&object, "quota", unit.quota);
  if (unit.consumer != ConsumerRef{}) object["consumer"] = EncodeConsumer(unit.consumer);
  PutInt(&object, "priority", unit.priority);
  PutText(&object, "priorityClass", unit.priority_class);
  PutText(&object, "queue", unit.queue);
  PutAmounts(&object, "resource", unit.resource);
  PutAmounts(&object, "request", unit.request);
  PutPairs(&object, "requestText", unit.request_text);
  PutPairs(&object, "resourceText", unit.resource_text);
  if (!unit.pod_sets.empty()) object["podSets"] = EncodePodSets(unit.pod_sets);
  if (!unit.active) object["active"] = false;
  EncodeUnitStatus(unit, &object);
  return object;
}

absl::StatusOr<QueueUnit> DecodeUnit(const Json& value) {
  absl::Status error;
  ValueReader reader(value, "unit", &error);
  QueueUnit unit;
  DecodeMetadata(&reader, &unit);
  unit.quota = reader.Text("quota");
  if (reader.Has("consumer")) {
    ValueReader consumer(reader.Value("consumer"), reader.Path("consumer"), &error);
    unit.consumer = {consumer.Text("apiVersion"), consumer.Text("kind"), consumer.Key(), consumer.Text("uid")};
  }
  unit.priority = static_cast<int32_t>(reader.Int("priority"));
  unit.priority_class = reader.Text("priorityClass");
  unit.queue = reader.Text("queue");
  unit.resource = reader.Amounts("resource");
  unit.request = reader.Amounts("request");
  unit.request_text = reader.Pairs("requestText");
  unit.resource_text = reader.Pairs("resourceText");
  unit.pod_sets = DecodePodSets(&reader);
  unit.active = reader.Bool("active", true);
  DecodeUnitStatus(&reader, &unit);
  if (!error.ok()) return error;
  return unit;
}

JsonObject EncodeQueue(const Queue& queue) {
  JsonObject object = EncodeMetadata(queue);
  PutText(&object, "policy", queue.policy);
  PutInt(&object, "priority", queue.priority);
  PutText(&object, "priorityClass", queue.priority_class);
  if (!queue.admission_checks.empty()) {
    JsonArray checks;
    for (const std::string& check : queue.admission_checks) checks.emplace_back(check);
    object["admissionChecks"] = std::move(checks);
  }
  if (queue.created_by_us) object["createdByUs"] = true;
  PutText(&object, "carriedPolicy", queue.carried_policy);
  PutText(&object, "itemsRefreshInterval", queue.items_refresh_interval);
  if (queue.items_hidden) object["itemsHidden"] = true;
  PutText(&object, "waitForPodsRunning", queue.wait_for_pods_running);
  PutText(&object, "maxDepth", queue.max_depth);
  return object;
}

absl::StatusOr<Queue> DecodeQueue(const Json& value) {
  absl::Status error;
  ValueReader reader(value, "queue", &error);
  Queue queue;
  DecodeMetadata(&reader, &queue);
  queue.policy = reader.Text("policy");
  queue.priority = static_cast<int32_t>(reader.Int("priority"));
  queue.priority_class = reader.Text("priorityClass");
  for (const Json& check : reader.Array("admissionChecks")) {
    if (!check.is_string()) return absl::InvalidArgumentError("queue.admissionChecks: expected strings");
    queue.admission_checks.emplace_back(check.get_string().c_str());
  }
  queue.created_by_us = reader.Bool("createdByUs");
  queue.carried_policy = reader.Text("carriedPolicy");
  queue.items_refresh_interval = reader.Text("itemsRefreshInterval");
  queue.items_hidden = reader.Bool("itemsHidden");
  queue.wait_for_pods_running = reader.Text("waitForPodsRunning");
  queue.max_depth = reader.Text("maxDepth");
  if (!error.ok()) return error;
  return queue;
}

JsonObject EncodeQuota(const Quota& quota) {
  JsonObject object = EncodeMetadata(quota);
  PutText(&object, "parent", quota.parent);
  PutAmounts(&object, "min", quota.min);
  PutAmounts(&object, "max", quota.max);
  if (!quota.lends) object["lends"] = false;
  PutText(&object, "oddLends", quota.odd_lends);
  PutText(&object, "queuePolicy", quota.queue_policy);
  PutPairs(&object, "queueAnnotations", quota.queue_annotations);
  PutPairs(&object, "minText", quota.min_text);
  PutPairs(&object, "maxText", quota.max_text);
  PutText(&object, "unknownFields", quota.unknown_fields);
  return object;
}

absl::StatusOr<Quota> DecodeQuota(const Json& value) {
  absl::Status error;
  ValueReader reader(value, "quota", &error);
  Quota quota;
  DecodeMetadata(&reader, &quota);
  quota.parent = reader.Text("parent");
  quota.min = reader.Amounts("min");
  quota.max = reader.Amounts("max");
  quota.lends = reader.Bool("lends", true);
  quota.odd_lends = reader.Text("oddLends");
  quota.queue_policy = reader.Text("queuePolicy");
  quota.queue_annotations = reader.Pairs("queueAnnotations");
  quota.min_text = reader.Pairs("minText");
  quota.max_text = reader.Pairs("maxText");
  quota.unknown_fields = reader.Text("unknownFields");
  if (!error.ok()) return error;
  return quota;
}

ValueReader::ValueReader(const Json& value, std::string path, absl::Status* error)
    : object_(value.if_object()), path_(std::move(path)), error_(error) {
  if (object_ == nullptr) Fail(absl::InvalidArgumentError(absl::StrCat(path_, ": expected an object")));
}

void ValueReader::Fail(const absl::Status& status) {
  if (error_->ok()) *error_ = status;
}

std::string ValueReader::Text(absl::string_view name) {
  if (object_ == nullptr) return "";
  absl::StatusOr<std::string> text = StringField(*object_, name, path_);
  if (text.ok()) return *std::move(text);
  Fail(text.status());
  return "";
}

int64_t ValueReader::Int(absl::string_view name, int64_t fallback) {
  if (object_ == nullptr) return fallback;
  const absl::StatusOr<int64_t> number = IntField(*object_, name, path_, fallback);
  if (number.ok()) return *number;
  Fail(number.status());
  return fallback;
}

bool ValueReader::Bool(absl::string_view name, bool fallback) {
  if (object_ == nullptr) return fallback;
  const absl::StatusOr<bool> flag = BoolField(*object_, name, path_, fallback);
  if (flag.ok()) return *flag;
  Fail(flag.status());
  return fallback;
}

absl::Time ValueReader::Time(absl::string_view name) {
  return Has(name) ? absl::FromUnixNanos(Int(name)) : absl::InfinitePast();
}

Resources ValueReader::Amounts(absl::string_view name) {
  Resources resources;
  if (!Has(name)) return resources;
  const JsonObject* amounts = Value(name).if_object();
  if (amounts == nullptr) {
    Fail(absl::InvalidArgumentError(absl::StrCat(Path(name), ": expected an object")));
    return resources;
  }
  for (const auto& entry : *amounts) {
    const absl::string_view resource(entry.key().data(), entry.key().size());
    const absl::StatusOr<int64_t> amount = IntField(*amounts, resource, Path(name));
    if (!amount.ok()) Fail(amount.status());
    resources.Set(resource, amount.value_or(0));
  }
  return resources;
}

std::vector<std::pair<std::string, std::string>> ValueReader::Pairs(absl::string_view name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Json& value : Array(name)) {
    const JsonArray* pair = value.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) {
      Fail(absl::InvalidArgumentError(absl::StrCat(Path(name), ": expected pairs of strings")));
      return {};
    }
    pairs.emplace_back(std::string((*pair)[0].get_string()), std::string((*pair)[1].get_string()));
  }
  return pairs;
}

const JsonArray& ValueReader::Array(absl::string_view name) {
  static const JsonArray* const kEmpty = new JsonArray();
  if (!Has(name)) return *kEmpty;
  const JsonArray* array = Value(name).if_array();
  if (array != nullptr) return *array;
  Fail(absl::InvalidArgumentError(absl::StrCat(Path(name), ": expected a list")));
  return *kEmpty;
}

const Json& ValueReader::Value(absl::string_view name) {
  static const Json* const kNull = new Json();
  if (object_ == nullptr) return *kNull;
  const Json* value = object_->if_contains(name_of(name));
  return value != nullptr ? *value : *kNull;
}

}  // namespace kq::scheduler
