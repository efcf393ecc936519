// The contract that the real API server keeps, kept by the fake.
#include <catch2/catch.hpp>

#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "libs/kube/testing/kube_api_contract.h"

namespace kq {
namespace {

TEST_CASE("the fake API server keeps the contract") {
  const ContractCase contract_case = GENERATE(from_range(KubeApiContract()));
  CAPTURE(contract_case.name);
  SimulatedClock clock{absl::FromUnixSeconds(1700000000)};
  FakeKubeApi api{{.clock = &clock}};
  const auto validate = [](const Json& object) {
    const Json* size = Find(object, {"spec", "size"});
    return size != nullptr && size->to_number<int64_t>() < 0
               ? absl::InvalidArgumentError("spec.size: Invalid value: should be greater than or equal to 0")
               : absl::OkStatus();
  };
  api.AddResource(
      ContractResource(),
      {.kind = "Widget", .status_subresource = true, .default_status = {{"phase", "Enqueued"}}, .validate = validate});
  api.AddResource({"", "v1", "configmaps"}, {.kind = "ConfigMap"});
  api.AddResource({"", "v1", "events"}, {.kind = "Event"});
  api.AddResource({"coordination.k8s.io", "v1", "leases"}, {.kind = "Lease"});
  api.AddNamespace("contract");
  ContractWorld world;
  world.api = &api;
  world.ns = "contract";
  world.compact = [&] { api.Compact(); };
  world.bookmark = [&] { api.SendBookmark(ContractResource()); };
  contract_case.run(world);
}

}  // namespace
}  // namespace kq
