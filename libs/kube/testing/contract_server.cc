#include "libs/kube/testing/contract_server.h"

#include <catch2/catch.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kq::testing {

Json Widget(const std::string& name, const std::string& of_case, int size) {
  Json widget = {{"apiVersion", "example.com/v1"},
                 {"kind", "Widget"},
                 {"metadata", {{"name", name}}},
                 {"spec", {{"size", size}, {"node", "n1"}}}};
  if (!of_case.empty()) widget.as_object()["metadata"].as_object()["labels"] = {{"case", of_case}};
  return widget;
}

JsonObject& Part(Json* object, const char* name) {
  Json& part = object->as_object()[name];
  if (!part.is_object()) part = JsonObject();
  return part.as_object();
}

std::string Phase(const Json& object) { return StringAt(object, {"status", "phase"}); }

int64_t Size(const Json& object) {
  const Json* size = Find(object, {"spec", "size"});
  return size == nullptr ? -1 : size->to_number<int64_t>();
}

int64_t Generation(const Json& object) {
  const Json* generation = Find(object, {"metadata", "generation"});
  return generation == nullptr ? 0 : generation->to_number<int64_t>();
}

absl::StatusOr<Json> ContractServer::TryCreate(const Json& object) const {
  return api.Create(ContractResource(), world.ns, object);
}

Json ContractServer::Create(const Json& object) const {
  const absl::StatusOr<Json> created = TryCreate(object);
  INFO("create: " << created.status().ToString());
  REQUIRE(created.ok());
  return *created;
}

absl::StatusOr<Json> ContractServer::Lookup(const std::string& name) const {
  return api.Get(ContractResource(), Key(name));
}

absl::StatusOr<Json> ContractServer::Patch(const std::string& name, PatchType type, Json patch,
                                           Subresource subresource) const {
  return api.Patch({ContractResource(), Key(name), subresource, type, std::move(patch)});
}

absl::StatusOr<Json> ContractServer::Merge(const std::string& name, Json patch) const {
  return Patch(name, PatchType::kMerge, std::move(patch));
}

absl::StatusOr<Json> ContractServer::MergeStatus(const std::string& name, Json patch) const {
  return Patch(name, PatchType::kMerge, std::move(patch), Subresource::kStatus);
}

absl::Status ContractServer::Delete(const std::string& name, const std::string& uid, uint64_t version) const {
  return api.Delete({ContractResource(), Key(name), uid, version, Propagation::kBackground});
}

ListRequest ContractServer::Listing(const std::string& of_case, int page_size) const {
  ListRequest request;
  request.resource = ContractResource();
  request.ns = world.ns;
  request.label_selector = absl::StrCat("case=", of_case);
  request.page_size = page_size;
  return request;
}

std::vector<std::string> ContractServer::Names(const ListRequest& request) const {
  const absl::StatusOr<ListPage> page = api.List(request);
  INFO("list: " << page.status().ToString());
  REQUIRE(page.ok());
  std::vector<std::string> names;
  for (const Json& item : page->items) names.push_back(KeyOf(item).name);
  return names;
}

std::unique_ptr<WatchStream> ContractServer::Watch(const std::string& of_case, uint64_t from_version) const {
  WatchRequest request;
  request.resource = ContractResource();
  request.ns = world.ns;
  request.label_selector = absl::StrCat("case=", of_case);
  request.from_version = from_version;
  absl::StatusOr<std::unique_ptr<WatchStream>> stream = api.Watch(request);
  INFO("watch: " << stream.status().ToString());
  REQUIRE(stream.ok());
  return *std::move(stream);
}

}  // namespace kq::testing
