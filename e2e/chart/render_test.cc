// What the chart renders for which values, and what it refuses. No cluster is asked.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "e2e/support/helm.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"
#include "libs/common/version.h"
#include "libs/common/yaml.h"

namespace kq::e2e {
namespace {

constexpr char kEverything[] =
    "--set controller.enableVisibilityServer=true,controller.enableApiHandler=true,debugApi.enabled=true "
    "--api-versions monitoring.coreos.com/v1/PodMonitor";

// "Kind name", sorted.
std::vector<std::string> ObjectsIn(const std::string& rendered) {
  std::vector<std::string> objects;
  for (const absl::string_view document : absl::StrSplit(absl::StrCat("\n", rendered), "\n---")) {
    std::string kind, name;
    bool in_metadata = false;
    for (const absl::string_view line : absl::StrSplit(document, '\n')) {
      if (absl::StartsWith(line, "kind: ")) kind = std::string(line.substr(6));
      if (!absl::StartsWith(line, " ")) in_metadata = line == "metadata:";
      if (in_metadata && name.empty() && absl::StartsWith(line, "  name: ")) name = std::string(line.substr(8));
    }
    if (!kind.empty()) objects.push_back(absl::StrCat(kind, " ", name));
  }
  std::sort(objects.begin(), objects.end());
  return objects;
}

bool Has(const std::vector<std::string>& objects, const std::string& object) {
  return std::find(objects.begin(), objects.end(), object) != objects.end();
}

TEST_CASE("helm lint has nothing to say", "[chart]") {
  const Helm helm;
  CHECK_THAT(helm.Call("lint --strict " + helm.chart()), Catch::Contains("0 chart(s) failed"));
}

TEST_CASE("the chart's definitions are those of deploy/crds", "[chart]") {
  const std::string crds = "deploy/crds/", files = absl::StrCat(kChart, "/files/crds/");
  for (const char* name : {"scheduling.x-k8s.io_queues.yaml", "scheduling.x-k8s.io_queueunits.yaml"}) {
    INFO("cp " << crds << name << " " << files);
    CHECK((!FileText(crds + name).empty() && FileText(crds + name) == FileText(files + name)));
  }
  const std::string quota = "scheduling.sigs.k8s.io_elasticquotas.yaml";
  CHECK(FileText(absl::StrCat(crds, "optional/", quota)) == FileText(absl::StrCat(kChart, "/crds/", quota)));
}

TEST_CASE("the chart has the version of the programs", "[chart]") {
  const std::string number(kVersion);
  const std::string chart = FileText(absl::StrCat(kChart, "/Chart.yaml"));
  CHECK_THAT(chart, Catch::Contains(absl::StrCat("\nversion: ", number, "\n")));
  CHECK_THAT(chart, Catch::Contains(absl::StrCat("\nappVersion: ", number, "\n")));
}

struct Good {
  std::string name;
  std::string flags;
  std::vector<std::string> contains;
  std::vector<std::string> lacks;
};

TEST_CASE("values that act", "[chart]") {
  const Helm helm;
  const auto c = GENERATE_REF(values<Good>({
      {"by default the scheduler is started as documented",
       "",
       {"- --v=4\n", "- --config=/etc/kubernetes/ack-config/plugin.yaml\n", "- --oversellrate=1\n",
        "- --lease-namespace=default\n", "- --lease-name=example-lease\n", "- --lease-duration=15s\n",
        "- --renew-deadline=10s\n", "- --retry-period=2s\n",
        ("- --feature-gates=MaximumExecutionTime=false,QueueUnitActive=false,QueueUnitConditions=true,"
         "QueueUnitRequeueState=false\n"),
        "terminationGracePeriodSeconds: 10\n", "plugin.yaml: |\n", "koord-queue-leader: \"true\""},
       {"--qps", "--enableVisibilityServer", "--enableApiHandler", "APIService", "PodMonitor",
        "koord-queue/koord-queue-debug-api", "insecureSkipTLSVerify"}},
      {"the visibility API never without verification, and its authority is the process's to tell",
       kEverything,
       {"kind: APIService", "targetPort: https", "port: 443", "- --enableVisibilityServer=true\n"},
       {"caBundle", "insecureSkipTLSVerify"}},
      {"who may look at all queues may ask for the collections, and is told that they are for discovery alone",
       "--set controller.enableVisibilityServer=true",
       {"resources: [queues/queueunits, elasticquotas/queueunits], verbs: [get]}",
        "resources: [queues, elasticquotas], verbs: [list]}"},
       {}},
      {"a certificate from elsewhere",
       "--set controller.enableVisibilityServer=true,visibility.tls.secretName=mine,visibility.tls.caBundle=QUJD",
       {"caBundle: QUJD", "- --tls-cert-file=/etc/koord-queue/tls/tls.crt\n"},
       {"koord-queue-visibility-ca", "apiservices"}},
      {"a visibility server outside the cluster",
       "--set controller.enableVisibilityServer=true,visibility.service.externalName=localhost,"
       "visibility.service.port=8082,visibility.replicas=0",
       {"externalName: localhost", "port: 8082\n", "replicas: 0\n"},
       {"targetPort: https"}},
      {"rates", "--set qps=50,burst=60", {"- --qps=50\n", "- --burst=60\n"}, {}},
      {"oversell rate", "--set oversellrate=1.5", {"- --oversellrate=1.5\n"}, {}},
      {"images of a registry of one's own",
       "--set global.imagePrefix=registry.example.com/,controller.image.tag=v2,"
       "extension.koord-queue-controllers.repository=team/manager",
       {"image: registry.example.com/koord-queue/koord-queue:v2\n", "image: registry.example.com/team/manager:"},
       {}},
      {"the older name of the controllers' image",
       "--set extension.jobextensions.repository=old/name,extension.jobextensions.tag=t",
       {"image: old/name:t\n"},
       {"koord-queue/koord-queue-controllers:"}},
      {"tolerations", "--set tolerations[0].operator=Exists", {"tolerations:", "- operator: Exists"}, {}},
      {"another namespace",
       "--set installation.namespace=elsewhere,debugApi.enabled=true",
       {"namespace: elsewhere\n", "- --leader-namespace=elsewhere\n", "koord-queue.elsewhere"},
       {}},
      {"the lease",
       "--set controller.leaderElection.leaseName=mine,controller.leaderElection.leaseNamespace=here",
       {"- --lease-name=mine\n", "- --lease-namespace=here\n", "\"resourceNames\":[\"mine\"]"},
       {"example-lease"}},
      {"no election",
       "--set controller.leaderElection.enabled=false",
       {"- --leaderElection=false\n"},
       {"- --lease-name=example-lease\n"}},
      {"the configuration as text",
       "--set-string pluginConfigs=\"kind: Text\"",
       {"plugin.yaml: |\n    kind: Text\n"},
       {}},
      {"gates",
       "--set featureGates.QueueUnitActive=true,featureGates.MaximumExecutionTime=true",
       {"MaximumExecutionTime=true,QueueUnitActive=true,QueueUnitConditions=true"},
       {}},
      {"which jobs",
       "--set extension.manageAllJobs=true,extension.namespaces={a,b}",
       {"- --manage-all-jobs=true\n", "- --namespaces=a,b\n", "name: koord-queue-controllers-jobs\n  namespace: b\n"},
       {}},
      {"certificates made elsewhere", "--set grpc.existingSecret=mine", {"secretName: mine\n"}, {"server.key: "}},
      {"no definitions", "--set crds.install=false --skip-crds", {}, {"CustomResourceDefinition"}},
      {"definitions that stay", "", {"annotations: {helm.sh/resource-policy: keep}"}, {}},
      {"no classes", "--set priorityClasses.install=false", {}, {"pai-priority"}},
      {"no policies",
       "--set networkPolicy.enabled=false,podDisruptionBudget.enabled=false",
       {},
       {"NetworkPolicy", "PodDisruptionBudget"}},
      {"old flags reach the process, whose log tells what they mean",
       "--set controller.enableResourceCheckWithScheduler=true,controller.defaultPreemptible=false,"
       "extension.koord-queue-controllers.enablePodReclaim=true",
       {"- --strictDequeueMode=true\n", "- --defaultPreemptible=false\n", "- --enable-pod-reclaim=true\n"},
       {}},
      {"monitors with the job labels of the dashboards",
       kEverything,
       {"kind: PodMonitor", "replacement: koord-queue-exporter", "replacement: koord-queue-visibility"},
       {}},
  }));
  CAPTURE(c.name);
  const HelmAnswer answer = helm.Render(c.flags);
  if (answer.code != 0) FAIL(answer.output);
  for (const std::string& text : c.contains) {
    CAPTURE(text);
    CHECK(absl::StrContains(answer.output, text));
  }
  for (const std::string& text : c.lacks) {
    CAPTURE(text);
    CHECK(!absl::StrContains(answer.output, text));
  }
}

TEST_CASE("the notes name values that have no effect, and no others", "[chart]") {
  const Helm helm;
  const std::string install =
      absl::StrCat("install koord-queue ", helm.chart(), " --namespace koord-queue --dry-run=client ");
  CHECK_THAT(helm.Call(install), !Catch::Contains("have no effect"));
  const std::string notes = helm.Call(
      install +
      "--set isNeedNotebookExtension=true,jobRunningTimeout=5m,jobBackoffTime=1h,admissionCheckController.enabled=true,"
      "installation.roleListGroups={batch},controller.queueGroupPlugin=other,controller.enableBlockingMode=true,"
      "controller.enableStrictPriority=true,controller.enableResourceCheckWithScheduler=true,"
      "controller.defaultPreemptible=false,extension.koord-queue-controllers.enablePodReclaim=true,"
      "featureGates.QueueUnitActive=true");
  for (const char* value :
       {"isNeedNotebookExtension", "jobRunningTimeout", "jobBackoffTime", "admissionCheckController.enabled",
        "installation.roleListGroups", "controller.queueGroupPlugin", "controller.enableBlockingMode",
        "controller.enableStrictPriority", "controller.enableResourceCheckWithScheduler",
        "controller.defaultPreemptible", "extension.koord-queue-controllers.enablePodReclaim",
        "featureGates.QueueUnitActive"}) {
    CHECK_THAT(notes, Catch::Contains(absl::StrCat("\n  ", value, ": ")));
  }
}

struct Bad {
  std::string flags;
  std::vector<std::string> errors;
};

TEST_CASE("values that are refused, with what is wrong", "[chart]") {
  const Helm helm;
  const auto c = GENERATE_REF(values<Bad>({
      {"--set featureGates.MaximumExecutionTime=true",
       {"featureGates.MaximumExecutionTime needs featureGates.QueueUnitActive and featureGates.QueueUnitConditions"}},
      {"--set featureGates.QueueUnitRequeueState=true,featureGates.QueueUnitConditions=false",
       {"featureGates.QueueUnitRequeueState needs featureGates.QueueUnitConditions"}},
      {"--set extension.tf.enable=true,extension.ray.enable=true",
       {"extension.tf.enable: tfjob is not supported by this version",
        "extension.ray.enable: rayjob is not supported by this version"}},
      {"--set extension.batchjob.enable=false", {"extension.batchjob.enable=false: there is no other kind of job"}},
      {"--set controller.replicas=2,controller.leaderElection.enabled=false", {"several would admit jobs at once"}},
      {"--set extension.replicas=2,extension.leaderElection.enabled=false", {"several would write the same objects"}},
      {"--set visibility.tls.secretName=mine", {"secretName and caBundle go together"}},
      {"--set pluginConfigs.kind=Other", {"expected a KoordQueueConfiguration"}},
      {"--set controller.replicaz=2", {"at '/controller': additional properties 'replicaz' not allowed"}},
      {"--set featureGates.Other=true", {"at '/featureGates': additional properties 'Other' not allowed"}},
      {"--set qps=-1", {"at '/qps': minimum: got -1, want 0"}},
      {"--set oversellrate=0", {"at '/oversellrate'"}},
      {"--set oversellrate=much", {"at '/oversellrate'"}},
      {"--set controller.leaderElection.leaseDuration=15", {"at '/controller/leaderElection/leaseDuration'"}},
      {"--set installation.namespace=No_Name", {"at '/installation/namespace'"}},
  }));
  CAPTURE(c.flags);
  const HelmAnswer answer = helm.Render(c.flags);
  CHECK(answer.code != 0);
  for (const std::string& error : c.errors) CHECK_THAT(answer.output, Catch::Contains(error));
}

// By "Deployment container": the arguments.
std::map<std::string, std::vector<std::string>> ArgumentsIn(const std::string& rendered) {
  std::map<std::string, std::vector<std::string>> arguments;
  for (const absl::string_view document : absl::StrSplit(absl::StrCat("\n", rendered), "\n---")) {
    if (!absl::StrContains(document, "\nkind: Deployment\n")) continue;
    const absl::StatusOr<Json> deployment = ParseYaml(document);
    REQUIRE(deployment.ok());
    const Json* containers = Find(*deployment, {"spec", "template", "spec", "containers"});
    REQUIRE(containers != nullptr);
    for (const Json& container : containers->as_array()) {
      std::vector<std::string>& of =
          arguments[absl::StrCat(StringAt(*deployment, {"metadata", "name"}), " ", StringAt(container, {"name"}))];
      for (const Json& argument : container.at("args").as_array()) of.emplace_back(argument.as_string());
    }
  }
  return arguments;
}

TEST_CASE("each process knows every flag that the chart can give, with its value", "[chart]") {
  const std::map<std::string, std::string> programs = {
      {"koord-queue controller", "services/scheduler/koord-queue"},
      {"koord-queue debug-api", "services/debug-api/koord-queue-debug-api"},
      {"koord-queue-controllers manager", "services/controllers/koord-queue-controllers"},
      {"koord-queue-debug-api debug-api", "services/debug-api/koord-queue-debug-api"},
      {"koord-queue-visibility visibility", "services/visibility/koord-queue-visibility"},
  };
  const Helm helm;
  for (const std::string& more : {std::string(), absl::StrCat(" -f ", DataFile("e2e/chart/all_values.yaml"))}) {
    const HelmAnswer rendered = helm.Render(kEverything + more);
    if (rendered.code != 0) FAIL(rendered.output);
    const auto arguments = ArgumentsIn(rendered.output);
    CHECK(arguments.size() == programs.size());
    for (const auto& [container, given] : arguments) {
      std::string command = DataFile(programs.at(container));
      for (const std::string& argument : given) absl::StrAppend(&command, " '", argument, "'");
      CAPTURE(command);
      // With one that it cannot read, it ends and names all such, and the files that are not here.
      const std::string said = Run(absl::StrCat("{ ", command, " -v=never || true; }"));
      CHECK_THAT(said, Catch::Contains("flag --v: \"never\" is not a whole number"));
      for (const absl::string_view line : absl::StrSplit(said, '\n', absl::SkipEmpty())) {
        CAPTURE(line);
        CHECK((absl::StrContains(line, "flag --v:") || absl::StrContains(line, "cannot read") ||
               absl::StrContains(line, "cannot be read") || absl::StartsWith(line, "See ")));
      }
    }
  }
}

TEST_CASE("which objects there are", "[chart]") {
  const Helm helm;
  const std::vector<std::string> plain = ObjectsIn(helm.Render("").output);
  const std::vector<std::string> all = ObjectsIn(helm.Render(kEverything).output);
  for (const char* object :
       {"Deployment koord-queue", "Deployment koord-queue-controllers", "Service koord-queue",
        "ServiceAccount koord-queue", "ServiceAccount koord-queue-controllers", "ConfigMap koord-queue-plugin-config",
        "Secret koord-queue-grpc", "PriorityClass pai-priority-1", "PriorityClass pai-priority-9",
        "PodDisruptionBudget koord-queue", "NetworkPolicy koord-queue", "Lease example-lease",
        "Lease koord-queue-controllers-job", "CustomResourceDefinition queues.scheduling.x-k8s.io",
        "CustomResourceDefinition queueunits.scheduling.x-k8s.io"}) {
    CAPTURE(object);
    CHECK(Has(plain, object));
    CHECK(Has(all, object));
  }
  for (const char* object :
       {"Deployment koord-queue-visibility", "Service koord-queue-visibility-server",
        "APIService v1alpha1.visibility.koord-queue.x-k8s.io", "ServiceAccount koord-queue-visibility",
        "Deployment koord-queue-debug-api", "ServiceAccount koord-queue-debug-api", "PodMonitor koord-queue",
        "PodMonitor koord-queue-controllers", "PodMonitor koord-queue-visibility",
        "PodMonitor koord-queue-debug-api"}) {
    CAPTURE(object);
    CHECK(!Has(plain, object));
    CHECK(Has(all, object));
  }
  for (const std::string& object : all) CHECK(std::count(all.begin(), all.end(), object) == 1);
}

}  // namespace
}  // namespace kq::e2e
