#include "services/visibility/discovery.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/version.h"

namespace kq::visibility {
namespace {

JsonObject VersionEntry() { return {{"groupVersion", kGroupVersion}, {"version", kVersionName}}; }

JsonObject GroupEntry() {
  return {{"name", kGroup}, {"versions", JsonArray{VersionEntry()}}, {"preferredVersion", VersionEntry()}};
}

JsonObject With(JsonObject object, const std::string& kind, const std::string& api_version) {
  object["kind"] = kind;
  object["apiVersion"] = api_version;
  return object;
}

JsonObject Resource(const std::string& name, const std::string& singular, const std::string& kind, JsonArray verbs) {
  return {
      {"name", name}, {"singularName", singular}, {"namespaced", false}, {"kind", kind}, {"verbs", std::move(verbs)}};
}

JsonObject ResponseKind(const std::string& kind) {
  return {{"group", kGroup}, {"version", kVersionName}, {"kind", kind}};
}

// A collection for discovery alone, with the units below each of its members.
JsonObject AggregatedResource(const std::string& plural, const std::string& singular, const std::string& kind) {
  const JsonObject units = {
      {"subresource", "queueunits"}, {"responseKind", ResponseKind("QueueUnitsSummary")}, {"verbs", JsonArray{"get"}}};
  return {{"resource", plural},   {"responseKind", ResponseKind(kind)},
          {"scope", "Cluster"},   {"singularResource", singular},
          {"verbs", JsonArray()}, {"subresources", JsonArray{units}}};
}

std::string DefinitionName(const std::string& kind) {
  return absl::StrCat("io.x-k8s.koord-queue.visibility.v1alpha1.", kind);
}

JsonObject Typed(const std::string& type, const std::string& description) {
  return {{"type", type}, {"description", description}};
}

JsonObject Quantities(const std::string& description) {
  JsonObject schema = Typed("object", description);
  schema["additionalProperties"] = JsonObject{{"type", "string"}};
  return schema;
}

JsonObject UnitSchema() {
  JsonObject pods = Typed("object", "Pods of the job.");
  pods["properties"] = JsonObject{{"pending", Typed("integer", "Pods that do not run yet.")},
                                  {"running", Typed("integer", "Pods that run.")}};
  JsonObject schema = Typed("object", "A QueueUnit as the scheduler has it.");
  schema["properties"] = JsonObject{
      {"metadata", Typed("object", "Name, namespace, uid and creationTimestamp of the QueueUnit.")},
      {"quotaName", Typed("string", "The ElasticQuota that it is charged to.")},
      {"queueName", Typed("string", "The Queue that it waits in.")},
      {"request", Quantities("spec.request")},
      {"resources", Quantities("spec.resource")},
      {"phase", Typed("string", "status.phase")},
      {"podState", pods},
      {"position", Typed("integer", "Place in its queue, from 1, before any filter; 0 if it does not wait in one.")},
      {"priority", Typed("integer", "spec.priority")},
      {"attempts", Typed("integer", "How often it was asked.")},
      {"message", Typed("string", "Why it waits, with present numbers.")}};
  return schema;
}

// `reference` is where definitions stand in this kind of document.
JsonObject SummarySchema(const std::string& reference) {
  JsonObject items = Typed("array", "The units, in order.");
  items["items"] = JsonObject{{"$ref", absl::StrCat(reference, DefinitionName("QueueUnit"))}};
  JsonObject schema = Typed("object", "Units of a queue or of a quota.");
  schema["properties"] =
      JsonObject{{"kind", Typed("string", "QueueUnitsSummary")},
                 {"apiVersion", Typed("string", kGroupVersion)},
                 {"metadata", Typed("object", "resourceVersion, remainingItemCount and totalItemCount of the list.")},
                 {"items", items}};
  schema["x-kubernetes-group-version-kind"] = JsonArray{ResponseKind("QueueUnitsSummary")};
  return schema;
}

JsonObject Schemas(const std::string& reference) {
  return {{DefinitionName("QueueUnit"), UnitSchema()}, {DefinitionName("QueueUnitsSummary"), SummarySchema(reference)}};
}

std::string PathOf(const std::string& plural) {
  return absl::StrCat("/apis/", kGroupVersion, "/", plural, "/{name}/queueunits");
}

// The parameters of both lists; v3 puts the type into a schema.
JsonArray Parameters(bool v3) {
  JsonArray parameters;
  const auto add = [&](const std::string& name, const std::string& in, const std::string& type,
                       const std::string& about) {
    JsonObject parameter = {{"name", name}, {"in", in}, {"description", about}, {"required", in == "path"}};
    if (v3) {
      parameter["schema"] = JsonObject{{"type", type}};
    } else {
      parameter["type"] = type;
    }
    parameters.push_back(std::move(parameter));
  };
  add("name", "path", "string", "Name of the queue or quota.");
  add("phase", "query", "string", "Only units in this phase.");
  add("queue", "query", "string", "Only units of this queue.");
  add("offset", "query", "integer", "Leave so many out.");
  add("limit", "query", "integer", "So many at most; 0: all.");
  return parameters;
}

JsonObject Operation(const std::string& id, bool v3) {
  JsonObject ok = {{"description", "OK"}};
  const std::string summary = DefinitionName("QueueUnitsSummary");
  if (v3) {
    const JsonObject schema = {{"schema", JsonObject{{"$ref", absl::StrCat("#/components/schemas/", summary)}}}};
    ok["content"] = JsonObject{{"application/json", schema}};
  } else {
    ok["schema"] = JsonObject{{"$ref", absl::StrCat("#/definitions/", summary)}};
  }
  JsonObject operation = {
      {"description", "Lists units."}, {"operationId", id},
      {"parameters", Parameters(v3)},  {"responses", JsonObject{{"200", ok}}},
      {"x-kubernetes-action", "get"},  {"x-kubernetes-group-version-kind", ResponseKind("QueueUnitsSummary")}};
  if (!v3) operation["produces"] = JsonArray{"application/json"};
  return operation;
}

JsonObject Paths(bool v3) {
  return {{PathOf("queues"), JsonObject{{"get", Operation("readQueueUnitsOfQueue", v3)}}},
          {PathOf("elasticquotas"), JsonObject{{"get", Operation("readQueueUnitsOfQuota", v3)}}}};
}

JsonObject Title() { return {{"title", "koord-queue visibility"}, {"version", std::string(kVersion)}}; }

}  // namespace

Json ApiGroup() { return With(GroupEntry(), "APIGroup", "v1"); }

Json ApiGroupList() { return With({{"groups", JsonArray{GroupEntry()}}}, "APIGroupList", "v1"); }

Json ApiResourceList() {
  return With({{"groupVersion", kGroupVersion},
               {"resources", JsonArray{Resource("queues", "queue", "Queue", JsonArray()),
                                       Resource("queues/queueunits", "", "QueueUnitsSummary", {"get"}),
                                       Resource("elasticquotas", "elasticquota", "ElasticQuota", JsonArray()),
                                       Resource("elasticquotas/queueunits", "", "QueueUnitsSummary", {"get"})}}},
              "APIResourceList", "v1");
}

Json AggregatedDiscovery(const char* version) {
  const JsonArray resources = {AggregatedResource("queues", "queue", "Queue"),
                               AggregatedResource("elasticquotas", "elasticquota", "ElasticQuota")};
  const JsonObject group_version = {{"version", kVersionName}, {"resources", resources}, {"freshness", "Current"}};
  const JsonObject group = {{"metadata", JsonObject{{"name", kGroup}}}, {"versions", JsonArray{group_version}}};
  return With({{"metadata", JsonObject()}, {"items", JsonArray{group}}}, "APIGroupDiscoveryList",
              absl::StrCat("apidiscovery.k8s.io/", version));
}

Json OpenApiV2() {
  return {{"swagger", "2.0"}, {"info", Title()}, {"paths", Paths(false)}, {"definitions", Schemas("#/definitions/")}};
}

Json OpenApiV3Index() {
  const std::string path = absl::StrCat("apis/", kGroupVersion);
  return {{"paths", JsonObject{{path, JsonObject{{"serverRelativeURL", absl::StrCat("/openapi/v3/", path)}}}}}};
}

Json OpenApiV3() {
  return {{"openapi", "3.0.0"},
          {"info", Title()},
          {"paths", Paths(true)},
          {"components", JsonObject{{"schemas", Schemas("#/components/schemas/")}}}};
}

Json VersionDocument() {
  return {{"major", "0"},
          {"minor", "1"},
          {"gitVersion", absl::StrCat("v", kVersion)},
          {"gitCommit", std::string(GitCommit())},
          {"gitTreeState", ""},
          {"buildDate", ""},
          {"goVersion", ""},
          {"compiler", ""},
          {"platform", "linux"}};
}

}  // namespace kq::visibility
