#include "services/scheduler/runtime/testing/small_world.h"

#include "absl/strings/str_cat.h"
#include "services/scheduler/runtime/kinds.h"

namespace kq::scheduler {
namespace {

constexpr char kQuotaLabel[] = "quota.scheduling.koordinator.sh/name";

Json Object(const std::string& api_version, const std::string& kind, const ObjectKey& key) {
  return JsonObject{
      {"apiVersion", api_version}, {"kind", kind}, {"metadata", JsonObject{{"namespace", key.ns}, {"name", key.name}}}};
}

JsonObject Cpus(int cpus) { return {{"cpu", absl::StrCat(cpus)}}; }

}  // namespace

void AddKinds(FakeKubeApi* api) {
  FakeResource unit;
  unit.kind = "QueueUnit";
  unit.status_subresource = true;
  api->AddResource(QueueUnits(), unit);
  FakeResource queue;
  queue.kind = "Queue";
  queue.status_subresource = true;
  api->AddResource(Queues(), queue);
  FakeResource quota;
  quota.kind = "ElasticQuota";
  api->AddResource(ElasticQuotas(), quota);
}

Json QuotaObject(const std::string& name, int cpus) {
  Json object = Object(kQuotaApiVersion, "ElasticQuota", {"kube-system", name});
  object.as_object()["spec"] = JsonObject{{"max", Cpus(cpus)}, {"min", Cpus(cpus)}};
  return object;
}

Json UnitObject(const std::string& name, const std::string& quota, int cpus) {
  Json object = Object(kQueueingApiVersion, "QueueUnit", {"default", name});
  if (!quota.empty()) object.at("metadata").as_object()["labels"] = JsonObject{{kQuotaLabel, quota}};
  object.as_object()["spec"] = JsonObject{{"resource", Cpus(cpus)}, {"request", Cpus(cpus)}};
  return object;
}

Json QueueObject(const std::string& name) {
  Json object = Object(kQueueingApiVersion, "Queue", {std::string(kQueueNamespace), name});
  object.as_object()["spec"] = JsonObject{{"queuePolicy", "Priority"}, {"priority", 1000}};
  return object;
}

Json PodObject(const std::string& ns, const std::string& name) { return Object("v1", "Pod", {ns, name}); }

Json OnServer(const FakeKubeApi& api, const KubeResource& resource, const ObjectKey& key) {
  for (const Json& object : api.Objects(resource)) {
    if (KeyOf(object) == key) return object;
  }
  return nullptr;
}

QueueUnit UnitValue(const std::string& name, uint64_t version, int64_t milli_cpu) {
  QueueUnit unit;
  unit.key = {"default", name};
  unit.uid = "uid-" + name;
  unit.version = version;
  unit.created = absl::FromUnixSeconds(1700000000);
  unit.quota = "team-a";
  unit.resource = {{"cpu", milli_cpu}};
  unit.phase = Phase::kEnqueued;
  return unit;
}

Queue QueueValue(const std::string& name, uint64_t version) {
  Queue queue;
  queue.key = {std::string(kQueueNamespace), name};
  queue.uid = "uid-" + name;
  queue.version = version;
  queue.policy = "Priority";
  return queue;
}

Quota QuotaValue(const std::string& name, uint64_t version, int64_t milli_cpu) {
  Quota quota;
  quota.key = {"kube-system", name};
  quota.uid = "uid-quota-" + name;
  quota.version = version;
  quota.parent = std::string(kRootQuota);
  quota.max = {{"cpu", milli_cpu}};
  return quota;
}

}  // namespace kq::scheduler
