#include "services/debug-api/server_objects.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq::debug_api {
namespace {

const KubeResource kUnits{"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
const KubeResource kQuotas{"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"};

struct Cluster {
  Cluster() {
    api.AddResource(kUnits, {.kind = "QueueUnit", .status_subresource = true});
    api.AddResource(kQuotas, {.kind = "ElasticQuota"});
  }
  void AddUnit(const std::string& name, const std::string& cpu = "1") {
    const Json unit = {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                       {"kind", "QueueUnit"},
                       {"metadata", {{"name", name}, {"labels", {{"quota.scheduling.koordinator.sh/name", "q"}}}}},
                       {"spec", {{"resource", {{"cpu", cpu}}}}}};
    REQUIRE(api.Create(kUnits, "n", unit).ok());
  }
  void SetPhase(const std::string& name, const std::string& phase) {
    REQUIRE(api.Patch({kUnits, {"n", name}, Subresource::kStatus, PatchType::kMerge, {{"status", {{"phase", phase}}}}})
                .ok());
  }

  SimulatedClock clock;
  FakeKubeApi api{{.clock = &clock}};
};

TEST_CASE("units and quotas are read as the scheduler reads them", "[debug-api]") {
  Cluster cluster;
  cluster.AddUnit("waits");
  cluster.AddUnit("runs", "1500m");
  cluster.SetPhase("runs", "Running");
  cluster.AddUnit("over");
  cluster.SetPhase("over", "Succeed");
  const Json quota = {{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
                      {"kind", "ElasticQuota"},
                      {"metadata", {{"name", "q"}}},
                      {"spec", {{"max", {{"cpu", "4"}}}}}};
  REQUIRE(cluster.api.Create(kQuotas, "kube-system", quota).ok());

  const auto objects = ListServerObjects(&cluster.api);
  REQUIRE(objects.ok());
  REQUIRE(objects->units.size() == 3);
  const ServerUnit& waits = objects->units.at({"n", "waits"});
  CHECK(waits.phase == "Enqueued");
  CHECK(waits.quota == "q");
  CHECK_FALSE(waits.uid.empty());
  CHECK(waits.held.Nonzero().Empty());
  CHECK(objects->units.at({"n", "runs"}).held.At("cpu") == 1500);
  CHECK(objects->units.at({"n", "over"}).finished);
  CHECK(objects->units.at({"n", "over"}).held.Nonzero().Empty());
  REQUIRE(objects->quotas.size() == 1);
  CHECK(objects->quotas.at({"kube-system", "q"}).max.At("cpu") == 4000);
  CHECK(objects->unreadable.empty());
}

TEST_CASE("a long list is read page by page", "[debug-api]") {
  Cluster cluster;
  for (int i = 0; i < 1203; ++i) cluster.AddUnit(absl::StrCat("u", i));
  const auto objects = ListServerObjects(&cluster.api);
  REQUIRE(objects.ok());
  CHECK(objects->units.size() == 1203);
  CHECK(cluster.api.Calls(FakeCall::Verb::kList) == 4);  // three pages of units, one of quotas
}

TEST_CASE("a list whose pages are too old is begun anew, and no object is there twice or lost", "[debug-api]") {
  Cluster cluster;
  for (int i = 0; i < 600; ++i) cluster.AddUnit(absl::StrCat("u", i));
  int calls = 0;
  cluster.api.set_faults([&](const FakeCall& call) {
    // The second page of units, the first time.
    const bool gone = call.resource == kUnits && ++calls == 2;
    return FakeFault{gone ? FakeFault::Kind::kGone : FakeFault::Kind::kNone};
  });
  const auto objects = ListServerObjects(&cluster.api);
  REQUIRE(objects.ok());
  CHECK(objects->units.size() == 600);
  CHECK(calls == 4);

  cluster.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kGone}; });
  const int64_t before = cluster.api.Calls(FakeCall::Verb::kList);
  CHECK(ListServerObjects(&cluster.api).status().code() == absl::StatusCode::kOutOfRange);
  CHECK(cluster.api.Calls(FakeCall::Verb::kList) == before + 3);
}

TEST_CASE("an error of the API server names what was listed", "[debug-api]") {
  Cluster cluster;
  cluster.api.set_faults([](const FakeCall& call) {
    return FakeFault{call.resource == kUnits ? FakeFault::Kind::kUnavailable : FakeFault::Kind::kNone};
  });
  const absl::Status status = ListServerObjects(&cluster.api).status();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Catch::StartsWith("list queueunits: "));
}

}  // namespace
}  // namespace kq::debug_api
