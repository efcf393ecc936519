// What the chart renders for which values, and what it refuses. No cluster is asked.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>
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
    "--api-versions monitoring.coreos.com/v1/PodMonitor --api-versions monitoring.coreos.com/v1/PrometheusRule";

constexpr char kBundle[] = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t";  // as far as the chart looks

std::vector<std::string> DocumentsIn(const std::string& rendered) {
  return absl::StrSplit(absl::StrCat("\n", rendered), "\n---");
}

// The objects of one kind.
std::vector<Json> ObjectsOf(const std::string& rendered, const std::string& kind) {
  std::vector<Json> objects;
  for (const std::string& document : DocumentsIn(rendered)) {
    if (!absl::StrContains(document, absl::StrCat("\nkind: ", kind, "\n"))) continue;
    absl::StatusOr<Json> object = ParseYaml(document);
    REQUIRE(object.ok());
    objects.push_back(*std::move(object));
  }
  return objects;
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  REQUIRE(out.flush());
}

// "Kind name", sorted.
std::vector<std::string> ObjectsIn(const std::string& rendered) {
  std::vector<std::string> objects;
  for (const std::string& document : DocumentsIn(rendered)) {
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

TEST_CASE("the chart's alerts are those of deploy/prometheus, and Prometheus takes what it renders", "[chart]") {
  const std::string source = "deploy/prometheus/alerts.yaml", copy = absl::StrCat(kChart, "/files/alerts.yaml");
  INFO("cp " << source << " " << copy);
  CHECK((!FileText(source).empty() && FileText(source) == FileText(copy)));
  const Helm helm;
  CHECK(ObjectsOf(helm.Render("").output, "PrometheusRule").empty());
  const std::string served = "--api-versions monitoring.coreos.com/v1/PrometheusRule --set prometheusRule.";
  CHECK(ObjectsOf(helm.Render(served + "enabled=false").output, "PrometheusRule").empty());
  const std::vector<Json> rules = ObjectsOf(helm.Render(served + "labels.release=mine").output, "PrometheusRule");
  REQUIRE(rules.size() == 1);
  CHECK(StringAt(rules[0], {"metadata", "labels", "release"}) == "mine");
  const std::string file = LogFile("rules.yaml");
  WriteText(file, YamlText(rules[0].at("spec")));
  CHECK_THAT(Run(absl::StrCat("promtool check rules ", file, " 2>&1")),
             Catch::Contains(absl::StrCat("SUCCESS: ", CountOf(FileText(source), "- alert: "), " rules found")));
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
       absl::StrCat(
           "--set controller.enableVisibilityServer=true,visibility.tls.secretName=mine,visibility.tls.caBundle=",
           kBundle),
       {absl::StrCat("caBundle: ", kBundle, "\n"), "- --tls-cert-file=/etc/koord-queue/tls/tls.crt\n"},
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
       "--set-string 'pluginConfigs=kind: KoordQueueConfiguration\napiVersion: scheduling.k8s.io/v1'",
       {"plugin.yaml: |\n    kind: KoordQueueConfiguration\n"},
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

// By "Deployment container": the arguments.
std::map<std::string, std::vector<std::string>> ArgumentsIn(const std::string& rendered) {
  std::map<std::string, std::vector<std::string>> arguments;
  for (const Json& deployment : ObjectsOf(rendered, "Deployment")) {
    const Json* containers = Find(deployment, {"spec", "template", "spec", "containers"});
    REQUIRE(containers != nullptr);
    for (const Json& container : containers->as_array()) {
      std::vector<std::string>& of =
          arguments[absl::StrCat(StringAt(deployment, {"metadata", "name"}), " ", StringAt(container, {"name"}))];
      for (const Json& argument : container.at("args").as_array()) of.emplace_back(argument.as_string());
    }
  }
  return arguments;
}

// What the processes have to say against their arguments and plugin.yaml, but for the
// Secrets, whose files are not here.
std::string ComplaintsAbout(const std::string& rendered) {
  static const std::map<std::string, std::string> kPrograms = {
      {"koord-queue controller", "services/scheduler/koord-queue"},
      {"koord-queue debug-api", "services/debug-api/koord-queue-debug-api"},
      {"koord-queue-controllers manager", "services/controllers/koord-queue-controllers"},
      {"koord-queue-debug-api debug-api", "services/debug-api/koord-queue-debug-api"},
      {"koord-queue-visibility visibility", "services/visibility/koord-queue-visibility"},
  };
  const std::string config = LogFile("plugin.yaml");
  const std::vector<Json> configs = ObjectsOf(rendered, "ConfigMap");
  REQUIRE(configs.size() == 1);
  WriteText(config, StringAt(configs[0], {"data", "plugin.yaml"}));
  std::string complaints;
  for (const auto& [container, given] : ArgumentsIn(rendered)) {
    std::string command = DataFile(kPrograms.at(container));
    for (const std::string& argument : given) {
      const bool is_config = argument == "--config=/etc/kubernetes/ack-config/plugin.yaml";
      absl::StrAppend(&command, " '", is_config ? absl::StrCat("--config=", config) : argument, "'");
    }
    CAPTURE(command);
    // With one that it cannot read, it ends and names all such.
    const std::string said = Run(absl::StrCat("{ ", command, " -v=never 2>&1 || true; }"));
    CHECK_THAT(said, Catch::Contains("flag -v: \"never\" is not a whole number"));
    for (const absl::string_view line : absl::StrSplit(said, '\n', absl::SkipEmpty())) {
      const bool expected = absl::StrContains(line, "flag -v: \"never\"") || absl::StartsWith(line, "See ") ||
                            absl::StrContains(line, "cannot read") || absl::StrContains(line, "cannot be read");
      if (!expected) absl::StrAppend(&complaints, line, "\n");
    }
  }
  return complaints;
}

// A chart that refuses nothing.
class Unchecked : public Helm {
 public:
  Unchecked() { Run(absl::StrCat("cd ", chart(), " && rm values.schema.json templates/checks.yaml")); }
};

TEST_CASE("the notes warn of images without a registry, and of nobody at work", "[chart]") {
  const Helm helm;
  const std::string install =
      absl::StrCat("install koord-queue ", helm.chart(), " --namespace koord-queue --dry-run=client --hide-secret ");
  const auto notes = [&](const std::string& flags) {
    const std::string all = helm.Call(install + flags);
    return all.substr(all.find("\nNOTES:\n"));
  };
  const std::string version(kVersion);
  const std::string plain = notes("");
  CHECK_THAT(plain, Catch::Contains("global.imagePrefix is empty"));
  CHECK_THAT(plain, Catch::Contains(absl::StrCat("\n  docker.io/koord-queue/koord-queue:", version, "\n")));
  CHECK_THAT(plain, Catch::Contains(absl::StrCat("\n  docker.io/koord-queue/koord-queue-controllers:", version)));
  CHECK_THAT(plain, !Catch::Contains("debug-api") && !Catch::Contains("replicas"));
  CHECK_THAT(notes("--set global.imagePrefix=me,debugApi.enabled=true"),
             Catch::Contains(absl::StrCat("\n  docker.io/me/koord-queue/koord-queue-debug-api:", version)));
  for (const char* prefix : {"registry.example.com", "registry:5000/me/", "localhost/me"}) {
    CHECK_THAT(notes(absl::StrCat("--set global.imagePrefix=", prefix)), !Catch::Contains("docker.io"));
  }
  const std::string idle = notes("--set controller.replicas=0,extension.replicas=0");
  CHECK_THAT(idle, Catch::Contains("controller.replicas is 0") && Catch::Contains("extension.replicas is 0"));
}

struct Bad {
  std::string flags;
  std::vector<std::string> errors;
  std::string process = {};  // what a process would say instead at its start; empty: it cannot see the mistake
};

// By the checks or the schema; not by a template that stumbles.
bool IsRefusal(const HelmAnswer& answer) {
  return answer.code != 0 && (absl::StrContains(answer.output, "(koord-queue/templates/checks.yaml:") ||
                              absl::StrContains(answer.output, "the specifications of the schema"));
}

TEST_CASE("values that are refused, with what is wrong", "[chart]") {
  const Helm helm;
  const Unchecked unchecked;
  const auto c = GENERATE_REF(values<Bad>({
      {"--set featureGates.MaximumExecutionTime=true",
       {"featureGates.MaximumExecutionTime needs featureGates.QueueUnitActive and featureGates.QueueUnitConditions"},
       "MaximumExecutionTime=true needs QueueUnitActive=true"},
      {"--set featureGates.QueueUnitRequeueState=true,featureGates.QueueUnitConditions=false",
       {"featureGates.QueueUnitRequeueState needs featureGates.QueueUnitConditions"},
       "QueueUnitRequeueState=true needs QueueUnitConditions=true"},
      {"--set featureGates.Other=true", {"at '/featureGates': additional properties 'Other' not allowed"}, "Other"},
      {"--set extension.tf.enable=true,extension.ray.enable=true",
       {"extension.tf.enable: tfjob is not supported by this version",
        "extension.ray.enable: rayjob is not supported by this version"}},
      {"--set extension.batchjob.enable=false", {"extension.batchjob.enable=false: there is no other kind of job"}},
      {"--set controller.replicas=2,controller.leaderElection.enabled=false", {"several would admit jobs at once"}},
      {"--set extension.replicas=2,extension.leaderElection.enabled=false", {"several would write the same objects"}},
      {"--set controller.replicaz=2", {"at '/controller': additional properties 'replicaz' not allowed"}},
      {"--set installation.namespace=No_Name", {"at '/installation/namespace'"}},
      {"--set extension.namespaces={a.b}", {"at '/extension/namespaces/0'"}},

      // Times of a lease: ValidateLeaseOptions of libs/kube/lease.cc.
      {"--set controller.leaderElection.leaseDuration=5s",
       {"\n  - controller.leaderElection.leaseDuration: 5s must be longer than renewDeadline (10s)\n"},
       "lease duration 5s must be longer than renew deadline 10s"},
      {"--set extension.leaderElection.leaseDuration=10s",
       {"\n  - extension.leaderElection.leaseDuration: 10s must be longer than renewDeadline (10s)\n"},
       "lease duration 10s must be longer than renew deadline 10s"},
      {"--set controller.leaderElection.renewDeadline=2400ms",
       {"controller.leaderElection.renewDeadline: 2400ms must be longer than 1.2 times retryPeriod (2s)"},
       "renew deadline 2.4s must be longer than 1.2 times retry period 2s"},
      {"--set controller.leaderElection.retryPeriod=0s",
       {"controller.leaderElection.retryPeriod: 0s is not more than 0"},
       "retry period must be positive"},
      {"--set controller.leaderElection.leaseDuration=900ms,controller.leaderElection.renewDeadline=800ms,"
       "controller.leaderElection.retryPeriod=100ms",
       {"controller.leaderElection.leaseDuration: 900ms is not at least 1s"},
       "lease duration must be at least 1s"},
      {"--set controller.leaderElection.leaseDuration=3000000h",
       {"controller.leaderElection.leaseDuration: 3000000h is not at least 1s"},
       "\"3000000h\" is not a duration"},
      {"--set controller.leaderElection.leaseDuration=15",
       {"at '/controller/leaderElection/leaseDuration'"},
       "\"15\" is not a duration"},
      {"--set controller.leaderElection.retryPeriod=-2s",
       {"at '/controller/leaderElection/retryPeriod'"},
       "\"-2s\" is not a duration"},
      {"--set extension.leaderElection.renewDeadline=soon",
       {"at '/extension/leaderElection/renewDeadline'"},
       "\"soon\" is not a duration"},
      {"--set-string controller.leaderElection.leaseName=",
       {"at '/controller/leaderElection/leaseName'"},
       "must be set"},

      // Other flags.
      {"--set qps=-1", {"at '/qps': minimum: got -1, want 0"}, "--kube-api-qps: must not be negative"},
      {"--set qps=1,burst=1000001", {"at '/burst': maximum"}, "\"1000001\" is not from 0 to 1000000"},
      {"--set oversellrate=0", {"at '/oversellrate'"}, "oversell rate 0 is not in (0, 1000]"},
      {"--set-string oversellrate=0.0", {"oversellrate: 0.0 is not more than 0"}, "oversell rate 0 is not in"},
      {"--set-string oversellrate=1001", {"oversellrate: 1001 is not more than 0 and at most 1000"}, "rate 1001"},
      {"--set oversellrate=much", {"at '/oversellrate'"}, "\"much\" is not a number"},
      {"--set controller.logLevel=11", {"at '/controller/logLevel'"}, "\"11\" is not from 0 to 10"},
      {"--set extension.loggingFormat=xml", {"at '/extension/loggingFormat'"}, "must be text or json"},

      // plugin.yaml.
      {"--set-string pluginConfigs=words",
       {"\n  - pluginConfigs: expected a mapping, or its text: error unmarshaling"},
       "expected a mapping"},
      {"--set-string 'pluginConfigs=- a'", {"pluginConfigs: expected a mapping, or its text"}, "expected a mapping"},
      {"--set-string 'pluginConfigs=kind: [a'", {"pluginConfigs: expected a mapping, or its text"}, "end of sequence"},
      {"--set-string 'pluginConfigs=kind: Other'",
       {"pluginConfigs.kind: expected KoordQueueConfiguration", "pluginConfigs.apiVersion: expected scheduling"},
       "kind: expected KoordQueueConfiguration"},
      {"--set pluginConfigs.kind=Other", {"pluginConfigs.kind: expected KoordQueueConfiguration"}, "kind: expected"},
      {"--set pluginConfigs.other=1", {"pluginConfigs.other: unknown field"}, "other: unknown field"},
      // The names are those that the process knows: it lists them.
      {"--set-json 'pluginConfigs.plugins=[{\"name\":\"Priority\"},{\"name\":\"Foo\"}]'",
       {"pluginConfigs.plugins[1].name: unknown plugin \"Foo\" (known plugins: Priority, ElasticQuotaV2)"},
       "plugins: unknown plugin \"Foo\" (known plugins: Priority, ElasticQuotaV2)"},
      {"--set pluginConfigs.plugins={Priority}",
       {"pluginConfigs.plugins[0].name: unknown plugin \"\""},
       "plugins[0].name"},
      {"--set-json pluginConfigs.plugins=[]", {"pluginConfigs.plugins: no plugin gives an order"}, "gives an order"},
      {"--set-json 'pluginConfigs.plugins=[{\"name\":\"ElasticQuotaV2\"}]'",
       {"pluginConfigs.plugins: no plugin gives an order: add \"Priority\""},
       "no plugin gives an order: add \"Priority\""},
      {"--set pluginConfigs.plugins=Priority", {"pluginConfigs.plugins: expected a list"}, "plugins: expected"},
      {"--set pluginConfigs.pluginConfigs.Foo.a=1",
       {"pluginConfigs.pluginConfigs.Foo: no such plugin"},
       "Foo: no such"},
      {"--set pluginConfigs.pluginConfigs=1",
       {"pluginConfigs.pluginConfigs: expected a mapping"},
       "pluginConfigs: expec"},
      {"--set pluginConfigs.defaultReclaimProtectTime=soon",
       {"pluginConfigs.defaultReclaimProtectTime: expected a duration"},
       "\"soon\" is not a duration"},
      {"--set-string pluginConfigs.defaultReclaimProtectTime=300",
       {"defaultReclaimProtectTime: expected"},
       "\"300\" is not a duration"},
      {"--set-string pluginConfigs.defaultReclaimProtectTime=",
       {"defaultReclaimProtectTime: expected"},
       "is not a duration"},
      {"--set pluginConfigs.defaultReclaimProtectTime=-5", {"defaultReclaimProtectTime: expected"}, "not be negative"},
      {"--set-json pluginConfigs.defaultReclaimProtectTime=1.5", {"defaultReclaimProtectTime: expected"}, "expected a"},

      // What the API server or a node would refuse later.
      {"--set controller.resources.requests.cpu=lots", {"at '/controller/resources/requests/cpu'"}},
      {"--set visibility.resources.limits.memory=1Gb", {"at '/visibility/resources/limits/memory'"}},
      {"--set debugApi.resources.limit.memory=1Gi", {"at '/debugApi/resources': additional properties 'limit'"}},
      {"--set controller.resources.requests.cpu=1",
       {"controller.resources.requests.cpu: 1 is more than limits.cpu (200m)"}},
      {"--set extension.resources.requests.memory=3Gi",
       {"extension.resources.requests.memory: 3Gi is more than limits.memory (2Gi)"}},
      {"--set global.imagePrefix=https://registry.example.com", {"at '/global/imagePrefix'"}},
      {"--set 'controller.image.tag=a b'", {"at '/controller/image/tag'"}},
      {"--set 'controller.image.repository=a b'", {"at '/controller/image/repository'"}},
      {"--set networkPolicy.metricsFrom[0].ipBlok.cidr=10.0.0.0/8", {"at '/networkPolicy/metricsFrom/0'"}},
      {"--set global.imagePrefix=http://registry.example.com/koord", {"at '/global/imagePrefix'"}},
      {"--set global.imagePrefx=registry.example.com", {"\n  - global.imagePrefx: there is no such value"}},
      {"--set podMonitor.interval=1.5s", {"at '/podMonitor/interval'"}},
      {"--set visibility.tls.secretName=mine", {"visibility.tls: secretName and caBundle go together"}},
      {"--set visibility.tls.secretName=mine,visibility.tls.caBundle=-----BEGIN",
       {"visibility.tls.caBundle: expected certificates in PEM form"}},
  }));
  CAPTURE(c.flags);
  const HelmAnswer answer = helm.Render(c.flags);
  CHECK(answer.code != 0);
  for (const std::string& error : c.errors) CHECK_THAT(answer.output, Catch::Contains(error));
  CHECK(IsRefusal(answer));
  if (c.process.empty()) return;
  const HelmAnswer rendered = unchecked.Render(c.flags);
  if (rendered.code != 0) FAIL(rendered.output);
  CHECK_THAT(ComplaintsAbout(rendered.output), Catch::Contains(c.process));
}

TEST_CASE("what the chart lets pass, the processes take", "[chart]") {
  const Helm helm;
  const std::string lease = "--set controller.leaderElection.leaseDuration=";
  const std::string flags = GENERATE_REF(values<std::string>({
      kEverything,
      absl::StrCat(kEverything, " -f ", DataFile("e2e/chart/all_values.yaml")),
      lease + "10001ms",
      lease + "1s,controller.leaderElection.renewDeadline=121ms,controller.leaderElection.retryPeriod=100ms",
      lease + "2562047h,controller.leaderElection.renewDeadline=1h1m1.5s",
      "--set controller.leaderElection.enabled=false,controller.leaderElection.leaseDuration=1s",
      "--set extension.leaderElection.renewDeadline=2401ms",
      "--set oversellrate=1000,controller.logLevel=10,extension.logLevel=0",
      "--set-string oversellrate=.5,qps=0.5 --set-json burst=1000000",
      "--set-json oversellrate=1e-7,qps=1e+30",
      absl::StrCat("--set featureGates.QueueUnitActive=true,featureGates.MaximumExecutionTime=true,",
                   "featureGates.QueueUnitRequeueState=true,featureGates.ElasticQuotaTreeCheckAvailableQuota=true,",
                   "featureGates.ElasticQuota=false,featureGates.ElasticQuotaTreeBuildQueueForQuota=false,",
                   "featureGates.ElasticQuotaTreeDecoupledQueue=false"),
      "--set-json 'pluginConfigs.plugins=[{\"name\":\"Priority\"}]'",
      "--set pluginConfigs.plugins=null",
      "--set pluginConfigs=null",
      "--set-string pluginConfigs=",
      absl::StrCat("--set pluginConfigs.pluginConfigs.Priority.a=1,pluginConfigs.pluginConfigs.ElasticQuotaV2.a=1,",
                   "pluginConfigs.pluginConfigs.ElasticQuota.a=1,pluginConfigs.pluginConfigs.ResourceQuota.a=1,",
                   "pluginConfigs.pluginConfigs.defaultgroup.a=1"),
      "--set pluginConfigs.defaultReclaimProtectTime=1h1m1.5s",
      "--set-json pluginConfigs.defaultReclaimProtectTime=300000000000",
      "--set-json 'controller.resources={\"requests\":{\"cpu\":0.2,\"memory\":\"5e8\"}}'",
      "--set controller.resources.requests.memory=512Mi,controller.resources.requests.cpu=200m",
      "--set global.imagePrefix=localhost:5000/some/where",
  }));
  CAPTURE(flags);
  const HelmAnswer rendered = helm.Render(flags);
  if (rendered.code != 0) FAIL(rendered.output);
  CHECK(ComplaintsAbout(rendered.output).empty());
}

// "controller", "controller.image", ...
void AddPaths(const JsonObject& values, const std::string& prefix, std::vector<std::string>* paths) {
  for (const auto& entry : values) {
    paths->push_back(absl::StrCat(prefix, std::string(entry.key())));
    if (entry.value().is_object()) AddPaths(entry.value().get_object(), paths->back() + ".", paths);
  }
}

// By null, or by --reuse-values and a newer chart.
TEST_CASE("a value that is taken away is refused, or the processes do without it", "[chart]") {
  const Helm helm;
  const auto values = ParseYaml(FileText(helm.chart() + "/values.yaml"));
  REQUIRE(values.ok());
  std::vector<std::string> paths;
  AddPaths(values->as_object(), "", &paths);
  const auto usual = ArgumentsIn(helm.Render(kEverything).output);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const HelmAnswer answer = helm.Render(absl::StrCat(kEverything, " --set ", path, "=null"));
    if (answer.code != 0) {
      CHECK(IsRefusal(answer));
    } else if (absl::StartsWith(path, "pluginConfigs") || ArgumentsIn(answer.output) != usual) {
      CHECK(ComplaintsAbout(answer.output).empty());
    }
  }
}

TEST_CASE("in a chart of charts, global holds the values of others too", "[chart]") {
  const Helm helm;
  const std::string umbrella = helm.chart() + "-umbrella";
  Run(absl::StrCat("mkdir -p ", umbrella, "/charts && cp -r ", helm.chart(), " ", umbrella, "/charts/"));
  WriteText(umbrella + "/Chart.yaml", "{apiVersion: v2, name: umbrella, version: 1.0.0}\n");
  const std::string render = absl::StrCat("template koord-queue ", umbrella, " --namespace koord-queue --set ");
  CHECK_THAT(helm.Call(render + "global.region=here,global.imagePrefix=registry.example.com"),
             Catch::Contains("image: registry.example.com/koord-queue/koord-queue:"));
  CHECK_THAT(helm.Try(render + "koord-queue.oversellrate=0").output, Catch::Contains("'/oversellrate'"));
}

TEST_CASE("metrics may be scraped from everywhere, or from where it is said", "[chart]") {
  const Helm helm;
  // By "policy port": the number of peers; 0: from everywhere.
  const auto peers = [&](const std::string& flags) {
    std::map<std::string, size_t> found;
    for (const Json& policy : ObjectsOf(helm.Render(absl::StrCat(kEverything, " ", flags)).output, "NetworkPolicy")) {
      for (const Json& rule : Find(policy, {"spec", "ingress"})->as_array()) {
        const Json* from = Find(rule, {"from"});
        found[absl::StrCat(StringAt(policy, {"metadata", "name"}), " ",
                           rule.at("ports").as_array().at(0).at("port").as_string().c_str())] =
            from == nullptr ? 0 : from->as_array().size();
      }
    }
    return found;
  };
  std::map<std::string, size_t> wanted = {
      {"koord-queue grpc", 3},
      {"koord-queue metrics", 0},
      {"koord-queue debug-metrics", 0},
      {"koord-queue-controllers metrics", 0},
      {"koord-queue-controllers health", 0},
      {"koord-queue-visibility https", 0},
      {"koord-queue-visibility metrics", 0},
      {"koord-queue-debug-api debug-metrics", 0},
  };
  CHECK(peers("") == wanted);
  for (auto& [port, count] : wanted) {
    if (absl::EndsWith(port, "metrics")) count = 1;
  }
  CHECK(peers("--set networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus") == wanted);
}

// "visibility livenessProbe metrics", with the scheme where it is not plain HTTP.
std::vector<std::string> ProbesOf(const Json& deployment) {
  std::vector<std::string> probes;
  for (const Json& container : Find(deployment, {"spec", "template", "spec", "containers"})->as_array()) {
    for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
      const Json* get = Find(container, {probe, "httpGet"});
      if (get == nullptr) continue;
      const std::string scheme = StringAt(*get, {"scheme"});
      probes.push_back(absl::StrCat(StringAt(container, {"name"}), " ", probe, scheme.empty() ? "" : " ", scheme, " ",
                                    StringAt(*get, {"port"})));
    }
  }
  return probes;
}

// A port where users call can be full of them, and a kubelet that cannot get through would restart the pod.
TEST_CASE("probes come to a port where no user calls, in plain HTTP, and the network lets them in", "[chart]") {
  const Helm helm;
  const std::string rendered = helm.Render(kEverything).output;
  std::map<std::string, std::string> network;  // by Deployment
  for (const Json& policy : ObjectsOf(rendered, "NetworkPolicy")) {
    network[StringAt(policy, {"metadata", "name"})] = JsonText(*Find(policy, {"spec", "ingress"}));
  }
  std::vector<std::string> probes;
  for (const Json& deployment : ObjectsOf(rendered, "Deployment")) {
    const std::string name = StringAt(deployment, {"metadata", "name"});
    for (const std::string& probe : ProbesOf(deployment)) {
      CAPTURE(name, probe);
      probes.push_back(absl::StrCat(name, ": ", probe));
      CHECK_THAT(network[name],
                 Catch::Contains(absl::StrCat("{\"port\":\"", probe.substr(probe.rfind(' ') + 1), "\"}")));
    }
  }
  std::sort(probes.begin(), probes.end());
  CHECK(probes == std::vector<std::string>{"koord-queue-controllers: manager livenessProbe health",
                                           "koord-queue-controllers: manager readinessProbe health",
                                           "koord-queue-debug-api: debug-api livenessProbe debug-metrics",
                                           "koord-queue-debug-api: debug-api readinessProbe debug-metrics",
                                           "koord-queue-visibility: visibility livenessProbe metrics",
                                           "koord-queue-visibility: visibility readinessProbe metrics",
                                           "koord-queue: controller livenessProbe metrics",
                                           "koord-queue: controller readinessProbe metrics",
                                           "koord-queue: debug-api livenessProbe debug-metrics"});
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
        "PodMonitor koord-queue-controllers", "PodMonitor koord-queue-visibility", "PodMonitor koord-queue-debug-api",
        "PrometheusRule koord-queue"}) {
    CAPTURE(object);
    CHECK(!Has(plain, object));
    CHECK(Has(all, object));
  }
  for (const std::string& object : all) CHECK(std::count(all.begin(), all.end(), object) == 1);
}

}  // namespace
}  // namespace kq::e2e
