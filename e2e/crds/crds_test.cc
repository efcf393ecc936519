// The definitions of deploy/crds on a real API server, which KUBECONFIG names. kubectl is in PATH.

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/api/codec.h"
#include "libs/common/json.h"
#include "libs/kube/http_kube_api.h"
#include "libs/kube/kubeconfig.h"

namespace kq {
namespace {

const KubeResource kUnits = {"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
const KubeResource kQueues = {"scheduling.x-k8s.io", "v1alpha1", "queues"};
const KubeResource kQuotas = {"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"};
const KubeResource kDefinitions = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const KubeResource kNamespaces = {"", "v1", "namespaces"};

struct Finished {
  int code = 0;
  std::string output;  // of both streams
};

Finished Run(const std::string& command) {
  FILE* pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Finished finished;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) finished.output.append(buffer, n);
  const int status = pclose(pipe);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return finished;
}

std::string Kubectl(const std::string& arguments) {
  const Finished finished = Run(absl::StrCat("kubectl ", arguments));
  INFO("kubectl " << arguments << "\n" << finished.output);
  REQUIRE(finished.code == 0);
  return finished.output;
}

// Single quotes read better in a test.
Json Quoted(absl::string_view text) {
  const absl::StatusOr<Json> json = ParseJson(absl::StrReplaceAll(text, {{"'", "\""}}));
  INFO(text);
  REQUIRE(json.ok());
  return *json;
}

// The API server with our definitions, and a namespace that goes away again.
class Cluster {
 public:
  Cluster() {
    const char* path = std::getenv("KUBECONFIG");
    INFO("KUBECONFIG must name the kubeconfig of a test cluster");
    REQUIRE(path != nullptr);
    const absl::StatusOr<KubeConnection> connection = LoadKubeconfig(path);
    REQUIRE(connection.ok());
    HttpKubeApiOptions options;
    options.user_agent = "crds-test";
    auto api = NewHttpKubeApi(*connection, options);
    REQUIRE(api.ok());
    api_ = *std::move(api);

    Kubectl("apply -f deploy/crds -f deploy/crds/optional");
    Kubectl(
        "wait --timeout=60s --for=condition=Established crd/queueunits.scheduling.x-k8s.io "
        "crd/queues.scheduling.x-k8s.io crd/elasticquotas.scheduling.sigs.k8s.io");
    ns_ = absl::StrCat("crds-", getpid(), "-", ++count_);
    const auto made =
        api_->Create(kNamespaces, "",
                     Quoted(absl::StrCat("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'", ns_, "'}}")));
    INFO(made.status().message());
    REQUIRE(made.ok());
  }
  ~Cluster() {
    const absl::Status status = api_->Delete({kNamespaces, {"", ns_}, "", 0, Propagation::kBackground});
    if (!status.ok()) WARN("namespace " << ns_ << " stays: " << status.message());
  }

  KubeApi* operator->() const { return api_.get(); }
  const std::string& ns() const { return ns_; }

  absl::StatusOr<Json> CreateUnit(absl::string_view name, absl::string_view rest) const {
    return api_->Create(kUnits, ns_,
                        Quoted(absl::StrCat("{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'QueueUnit',",
                                            "'metadata':{'name':'", name, "','namespace':'", ns_, "'}", rest, "}")));
  }
  absl::StatusOr<Json> PatchStatus(absl::string_view name, absl::string_view status) const {
    return api_->Patch({kUnits,
                        {ns_, std::string(name)},
                        Subresource::kStatus,
                        PatchType::kMerge,
                        Quoted(absl::StrCat("{'status':", status, "}"))});
  }
  Json Unit(absl::string_view name) const {
    auto unit = api_->Get(kUnits, {ns_, std::string(name)});
    INFO(unit.status().message());
    REQUIRE(unit.ok());
    return *std::move(unit);
  }

 private:
  static int count_;
  std::unique_ptr<KubeApi> api_;
  std::string ns_;
};
int Cluster::count_ = 0;

// Every field of the original, and one at each place that nobody knows.
constexpr absl::string_view kWholeSpec = R"({
  'active': false,
  'admissionPolicy': {'later': true},
  'consumerRef': {'apiVersion': 'batch/v1', 'fieldPath': 'spec', 'kind': 'Job', 'name': 'j', 'namespace': 'team',
                  'resourceVersion': '12', 'uid': 'u-0'},
  'maximumExecutionTimeSeconds': 3600,
  'podSet': [
    {'count': 3, 'minCount': 1, 'name': 'worker', 'later': 1,
     'template': {'metadata': {'labels': {'a': ''}, 'creationTimestamp': null},
                  'spec': {'containers': [{'name': 'c', 'image': 'i', 'resources': {'requests': {'cpu': '0.50', 'memory': 1000}},
                                           'env': [{'name': 'EMPTY', 'value': ''}], 'unheardOf': {'x': [1, null, 'y']}}],
                           'initContainers': [{'name': 's', 'restartPolicy': 'Always'}]}},
     'topologyRequest': {'required': 'rack'}},
    {'count': 0, 'name': 'ps', 'template': {}}],
  'priority': -7,
  'priorityClassName': 'high',
  'queue': 'team-a',
  'request': {'cpu': '4000m'},
  'resource': {'cpu': 4, 'memory': '8Gi', 'nvidia.com/gpu': '1e3', 'odd': '-1', 'large': '100Ei'}
})";

constexpr absl::string_view kWholeStatus = R"({
  'accumulatedPastExecutionTimeSeconds': 5,
  'admissionChecks': [{'lastTransitionTime': '2026-11-29T10:00:00Z', 'message': 'm', 'name': 'prov',
                       'podSetUpdates': [{'labels': {'a': 'b'}, 'name': 'worker'}], 'state': 'Pending'}],
  'admissions': [{'name': 'worker', 'reclaimState': {'replicas': 1}, 'replicas': 3, 'resources': {'cpu': '1500m'},
                  'running': 2, 'later': 'x'}],
  'attempts': 5,
  'conditions': [{'lastTransitionTime': '2026-11-29T10:00:03Z', 'message': '', 'observedGeneration': 9,
                  'reason': 'Admitted', 'status': 'True', 'type': 'Admitted'}],
  'lastAllocateTime': '2026-11-29T10:00:02Z',
  'lastUpdateTime': '2026-11-29T10:00:01Z',
  'later': {'x': [1]},
  'message': 'fine',
  'phase': 'Running',
  'podState': {'pending': 1, 'running': 2},
  'reclaimablePods': [{'count': 1, 'name': 'worker'}],
  'requeueState': {'count': 2, 'requeueAt': '2026-11-29T10:05:00Z'}
})";

TEST_CASE("the definitions are structural and say whose they are", "[crds]") {
  const Cluster cluster;
  for (const std::string name :
       {"queueunits.scheduling.x-k8s.io", "queues.scheduling.x-k8s.io", "elasticquotas.scheduling.sigs.k8s.io"}) {
    CAPTURE(name);
    const auto crd = cluster->Get(kDefinitions, {"", name});
    REQUIRE(crd.ok());
    for (const Json& condition : Find(*crd, {"status", "conditions"})->as_array()) {
      CHECK(StringAt(condition, {"type"}) != "NonStructuralSchema");
    }
    const bool stand_in = name == "elasticquotas.scheduling.sigs.k8s.io";
    CHECK(StringAt(*crd, {"metadata", "annotations", "koord-queue/installed-where-absent"}) ==
          (stand_in ? "true" : ""));
  }
}

TEST_CASE("every field of a QueueUnit comes back unchanged", "[crds]") {
  const Cluster cluster;
  const auto created = cluster.CreateUnit("whole", absl::StrCat(",'spec':", kWholeSpec));
  INFO(created.status().message());
  REQUIRE(created.ok());
  const auto patched = cluster.PatchStatus("whole", kWholeStatus);
  INFO(patched.status().message());
  REQUIRE(patched.ok());

  const Json unit = cluster.Unit("whole");
  CHECK(unit.at("spec") == Quoted(kWholeSpec));
  CHECK(unit.at("status") == Quoted(kWholeStatus));
}

TEST_CASE("a status patch of ours changes its fields and no other", "[crds]") {
  const Cluster cluster;
  REQUIRE(cluster.CreateUnit("whole", absl::StrCat(",'spec':", kWholeSpec)).ok());
  REQUIRE(cluster.PatchStatus("whole", kWholeStatus).ok());
  const absl::StatusOr<QueueUnit> before = ParseQueueUnit(cluster.Unit("whole"));
  REQUIRE(before.ok());
  CHECK_THAT(before->invalid, Catch::Contains("spec.resource.odd: ") && Catch::Contains("spec.resource.large: "));

  UnitStatusChange change;
  change.phase = Phase::kEnqueued;
  change.message = "limited";
  change.attempts = 6;
  change.admissions = before->admissions;
  change.conditions = ConditionsFor(Phase::kEnqueued, before->conditions, "limited", absl::FromUnixSeconds(1800000000));
  const auto patched = cluster->Patch(
      {kUnits, {cluster.ns(), "whole"}, Subresource::kStatus, PatchType::kMerge, UnitStatusPatch(change)});
  INFO(patched.status().message());
  REQUIRE(patched.ok());
  const absl::StatusOr<QueueUnit> after = ParseQueueUnit(*patched);
  REQUIRE(after.ok());
  CHECK(after->phase == Phase::kEnqueued);
  CHECK(after->admissions == before->admissions);
  CHECK(after->conditions == *change.conditions);

  const JsonObject was = Quoted(kWholeStatus).as_object();
  const JsonObject& now = patched->at("status").as_object();
  CHECK(now.size() == was.size());
  for (const auto& field : was) {
    const std::string name(field.key().data(), field.key().size());
    const bool ours =
        name == "phase" || name == "message" || name == "attempts" || name == "admissions" || name == "conditions";
    CAPTURE(name);
    if (!ours) CHECK(now.at(field.key()) == field.value());
  }
}

TEST_CASE("a new unit is Enqueued, whatever status it was created with", "[crds]") {
  const Cluster cluster;
  REQUIRE(cluster.CreateUnit("bare", "").ok());
  REQUIRE(cluster.CreateUnit("with-status", ",'spec':{},'status':{'phase':'Dequeued','message':'x'}").ok());
  const Json enqueued = Quoted("{'phase': 'Enqueued'}");
  CHECK(cluster.Unit("bare").at("status") == enqueued);
  CHECK(cluster.Unit("with-status").at("status") == enqueued);
}

TEST_CASE("a pod set has the original's defaults", "[crds]") {
  const Cluster cluster;
  REQUIRE(cluster.CreateUnit("defaults", ",'spec':{'podSet':[{}]}").ok());
  CHECK(cluster.Unit("defaults").at("spec") == Quoted("{'podSet':[{'name':'main','count':1}]}"));
}

TEST_CASE("nulls, as other writers leave them, are taken", "[crds]") {
  const Cluster cluster;
  const auto created =
      cluster.CreateUnit("nulls",
                         ",'spec':{'priority':null,'active':null,'maximumExecutionTimeSeconds':null,'consumerRef':null,"
                         "'podSet':[{'name':'a','count':1,'minCount':null,'topologyRequest':null,'template':{}}]}");
  INFO(created.status().message());
  REQUIRE(created.ok());
  Json unit = cluster.Unit("nulls");
  unit.as_object()["status"] = Quoted(
      "{'phase':'Dequeued','lastUpdateTime':null,'lastAllocateTime':null,'podState':{},"
      "'admissions':[{'name':'a','replicas':1,'running':0,'reclaimState':null}],"
      "'requeueState':null,'accumulatedPastExecutionTimeSeconds':null}");
  const auto updated = cluster->Update(kUnits, Subresource::kStatus, unit);
  INFO(updated.status().message());
  REQUIRE(updated.ok());
  CHECK(ParseQueueUnit(*updated)->invalid == "");
  CHECK(ParseQueueUnit(*updated)->phase == Phase::kDequeued);
}

TEST_CASE("phases of old and of later versions are stored", "[crds]") {
  const Cluster cluster;
  REQUIRE(cluster.CreateUnit("phases", "").ok());
  for (const std::string phase : {"", "Preempted", "SchedReady", "SomethingNew"}) {
    CAPTURE(phase);
    const auto patched = cluster.PatchStatus("phases", absl::StrCat("{'phase':'", phase, "'}"));
    REQUIRE(patched.ok());
    CHECK(StringAt(*patched, {"status", "phase"}) == phase);
  }
}

struct Refused {
  std::string json;  // a spec or a status
  std::string path;  // is in the message
};

// "[{'name': 'n0'}, {'name': 'n1'}, ...]"
std::string Named(int count, absl::string_view rest = "") {
  std::string list;
  for (int i = 0; i < count; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", "{'name':'n", i, "'", rest, "}");
  return absl::StrCat("[", list, "]");
}

TEST_CASE("a spec that makes no sense is refused with the field's path", "[crds]") {
  const Cluster cluster;
  const std::vector<Refused> cases = {
      {"{'resource':{'cpu':'four'}}", "spec.resource.cpu"},
      {"{'resource':{'cpu':1.5}}", "spec.resource.cpu"},
      {"{'request':{'memory':true}}", "spec.request.memory"},
      {"{'priority':'high'}", "spec.priority"},
      {"{'priority':3000000000}", "spec.priority"},
      {"{'active':'yes'}", "spec.active"},
      {"{'consumerRef':'job'}", "spec.consumerRef"},
      {"{'maximumExecutionTimeSeconds':0}", "spec.maximumExecutionTimeSeconds"},
      {absl::StrCat("{'podSet':", Named(9), "}"), "spec.podSet"},
      {"{'podSet':[{'name':'a'},{'name':'a'}]}", "spec.podSet[1]"},
      {"{'podSet':[{'name':'a','count':-1}]}", "spec.podSet[0].count"},
      {"{'podSet':[{'name':'a','minCount':0}]}", "spec.podSet[0].minCount"},
      {"{'podSet':[{'name':'a','template':'none'}]}", "spec.podSet[0].template"},
  };
  for (const Refused& c : cases) {
    CAPTURE(c.json);
    const auto created = cluster.CreateUnit("bad", absl::StrCat(",'spec':", c.json));
    REQUIRE(created.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(created.status().message()), Catch::Contains(c.path));
  }
}

TEST_CASE("a status that makes no sense is refused with the field's path", "[crds]") {
  const Cluster cluster;
  REQUIRE(cluster.CreateUnit("unit", "").ok());
  const std::vector<Refused> cases = {
      {"{'attempts':-1}", "status.attempts"},
      {"{'phase':7}", "status.phase"},
      {"{'lastUpdateTime':'noon'}", "status.lastUpdateTime"},
      {"{'podState':{'running':'1'}}", "status.podState.running"},
      {absl::StrCat("{'admissions':", Named(33), "}"), "status.admissions"},
      {"{'admissions':[{'replicas':1}]}", "status.admissions[0].name"},
      {"{'admissions':[{'name':'a','resources':{'cpu':'x'}}]}", "status.admissions[0].resources.cpu"},
      {absl::StrCat("{'reclaimablePods':", Named(33, ",'count':1"), "}"), "status.reclaimablePods"},
      {absl::StrCat("{'admissionChecks':", Named(9), "}"), "status.admissionChecks"},
      {"{'admissionChecks':[{'name':'a','state':'Maybe'}]}", "status.admissionChecks[0].state"},
      {"{'conditions':[{'type':'A','status':'True'}]}", "status.conditions[0]"},
      {"{'conditions':[{'type':'A','status':'yes','reason':'R','message':'','lastTransitionTime':'2026-11-29T10:00:00Z'"
       "}]}",
       "status.conditions[0].status"},
      {"{'requeueState':{'count':-1}}", "status.requeueState.count"},
  };
  for (const Refused& c : cases) {
    CAPTURE(c.json);
    const auto patched = cluster.PatchStatus("unit", c.json);
    REQUIRE(patched.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(patched.status().message()), Catch::Contains(c.path));
  }
}

TEST_CASE("every field of a Queue comes back unchanged", "[crds]") {
  const Cluster cluster;
  const Json spec = Quoted(R"({'queuePolicy': 'Block', 'priority': 1000, 'priorityClassName': 'p', 'later': 1,
      'admissionChecks': [{'name': 'prov', 'labelSelector': {'matchLabels': {'a': 'b'},
          'matchExpressions': [{'key': 'c', 'operator': 'In', 'values': ['d']}]}}, {'name': 'all'}]})");
  const Json status = Quoted(
      "{'queueItemDetails': {'active': [{'name': 'j', 'namespace': 'ns', 'position': 1, 'priority': 4}]}, 'later': 1}");
  Json queue = Quoted(absl::StrCat("{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'Queue',",
                                   "'metadata':{'name':'q','namespace':'", cluster.ns(), "'}}"));
  queue.as_object()["spec"] = spec;
  const auto created = cluster->Create(kQueues, cluster.ns(), queue);
  INFO(created.status().message());
  REQUIRE(created.ok());
  JsonObject patch;
  patch["status"] = status;
  REQUIRE(cluster->Patch({kQueues, {cluster.ns(), "q"}, Subresource::kStatus, PatchType::kMerge, patch}).ok());
  const auto stored = cluster->Get(kQueues, {cluster.ns(), "q"});
  REQUIRE(stored.ok());
  CHECK(stored->at("spec") == spec);
  CHECK(stored->at("status") == status);

  queue.as_object()["metadata"].as_object()["name"] = "bad";
  queue.as_object()["spec"] = Quoted("{'priority': 'high'}");
  CHECK_THAT(std::string(cluster->Create(kQueues, cluster.ns(), queue).status().message()),
             Catch::Contains("spec.priority"));
}

TEST_CASE("a Queue as we create it is accepted and read again", "[crds]") {
  const Cluster cluster;
  Queue queue;
  queue.key = {cluster.ns(), "ours"};
  queue.policy = "Priority";
  queue.priority = 1000;
  queue.created_by_us = true;
  const auto created =
      cluster->Create(kQueues, cluster.ns(), QueueJson(queue, {{"koord-queue/max-depth", "5"}}, "root"));
  INFO(created.status().message());
  REQUIRE(created.ok());
  absl::StatusOr<Queue> read = ParseQueue(*created);
  REQUIRE(read.ok());
  CHECK(read->uid != "");
  CHECK(read->version > 0);
  queue.uid = read->uid;
  queue.version = read->version;
  queue.created = read->created;
  queue.max_depth = "5";
  CHECK(*read == queue);
}

TEST_CASE("every field of an ElasticQuota comes back unchanged", "[crds]") {
  const Cluster cluster;
  Json quota = Quoted(absl::StrCat("{'apiVersion':'scheduling.sigs.k8s.io/v1alpha1','kind':'ElasticQuota',",
                                   "'metadata':{'name':'team-a','namespace':'", cluster.ns(),
                                   "','labels':{'quota.scheduling.koordinator.sh/parent':'root'}}}"));
  const Json spec = Quoted("{'min': {'cpu': 4}, 'max': {'cpu': '4500m', 'nvidia.com/gpu': '8'}, 'later': 1}");
  quota.as_object()["spec"] = spec;
  REQUIRE(cluster->Create(kQuotas, cluster.ns(), quota).ok());
  const Json patch = Quoted("{'status': {'used': {'cpu': '1'}, 'later': 1}}");
  REQUIRE(cluster->Patch({kQuotas, {cluster.ns(), "team-a"}, Subresource::kStatus, PatchType::kMerge, patch}).ok());
  const auto stored = cluster->Get(kQuotas, {cluster.ns(), "team-a"});
  REQUIRE(stored.ok());
  CHECK(stored->at("spec") == spec);
  CHECK(stored->at("status") == patch.at("status"));

  quota.as_object()["metadata"].as_object()["name"] = "bad";
  quota.as_object()["spec"] = Quoted("{'max': {'cpu': 'lots'}}");
  CHECK_THAT(std::string(cluster->Create(kQuotas, cluster.ns(), quota).status().message()),
             Catch::Contains("spec.max.cpu"));
}

// The lines of a kubectl table, each as its cells.
std::vector<std::vector<std::string>> Cells(const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  for (const absl::string_view line : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    rows.push_back(absl::StrSplit(line, absl::ByAnyChar(" "), absl::SkipEmpty()));
  }
  return rows;
}

TEST_CASE("kubectl shows the columns that were promised", "[crds]") {
  using Row = std::vector<std::string>;
  const Cluster cluster;
  REQUIRE(
      cluster.CreateUnit("j1", ",'spec':{'queue':'team-a','priority':7,'consumerRef':{'kind':'Job','name':'j'}}").ok());
  REQUIRE(cluster.PatchStatus("j1", "{'message':'no-room'}").ok());

  for (const std::string name : {"queueunits", "queueunit", "qu", "qus"}) {
    CAPTURE(name);
    auto rows = Cells(Kubectl(absl::StrCat("get ", name, " -n ", cluster.ns())));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0] == Row{"NAME", "QUEUE", "PHASE", "PRIORITY", "JOBTYPE", "AGE"});
    REQUIRE(rows[1].size() == 6);
    rows[1].pop_back();
    CHECK(rows[1] == Row{"j1", "team-a", "Enqueued", "7", "Job"});
  }
  const auto wide = Cells(Kubectl(absl::StrCat("get qu -o wide -n ", cluster.ns())));
  REQUIRE(wide.size() == 2);
  CHECK(wide[0].back() == "MESSAGE");
  CHECK(wide[1].back() == "no-room");

  REQUIRE(cluster
              ->Create(kQueues, cluster.ns(),
                       Quoted("{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'Queue','metadata':{'name':'q'},"
                              "'spec':{'queuePolicy':'Block','priority':3}}"))
              .ok());
  for (const std::string name : {"queues.scheduling.x-k8s.io", "kqueue"}) {
    auto rows = Cells(Kubectl(absl::StrCat("get ", name, " -n ", cluster.ns())));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0] == Row{"NAME", "POLICY", "PRIORITY", "AGE"});
    rows[1].pop_back();
    CHECK(rows[1] == Row{"q", "Block", "3"});
  }

  REQUIRE(cluster
              ->Create(kQuotas, cluster.ns(),
                       Quoted("{'apiVersion':'scheduling.sigs.k8s.io/v1alpha1','kind':'ElasticQuota',"
                              "'metadata':{'name':'team-a','labels':{'quota.scheduling.koordinator.sh/parent':'org'}},"
                              "'spec':{'max':{'cpu':4,'memory':'8Gi'}}}"))
              .ok());
  for (const std::string name : {"eq", "eqs"}) {
    auto rows = Cells(Kubectl(absl::StrCat("get ", name, " -n ", cluster.ns())));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0] == Row{"NAME", "PARENT", "CPU", "MEMORY", "AGE"});
    rows[1].pop_back();
    CHECK(rows[1] == Row{"team-a", "org", "4", "8Gi"});
  }
}

}  // namespace
}  // namespace kq
