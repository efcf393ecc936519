#include "libs/kube/testing/kube_api_contract.h"

#include <catch2/catch.hpp>
#include <utility>

#include "libs/common/clock.h"
#include "libs/kube/events.h"
#include "libs/kube/lease.h"
#include "libs/kube/testing/contract_server.h"

namespace kq {
namespace {

using testing::ContractServer;
using testing::Widget;

void LeasesAreHeld(const ContractWorld& world) {
  const ContractServer server(world);
  LeaseOptions options;
  options.key = server.Key("contract-lease");
  options.identity = "first";
  Lease first(options, world.api, &Clock::Real());
  options.identity = "second";
  Lease second(options, world.api, &Clock::Real());
  first.Step();
  INFO(first.Health().ToString());
  CHECK(first.role() == Lease::Role::kLeader);
  second.Step();
  CHECK(second.role() == Lease::Role::kFollower);
  CHECK(second.Holder() == "first");
  first.Step();
  CHECK(first.MayWrite());
  CHECK(first.Release().ok());
  second.Step();
  INFO(second.Health().ToString());
  CHECK(second.MayWrite());
}

void EventsAreTaken(const ContractWorld& world) {
  const ContractServer server(world);
  const Json widget = server.Create(Widget("with-events"));
  EventOptions options;
  options.component = "contract";
  options.host = "host";
  EventRecorder recorder(options, world.api, &Clock::Real());
  const ObjectReference object = {"example.com/v1", "Widget", KeyOf(widget), UidOf(widget), VersionOf(widget)};
  for (int i = 0; i < 2; ++i) {
    recorder.Record(object, EventType::kWarning, "FailedScheduling", "no room");
    CHECK(recorder.Step(absl::ZeroDuration()));
  }
  CHECK(recorder.Now().written == 2);
  ListRequest request;
  request.resource = {"", "v1", "events"};
  request.ns = world.ns;
  request.field_selector = "involvedObject.name=with-events,reason=FailedScheduling,type=Warning";
  const absl::StatusOr<ListPage> page = server.api.List(request);
  REQUIRE(page.ok());
  REQUIRE(page->items.size() == 1);
  CHECK(StringAt(page->items[0], {"message"}) == "no room");
  CHECK(*Find(page->items[0], {"count"}) == Json(2));
}

}  // namespace

KubeResource ContractResource() { return {"example.com", "v1", "widgets"}; }

Json ContractCrd() {
  absl::StatusOr<Json> crd = ParseJson(R"({
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
      "group": "example.com",
      "scope": "Namespaced",
      "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
      "versions": [{
        "name": "v1", "served": true, "storage": true,
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.node"}],
        "schema": {"openAPIV3Schema": {
          "type": "object",
          "properties": {
            "spec": {
              "type": "object",
              "x-kubernetes-preserve-unknown-fields": true,
              "properties": {"size": {"type": "integer", "minimum": 0}, "node": {"type": "string"}}
            },
            "status": {
              "type": "object",
              "x-kubernetes-preserve-unknown-fields": true,
              "default": {"phase": "Enqueued"},
              "properties": {"phase": {"type": "string"}}
            }
          }
        }}
      }]
    }
  })");
  return *std::move(crd);
}

std::vector<ContractCase> KubeApiContract() {
  std::vector<ContractCase> cases;
  for (auto& part : {testing::ReadContract(), testing::WriteContract(), testing::WatchContract()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  cases.push_back({"a lease is held by one, renewed, released and taken over", LeasesAreHeld});
  cases.push_back({"an event is written and counted", EventsAreTaken});
  return cases;
}

}  // namespace kq
