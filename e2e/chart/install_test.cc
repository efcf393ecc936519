// The life of a release on a real API server: installed, upgraded as the documents say,
// rolled back, taken away, and nothing is left but the definitions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "e2e/support/helm.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/test_cluster.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr char kApiService[] = "apiservice v1alpha1.visibility.koord-queue.x-k8s.io";
constexpr char kEverything[] =
    "--set controller.enableVisibilityServer=true,controller.enableApiHandler=true,debugApi.enabled=true";

// What a Prometheus operator brings, as far as our objects need it.
constexpr char kMonitoringDefinitions[] = R"yaml(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podmonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PodMonitor, listKind: PodMonitorList, plural: podmonitors, singular: podmonitor}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [selector]
            properties:
              selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
              namespaceSelector: {type: object, properties: {matchNames: {type: array, items: {type: string}}}}
              podMetricsEndpoints:
                type: array
                items:
                  type: object
                  properties:
                    port: {type: string}
                    path: {type: string}
                    interval: {type: string}
                    relabelings:
                      type: array
                      items: {type: object, properties: {targetLabel: {type: string}, replacement: {type: string}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PrometheusRule, listKind: PrometheusRuleList, plural: prometheusrules, singular: prometheusrule}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              groups:
                type: array
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    rules:
                      type: array
                      items:
                        type: object
                        required: [expr]
                        properties:
                          alert: {type: string}
                          expr: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
                          for: {type: string}
                          labels: {type: object, additionalProperties: {type: string}}
                          annotations: {type: object, additionalProperties: {type: string}}
)yaml";

class World {
 public:
  World() : cluster_(own_.kubeconfig(), TestCluster::Definitions::kLeaveOut), helm_(own_.kubeconfig()) {
    // The pods meet the strictest of Kubernetes' standards for them.
    Kubectl("create namespace koord-queue");
    Kubectl("label namespace koord-queue pod-security.kubernetes.io/enforce=restricted");
    CHECK(Await(kPatience, [&] { return !Field("serviceaccount default -n koord-queue", ".metadata.name").empty(); }));
  }

  const Helm& helm() const { return helm_; }
  const std::string& kubeconfig() const { return own_.kubeconfig(); }
  std::string Kubectl(const std::string& arguments) const { return cluster_.Kubectl(arguments); }
  std::string Field(const std::string& object, const std::string& path) const {
    return Kubectl(absl::StrCat("get ", object, " --ignore-not-found -o jsonpath='{", path, "}'"));
  }
  // "Kind namespace name" of everything there is, but for what the cluster writes by itself all the time.
  std::set<std::string> Everything() const {
    std::vector<std::string> kinds;
    for (const absl::string_view kind :
         absl::StrSplit(Kubectl("api-resources --verbs=list -o name --cached=false"), '\n', absl::SkipEmpty())) {
      if (!absl::StartsWith(kind, "events") && !absl::StartsWith(kind, "componentstatuses")) kinds.emplace_back(kind);
    }
    const std::string all =
        Kubectl(absl::StrCat("get ", absl::StrJoin(kinds, ","),
                             " -A --ignore-not-found --no-headers "
                             "-o custom-columns=KIND:.kind,NS:.metadata.namespace,NAME:.metadata.name"));
    std::set<std::string> objects;
    for (const absl::string_view line : absl::StrSplit(all, '\n', absl::SkipEmpty())) {
      objects.insert(absl::StrJoin(absl::StrSplit(line, ' ', absl::SkipEmpty()), " "));
    }
    return objects;
  }
  // Of all pods of a Deployment: as many as it wants are ready.
  void AwaitDeployment(const std::string& name) const {
    Kubectl(absl::StrCat("rollout status deployment ", name, " -n koord-queue --timeout=60s"));
  }
  std::string Certificates() const { return Field("secret koord-queue-grpc -n koord-queue", ".data"); }

 private:
  OwnCluster own_;
  TestCluster cluster_;
  Helm helm_;
};

std::vector<std::string> Without(const std::set<std::string>& all, const std::set<std::string>& some) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

// Namespaces in which there would be objects of ours: each that is not there is told before anything is made.
void MissNamespaces(const World& world) {
  const std::string install = absl::StrCat("install koord-queue ", world.helm().chart(), " --namespace ");
  const HelmAnswer refused = world.helm().Try(
      install +
      "koord-queue --set installation.namespace=elsewhere,controller.leaderElection.leaseNamespace=nowhere,"
      "extension.namespaces={default,jobs}");
  CHECK(refused.code != 0);
  for (const char* mistake :
       {"installation.namespace: there is no namespace elsewhere; make it first (kubectl create namespace elsewhere)",
        "controller.leaderElection.leaseNamespace: there is no namespace nowhere",
        "extension.namespaces[1]: there is no namespace jobs"}) {
    CHECK_THAT(refused.output, Catch::Contains(absl::StrCat("\n  - ", mistake)));
  }
  CHECK_THAT(refused.output, !Catch::Contains("namespaces[0]"));
  CHECK(world.helm().Call("list -A -q").empty());
  // helm makes the release's own.
  world.helm().Call(install + "made --create-namespace --set installation.namespace=made --dry-run=server");
}

void Install(const World& world) {
  world.helm().Install("--wait --timeout 90s");
  for (const char* name : {"koord-queue", "koord-queue-controllers"}) world.AwaitDeployment(name);
  CHECK(world.Field("deployment koord-queue -n koord-queue", ".spec.template.spec.containers[*].name") == "controller");
  CHECK(world.Field("deployment koord-queue-controllers -n koord-queue", ".spec.template.spec.containers[*].name") ==
        "manager");
  CHECK(world.Field(kApiService, ".metadata.name").empty());
  CHECK_THAT(world.Kubectl("get clusterrole view -o yaml"), Catch::Contains("queueunits"));
  // All fields are known to the API server, in whatever the chart can render.
  const std::string applied =
      Run(absl::StrCat("helm template koord-queue ", world.helm().chart(), " -n koord-queue ", kEverything, " -f ",
                       DataFile("e2e/chart/all_values.yaml"), " | kubectl --kubeconfig=", world.kubeconfig(),
                       " apply --server-side --force-conflicts --dry-run=server --validate=strict -f -"));
  CHECK_THAT(applied, Catch::Contains("apiservice.apiregistration.k8s.io/v1alpha1.visibility.koord-queue.x-k8s.io"));
}

// The document's own line.
void TurnVisibilityOn(const World& world) {
  const std::string before = world.Certificates();
  world.helm().Call(
      absl::StrCat("upgrade koord-queue ", world.helm().chart(),
                   " --namespace koord-queue --reuse-values --set controller.enableVisibilityServer=true"));
  world.AwaitDeployment("koord-queue-visibility");
  CHECK(world.Field("service koord-queue-visibility-server -n koord-queue", ".spec.ports[0].port") == "443");
  CHECK(world.Field(kApiService, ".spec.service.port") == "443");
  CHECK(world.Field(kApiService, ".spec.insecureSkipTLSVerify").empty());
  CHECK(!before.empty());
  CHECK(world.Certificates() == before);
  // Without a ready pod the API server says what the documents say.
  world.helm().Upgrade("--reuse-values --set visibility.replicas=0");
  CHECK(Await(kPatience, [&] {
    return world.Field(kApiService, ".status.conditions[?(@.type==\"Available\")].reason") == "MissingEndpoints";
  }));
}

// What the visibility process writes survives an upgrade.
void KeepTheAuthority(const World& world) {
  world.Kubectl(absl::StrCat("patch ", kApiService, " --type=merge -p '{\"spec\":{\"caBundle\":\"QUJD\"}}'"));
  world.helm().Upgrade("--reuse-values --set oversellrate=2");
  CHECK(world.Field(kApiService, ".spec.caBundle") == "QUJD");
  CHECK_THAT(world.Field("deployment koord-queue -n koord-queue", ".spec.template.spec.containers[0].args"),
             Catch::Contains("--oversellrate=2"));
}

void DebugContainer(const World& world) {
  world.helm().Upgrade("--reuse-values --set controller.enableApiHandler=true,debugApi.enabled=true");
  world.AwaitDeployment("koord-queue");
  world.AwaitDeployment("koord-queue-debug-api");
  CHECK(world.Field("deployment koord-queue -n koord-queue", ".spec.template.spec.containers[*].name") ==
        "controller debug-api");
}

// A change of the plugins rolls the pods.
void ChangePlugins(const World& world) {
  const auto sum = [&] {
    return world.Field("deployment koord-queue -n koord-queue", ".spec.template.metadata.annotations");
  };
  const std::string before = sum();
  world.helm().Upgrade("--reuse-values --set pluginConfigs.defaultReclaimProtectTime=5m");
  CHECK(sum() != before);
  CHECK_THAT(world.Field("configmap koord-queue-plugin-config -n koord-queue", ".data.plugin\\.yaml"),
             Catch::Contains("defaultReclaimProtectTime: 5m"));
}

void Monitor(const World& world) {
  const std::string file = LogFile("monitoring.yaml");
  Run(absl::StrCat("cat >", file, " <<'YAML'", kMonitoringDefinitions, "YAML\n"));
  world.Kubectl(absl::StrCat("apply -f ", file));
  world.Kubectl(absl::StrCat("wait --for=condition=Established -f ", file, " --timeout=60s"));
  world.helm().Upgrade("--reuse-values");
  CHECK(world.Field("podmonitor koord-queue -n koord-queue",
                    ".spec.podMetricsEndpoints[0].relabelings[0].replacement") == "koord-queue-exporter");
  CHECK(world.Kubectl("get podmonitors -n koord-queue -o name | wc -l") == "2\n");
  CHECK(world.Field("prometheusrule koord-queue -n koord-queue", ".spec.groups[0].rules[0].alert") ==
        "KoordQueueNoLeader");
}

// Certificates whose time comes are made anew by an upgrade.
void RenewCertificates(const World& world) {
  const std::string before = world.Certificates();
  world.helm().Upgrade("--reuse-values");
  CHECK(world.Certificates() == before);
  world.Kubectl("annotate secret koord-queue-grpc -n koord-queue --overwrite koord-queue/renew-after=1");
  world.helm().Upgrade("--reuse-values --force-conflicts");
  CHECK(world.Certificates() != before);
}

void RollBack(const World& world) {
  world.helm().Call("rollback koord-queue 1 --namespace koord-queue --wait --timeout 90s --force-conflicts");
  CHECK(world.Field(kApiService, ".metadata.name").empty());
  CHECK(world.Field("deployment koord-queue -n koord-queue", ".spec.template.spec.containers[*].name") == "controller");
  CHECK_THAT(world.Field("deployment koord-queue -n koord-queue", ".spec.template.spec.containers[0].args"),
             Catch::Contains("--oversellrate=1\""));
}

TEST_CASE("a release comes, changes and goes, and only the definitions stay", "[chart]") {
  const World world;
  const std::set<std::string> before = world.Everything();
  MissNamespaces(world);
  Install(world);
  TurnVisibilityOn(world);
  KeepTheAuthority(world);
  DebugContainer(world);
  ChangePlugins(world);
  RenewCertificates(world);
  RollBack(world);
  world.helm().Upgrade(kEverything);
  CHECK_THAT(world.helm().Uninstall(), Catch::Contains("CustomResourceDefinition"));
  const std::vector<std::string> kept = {
      "APIService <none> v1alpha1.scheduling.sigs.k8s.io",  // the API server's own, for the definitions
      "APIService <none> v1alpha1.scheduling.x-k8s.io",
      "CustomResourceDefinition <none> elasticquotas.scheduling.sigs.k8s.io",
      "CustomResourceDefinition <none> queues.scheduling.x-k8s.io",
      "CustomResourceDefinition <none> queueunits.scheduling.x-k8s.io",
  };
  std::vector<std::string> left;
  // The garbage collector takes the pods.
  CHECK(Await(kPatience, [&] {
    left = Without(world.Everything(), before);
    return left.size() <= kept.size();
  }));
  CHECK(left == kept);
  CHECK(Without(before, world.Everything()).empty());
}

TEST_CASE("what others have made stays theirs", "[chart]") {
  const World world;
  world.Kubectl(
      "create -f - <<'YAML'\n"
      "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: example-lease, namespace: default}, "
      "spec: {holderIdentity: somebody}}\n"
      "---\n"
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: pai-priority-3}, value: 33}\n"
      "YAML\n");
  world.Kubectl("apply -f deploy/crds");
  // Definitions that are not helm's: it says so, and is told to take them over.
  const HelmAnswer refused = world.helm().Try("install koord-queue " + world.helm().chart() + " -n koord-queue");
  CHECK(refused.code != 0);
  CHECK_THAT(refused.output, Catch::Contains("CustomResourceDefinition") && Catch::Contains("ownership"));
  world.helm().Install("--take-ownership");
  Monitor(world);
  CHECK(world.Field("lease example-lease -n default", ".spec.holderIdentity") == "somebody");
  CHECK(world.Field("priorityclass pai-priority-3", ".value") == "33");
  world.helm().Uninstall();
  CHECK(world.Field("lease example-lease -n default", ".spec.holderIdentity") == "somebody");
  CHECK(world.Field("priorityclass pai-priority-3", ".value") == "33");
  CHECK(world.Field("priorityclass pai-priority-4", ".value").empty());
  CHECK(!world.Field("crd queueunits.scheduling.x-k8s.io", ".metadata.name").empty());
  // Installed again over what stayed.
  world.helm().Install();
}

}  // namespace
}  // namespace kq::e2e
