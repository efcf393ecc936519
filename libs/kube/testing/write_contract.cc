#include <catch2/catch.hpp>

#include "libs/kube/testing/contract_server.h"

namespace kq::testing {
namespace {

using Code = absl::StatusCode;

const KubeResource kConfigMaps = {"", "v1", "configmaps"};

void MergePatches(const ContractWorld& world) {
  const ContractServer server(world);
  Json widget = Widget("merge", "merge");
  Part(&widget, "spec")["list"] = JsonArray{1, 2, 3};
  Part(&widget, "spec")["map"] = {{"a", "1"}, {"b", "2"}};
  const Json before = server.Create(widget);
  const absl::StatusOr<Json> after =
      server.Merge("merge", {{"spec", {{"size", 5}, {"list", JsonArray{4}}, {"map", {{"a", nullptr}, {"c", "3"}}}}}});
  REQUIRE(after.ok());
  const JsonObject map = {{"b", "2"}, {"c", "3"}};
  CHECK(Size(*after) == 5);
  CHECK(*Find(*after, {"spec", "list"}) == Json(JsonArray{4}));
  CHECK(*Find(*after, {"spec", "map"}) == Json(map));
  CHECK(StringAt(*after, {"spec", "node"}) == "n1");
  CHECK(VersionOf(*after) > VersionOf(before));
  CHECK(Generation(*after) == 2);

  const absl::StatusOr<Json> labelled = server.Merge("merge", {{"metadata", {{"labels", {{"more", "yes"}}}}}});
  REQUIRE(labelled.ok());
  CHECK(StringAt(*labelled, {"metadata", "labels", "case"}) == "merge");
  CHECK(Generation(*labelled) == 2);
  CHECK(server.Merge("merge", {{"spec", {{"size", -1}}}}).status().code() == Code::kInvalidArgument);
}

void JsonPatches(const ContractWorld& world) {
  const ContractServer server(world);
  server.Create(Widget("json-patch"));
  const auto operation = [](const char* op, const char* path, Json value) {
    return Json{{"op", op}, {"path", path}, {"value", std::move(value)}};
  };
  const auto patch = [&](JsonArray operations) {
    return server.Patch("json-patch", PatchType::kJson, Json(std::move(operations)));
  };
  const absl::StatusOr<Json> after = patch({operation("test", "/spec/size", 1),
                                            operation("replace", "/spec/size", 7),
                                            operation("add", "/metadata/labels", {{"a", "b"}}),
                                            {{"op", "remove"}, {"path", "/spec/node"}}});
  INFO(after.status().ToString());
  REQUIRE(after.ok());
  CHECK(Size(*after) == 7);
  CHECK(StringAt(*after, {"metadata", "labels", "a"}) == "b");
  CHECK(Find(*after, {"spec", "node"}) == nullptr);
  CHECK(patch({operation("test", "/spec/size", 1)}).status().code() == Code::kInvalidArgument);
  CHECK(patch({operation("replace", "/spec/no/such", 1)}).status().code() == Code::kInvalidArgument);
  CHECK(patch({operation("replace", "/metadata/resourceVersion", "1")}).status().code() == Code::kAborted);
}

void StrategicMergePatches(const ContractWorld& world) {
  const ContractServer server(world);
  const Json object = {{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"name", "strategic"}}},
                       {"data", {{"a", "1"}, {"b", "2"}}}};
  const absl::StatusOr<Json> before = server.api.Create(kConfigMaps, world.ns, object);
  REQUIRE(before.ok());
  const Json patch = {{"data", {{"a", "5"}, {"b", nullptr}}}};
  const absl::StatusOr<Json> after =
      server.api.Patch({kConfigMaps, server.Key("strategic"), Subresource::kNone, PatchType::kStrategicMerge, patch});
  REQUIRE(after.ok());
  const JsonObject want = {{"a", "5"}};
  CHECK(*Find(*after, {"data"}) == Json(want));
  CHECK(VersionOf(*after) > VersionOf(*before));
}

void NothingChanged(const ContractWorld& world) {
  const ContractServer server(world);
  server.Create(Widget("same"));
  // The first write of an object also stores the default of its status, and so moves the version.
  const absl::StatusOr<Json> before = server.Merge("same", {{"spec", {{"size", 2}}}});
  REQUIRE(before.ok());
  const absl::StatusOr<Json> after = server.Merge("same", {{"spec", {{"size", 2}}}});
  REQUIRE(after.ok());
  CHECK(VersionOf(*after) == VersionOf(*before));
  const absl::StatusOr<Json> status = server.MergeStatus("same", {{"status", {{"phase", "Enqueued"}}}});
  REQUIRE(status.ok());
  CHECK(VersionOf(*status) == VersionOf(*before));
}

void StatusIsApart(const ContractWorld& world) {
  const ContractServer server(world);
  server.Create(Widget("status"));
  const Json both = {{"spec", {{"size", 9}}}, {"status", {{"phase", "Dequeued"}}}};
  absl::StatusOr<Json> after = server.MergeStatus("status", both);
  REQUIRE(after.ok());
  CHECK(Size(*after) == 1);
  CHECK(Phase(*after) == "Dequeued");
  CHECK(Generation(*after) == 1);
  after = server.Merge("status", {{"spec", {{"size", 9}}}, {"status", {{"phase", "Running"}}}});
  REQUIRE(after.ok());
  CHECK(Size(*after) == 9);
  CHECK(Phase(*after) == "Dequeued");

  Json object = *after;
  Part(&object, "spec")["size"] = 10;
  Part(&object, "status")["phase"] = "Succeed";
  after = server.api.Update(ContractResource(), Subresource::kStatus, object);
  REQUIRE(after.ok());
  CHECK(Size(*after) == 9);
  CHECK(Phase(*after) == "Succeed");
}

void WritesAreConditional(const ContractWorld& world) {
  const ContractServer server(world);
  const Json first = server.Create(Widget("conditional"));
  const auto on = [](const Json& object) {
    return Json{{"resourceVersion", absl::StrCat(VersionOf(object))}, {"uid", UidOf(object)}};
  };
  absl::StatusOr<Json> second =
      server.MergeStatus("conditional", {{"metadata", on(first)}, {"status", {{"phase", "A"}}}});
  INFO(second.status().ToString());
  REQUIRE(second.ok());
  CHECK(VersionOf(*second) > VersionOf(first));
  CHECK(server.MergeStatus("conditional", {{"metadata", on(first)}, {"status", {{"phase", "B"}}}}).status().code() ==
        Code::kAborted);
  CHECK(server.Merge("conditional", {{"metadata", on(first)}, {"spec", {{"size", 2}}}}).status().code() ==
        Code::kAborted);

  Json object = first;
  Part(&object, "spec")["size"] = 3;
  CHECK(server.api.Update(ContractResource(), Subresource::kNone, object).status().code() == Code::kAborted);
  object = *second;
  Part(&object, "spec")["size"] = 3;
  const absl::StatusOr<Json> third = server.api.Update(ContractResource(), Subresource::kNone, object);
  REQUIRE(third.ok());
  CHECK(Size(*third) == 3);
  Part(&object, "metadata").erase("resourceVersion");
  CHECK(server.api.Update(ContractResource(), Subresource::kNone, object).status().code() == Code::kInvalidArgument);
  CHECK(Phase(*server.Lookup("conditional")) == "A");
}

void UidIsACondition(const ContractWorld& world) {
  const ContractServer server(world);
  const Json before = server.Create(Widget("uid"));
  REQUIRE(server.Delete("uid").ok());
  const Json now = server.Create(Widget("uid"));
  REQUIRE(UidOf(now) != UidOf(before));
  const Json patch = {{"metadata", {{"uid", UidOf(before)}}}, {"spec", {{"size", 2}}}};
  CHECK(server.Merge("uid", patch).status().code() == Code::kAborted);
  const Json status = {{"metadata", {{"uid", UidOf(before)}, {"resourceVersion", absl::StrCat(VersionOf(before))}}},
                       {"status", {{"phase", "Dequeued"}}}};
  CHECK(server.MergeStatus("uid", status).status().code() == Code::kAborted);
  CHECK(server.Delete("uid", UidOf(before)).code() == Code::kAborted);
  CHECK(Size(*server.Lookup("uid")) == 1);
}

void DeletesAreConditional(const ContractWorld& world) {
  const ContractServer server(world);
  const Json first = server.Create(Widget("delete"));
  const absl::StatusOr<Json> second = server.Merge("delete", {{"spec", {{"size", 2}}}});
  REQUIRE(second.ok());
  CHECK(server.Delete("delete", UidOf(first), VersionOf(first)).code() == Code::kAborted);
  CHECK(server.Lookup("delete").ok());
  CHECK(server.Delete("delete", UidOf(first), VersionOf(*second)).ok());
  CHECK(server.Lookup("delete").status().code() == Code::kNotFound);
  CHECK(server.Delete("delete").code() == Code::kNotFound);
}

void FinalizersHoldAnObject(const ContractWorld& world) {
  const ContractServer server(world);
  Json widget = Widget("finalizer");
  Part(&widget, "metadata")["finalizers"] = JsonArray{"example.com/hold"};
  server.Create(widget);
  CHECK(server.Delete("finalizer").ok());
  const absl::StatusOr<Json> held = server.Lookup("finalizer");
  REQUIRE(held.ok());
  CHECK_FALSE(StringAt(*held, {"metadata", "deletionTimestamp"}).empty());
  CHECK(server.Merge("finalizer", {{"metadata", {{"finalizers", nullptr}}}}).ok());
  CHECK(server.Lookup("finalizer").status().code() == Code::kNotFound);
}

}  // namespace

std::vector<ContractCase> WriteContract() {
  return {
      {"a merge patch merges, removes by null and raises the generation", MergePatches},
      {"a JSON patch tests, adds, replaces and removes", JsonPatches},
      {"a strategic merge patch merges", StrategicMergePatches},
      {"a write that changes nothing keeps the version", NothingChanged},
      {"object and status are written apart", StatusIsApart},
      {"a write is conditional on the version it names", WritesAreConditional},
      {"a write is conditional on the uid it names", UidIsACondition},
      {"a delete is conditional on uid and version", DeletesAreConditional},
      {"finalizers hold an object until they are gone", FinalizersHoldAnObject},
  };
}

}  // namespace kq::testing
