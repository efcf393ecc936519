// The processes run under the accounts that the chart makes, with their tokens and so
// with exactly its rights, as the Deployments say: their flags, their Secrets, the pods
// that KWOK plays. A story takes them through everything they do, and nothing is refused.
//
// That they have no right too many is shown in two steps. Each single right (one verb on
// one resource, perhaps of one name) is taken out of its role on the real API server,
// which then must refuse a request that the process made in the story, by its audit log,
// and allow it again when the right is back. And from each role one right is taken away
// from running processes, to show that whoever operates them sees what is refused: in
// the log, in the metrics, and in what does not happen.
#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "e2e/chart/granted.h"
#include "e2e/chart/pod_process.h"
#include "e2e/support/helm.h"
#include "e2e/support/objects.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/proxy.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kSoon = absl::Seconds(10);  // until the API server goes by a changed role
constexpr char kApiService[] = "v1alpha1.visibility.koord-queue.x-k8s.io";
constexpr char kNamespace[] = "koord-queue";
const std::string kApi = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1";

// Answers that are lost, so that processes must ask what became of their writes.
constexpr char kLostAnswers[] = R"yaml(
rules:
- {name: status, verbs: [patch], resource: queueunits.scheduling.x-k8s.io/status, object: lost.*, limit: 2, fault: lose-answer}
- {name: job, verbs: [patch], resource: jobs.batch, object: lost.*, limit: 1, fault: lose-answer}
)yaml";

// A cluster with an audit log.
OwnCluster Audited() {
  setenv("CLUSTER_AUDIT", "1", 1);
  return OwnCluster();
}

class World {
 public:
  World() : cluster_(own_.kubeconfig(), TestCluster::Definitions::kLeaveOut), helm_(own_.kubeconfig()) {
    helm_.Install(absl::StrCat(
        "--create-namespace --wait --timeout 2m ",
        "--set controller.enableVisibilityServer=true,controller.enableApiHandler=true,debugApi.enabled=true,"
        "controller.replicas=2,visibility.service.externalName=localhost,"
        "visibility.service.port=",
        visibility_port_));
    proxy_ = std::make_unique<Proxy>(cluster_, "default", "{}");
    const std::string server = absl::StrCat("127.0.0.1:", grpc_port_);
    scheduler_ = std::make_unique<PodProcess>(&cluster_, PodProcessOptions{.deployment = "koord-queue",
                                                                           .container = "controller",
                                                                           .program = "services/scheduler/koord-queue",
                                                                           .kubeconfig = proxy_->kubeconfig(),
                                                                           .ports = {{"grpc-bind-address", grpc_port_}},
                                                                           .flags = {"--check-invariants"}});
    ReadControllers();
    visibility_ = std::make_unique<PodProcess>(
        &cluster_, PodProcessOptions{.deployment = "koord-queue-visibility",
                                     .container = "visibility",
                                     .program = "services/visibility/koord-queue-visibility",
                                     .scheduler = server,
                                     .ports = {{"bind-address", visibility_port_}}});
    debug_api_ =
        std::make_unique<PodProcess>(&cluster_, PodProcessOptions{.deployment = "koord-queue-debug-api",
                                                                  .container = "debug-api",
                                                                  .program = "services/debug-api/koord-queue-debug-api",
                                                                  .scheduler = server});
    debug_container_ =
        std::make_unique<PodProcess>(&cluster_, PodProcessOptions{.deployment = "koord-queue",
                                                                  .container = "debug-api",
                                                                  .program = "services/debug-api/koord-queue-debug-api",
                                                                  .scheduler = server});
  }

  TestCluster& cluster() { return cluster_; }
  const Helm& helm() const { return helm_; }
  Proxy& proxy() { return *proxy_; }
  PodProcess& scheduler() { return *scheduler_; }
  PodProcess& controllers() { return *controllers_; }
  PodProcess& visibility() { return *visibility_; }
  PodProcess& debug_api() { return *debug_api_; }
  // The one in the pods of koord-queue, under its account.
  PodProcess& debug_container() { return *debug_container_; }
  int grpc_port() const { return grpc_port_; }
  int visibility_port() const { return visibility_port_; }
  std::string audit_log() const { return StateFile("audit.log"); }
  void SignalControllerManager(int signal) const {
    int pid = 0;
    CHECK(absl::SimpleAtoi(FileText(StateFile("kube-controller-manager.pid")), &pid));
    CHECK(kill(pid, signal) == 0);
  }

  // Anew, after their Deployment has changed.
  void ReadControllers() {
    controllers_ = std::make_unique<PodProcess>(
        &cluster_, PodProcessOptions{.deployment = "koord-queue-controllers",
                                     .container = "manager",
                                     .program = "services/controllers/koord-queue-controllers",
                                     .kubeconfig = proxy_->kubeconfig()});
  }

  // "get ... -o jsonpath" of one object.
  std::string Field(const std::string& object, const std::string& path) const {
    return cluster_.Kubectl(absl::StrCat("get ", object, " --ignore-not-found -o jsonpath='{", path, "}'"));
  }
  void AwaitField(const std::string& object, const std::string& path, const std::string& wanted) const {
    CAPTURE(object, path, wanted);
    const bool came = Await(kPatience, [&] { return Field(object, path) == wanted; });
    if (!came) FAIL("it is \"" << Field(object, path) << "\"");
  }
  void CreateJob(const std::string& name, const std::string& run_for) {
    cluster_.Create(kJobs, "default", JobObject(name, "team-a", run_for));
  }
  // What a robot gets that calls koord-queue-visibility directly, with a token of its own: the code.
  std::string CallAsRobot() const {
    return Run(
        absl::StrCat("curl -sk -o /dev/null -w '%{http_code}' -H \"Authorization: Bearer $(kubectl --kubeconfig=",
                     cluster_.kubeconfig(), " create token robot -n default)\" https://127.0.0.1:", visibility_port_,
                     kApi, "/queues/team-a/queueunits"));
  }
  std::string Raw(const std::string& path, const std::string& more = "") const {
    return cluster_.Kubectl(absl::StrCat("get --raw '", kApi, path, "' ", more, " 2>&1 || true"));
  }

 private:
  std::string StateFile(const std::string& name) const {
    return absl::StrCat(own_.kubeconfig().substr(0, own_.kubeconfig().rfind('/') + 1), name);
  }

  const int visibility_port_ = FreePort(), grpc_port_ = FreePort();
  OwnCluster own_ = Audited();
  TestCluster cluster_;
  Helm helm_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<PodProcess> scheduler_, controllers_, visibility_, debug_api_, debug_container_;
};

std::string UnitOf(const std::string& unit) { return absl::StrCat("queueunit ", unit, " -n default"); }

// ---- the story

void Begin(World* world) {
  // The visibility server first: it makes its authority before it knows a scheduler.
  world->visibility().Start();
  CHECK(Await(kPatience,
              [&] { return !world->Field(absl::StrCat("apiservice ", kApiService), ".spec.caBundle").empty(); }));
  world->scheduler().Start();
  world->controllers().Start();
  world->debug_api().Start();
  world->debug_container().Start();
  // The pod of the process that leads, of two, is the only one behind the Service.
  const std::string pod = absl::StrCat("pod ", world->scheduler().pod(), " -n koord-queue");
  world->AwaitField(pod, ".metadata.labels.koord-queue-leader", "true");
  CHECK(Await(kPatience, [&] {
    return world->cluster().Kubectl(
               "get endpointslices -n koord-queue -l kubernetes.io/service-name=koord-queue "
               "-o jsonpath='{.items[*].endpoints[*].targetRef.name}'") == world->scheduler().pod();
  }));
  CHECK_THAT(world->scheduler().LogText(), Catch::Contains("became leader"));
  CHECK(world->Field("lease example-lease -n default", ".spec.holderIdentity").find(world->scheduler().pod()) == 0);
}

// Two Jobs, and room for one.
void AdmitAndFinish(World* world) {
  world->cluster().Create(kQuotas, kQuotaNamespace, QuotaObject("team-a", "", 1));
  world->AwaitField("queue team-a -n koord-queue", ".metadata.name", "team-a");
  world->cluster().Kubectl("annotate queue team-a -n koord-queue koord-queue/queue-items-refresh-interval=1s");
  world->CreateJob("first", "5s");
  world->AwaitField("job first -n default", ".spec.suspend", "false");
  world->CreateJob("second", "1s");
  CHECK(Await(kPatience, [&] { return absl::StrContains(world->Raw("/queues/team-a/queueunits"), "\"second\""); }));
  CHECK(Await(kPatience, [&] {
    return absl::StrContains(world->Field("queue team-a -n koord-queue", ".status.queueItemDetails"), "\"second\"");
  }));
  // The unit of a waiting Job follows it.
  world->cluster().Kubectl("annotate job second -n default scheduling.x-k8s.io/priority=7");
  world->AwaitField(UnitOf("second"), ".spec.priority", "7");
  world->AwaitField(UnitOf("first"), ".status.phase", "Succeed");
  world->AwaitField(UnitOf("second"), ".status.phase", "Succeed");
  const std::string events = world->cluster().Kubectl(
      "get events -n default --field-selector involvedObject.name=second -o custom-columns=REASON:.reason");
  CHECK_THAT(events, Catch::Contains("Scheduled"));
  CHECK_THAT(events, Catch::Contains("FailedScheduling"));
}

void ChangeQueues(World* world) {
  // The label of a quota is carried over to its Queue.
  world->cluster().Kubectl("label elasticquota team-a -n kube-system koord-queue/queue-policy=Block");
  world->AwaitField("queue team-a -n koord-queue", ".spec.queuePolicy", "Block");
  // The same mistake twice is one event with a count.
  const auto set = [&](const std::string& policy) {
    world->cluster().Kubectl(absl::StrCat(
        "patch queue team-a -n koord-queue --type=merge -p '{\"spec\":{\"queuePolicy\":\"", policy, "\"}}'"));
  };
  const std::string mistakes = "events -n koord-queue --field-selector reason=AddQueueFail";
  set("Nonsense");
  world->AwaitField(mistakes, ".items[*].count", "1");
  set("Priority");
  set("Nonsense");
  world->AwaitField(mistakes, ".items[*].count", "2");
  set("Priority");
  // A Queue goes with its quota.
  world->cluster().Create(kQuotas, kQuotaNamespace, QuotaObject("team-b", "", 1));
  world->AwaitField("queue team-b -n koord-queue", ".metadata.name", "team-b");
  world->cluster().Kubectl("delete elasticquota team-b -n kube-system");
  world->AwaitField("queue team-b -n koord-queue", ".metadata.name", "");
}

void LoseAnswers(World* world) {
  world->proxy().SetRules(kLostAnswers);
  world->CreateJob("lost", "1s");
  world->AwaitField(UnitOf("lost"), ".status.phase", "Succeed");
  CHECK(world->proxy().Idle().empty());
  world->proxy().SetRules("{}");
}

// Somebody evicts a running Job; it runs again, and what is said a second time is counted.
void Evict(World* world) {
  world->CreateJob("evicted", "4s");
  world->AwaitField(UnitOf("evicted"), ".status.phase", "Running");
  world->cluster().Kubectl(
      "patch queueunit evicted -n default --subresource=status --type=merge "
      "-p '{\"status\":{\"phase\":\"Preempted\"}}'");
  world->AwaitField("events -n default --field-selector reason=Resume,involvedObject.name=evicted", ".items[*].count",
                    "2");
  world->AwaitField(UnitOf("evicted"), ".status.phase", "Succeed");
}

// A Job takes the name of another, whose unit the garbage collector has not taken away yet.
void TakeAName(World* world) {
  world->SignalControllerManager(SIGSTOP);
  world->cluster().Kubectl("delete job first -n default");
  world->CreateJob("first", "1s");
  const std::string uid = world->Field("job first -n default", ".metadata.uid");
  world->AwaitField(UnitOf("first"), ".metadata.ownerReferences[0].uid", uid);
  world->SignalControllerManager(SIGCONT);
  world->AwaitField(UnitOf("first"), ".status.phase", "Succeed");
}

// A Lease that somebody deletes is made again.
void DeleteLeases(World* world) {
  for (const char* lease : {"example-lease -n default", "koord-queue-controllers-job -n koord-queue"}) {
    world->cluster().Kubectl(absl::StrCat("delete lease ", lease));
    CHECK(
        Await(kPatience, [&] { return !world->Field(absl::StrCat("lease ", lease), ".spec.holderIdentity").empty(); }));
  }
}

// An ordinary user, with the chart's own role for it, pages through the ones that wait; another may not.
void PageThroughWaiting(World* world) {
  const std::vector<std::string> jobs = {"holder", "wait-1", "wait-2", "wait-3", "wait-4", "wait-5"};
  for (const std::string& job : jobs) {
    world->CreateJob(job, "10m");
    if (job == "holder") world->AwaitField("job holder -n default", ".spec.suspend", "false");
    world->AwaitField(UnitOf(job), ".metadata.name", job);  // in this order
  }
  world->cluster().Kubectl("create clusterrolebinding bob --clusterrole=koord-queue-visibility-viewer --user=bob");
  const std::string page = "/queues/team-a/queueunits?limit=2&offset=2";
  const auto names = [&] {
    std::string found;
    const absl::StatusOr<Json> list = ParseJson(world->Raw(page, "--as=bob"));
    const Json* items = list.ok() ? Find(*list, {"items"}) : nullptr;
    if (items == nullptr) return found;
    for (const Json& item : items->as_array()) {
      absl::StrAppend(&found, JsonText(item.at("position")), " ", StringAt(item, {"metadata", "name"}), "\n");
    }
    return found;
  };
  CHECK(Await(kPatience, [&] { return names() == "3 wait-3\n4 wait-4\n"; }));
  CHECK_THAT(world->Raw(page, "--as=alice"), Catch::Contains("Error from server (Forbidden)"));
  world->cluster().Kubectl(absl::StrCat("delete job -n default ", absl::StrJoin(jobs, " ")));
}

void LookAround(World* world) {
  world->cluster().Kubectl("create serviceaccount robot -n default");
  CHECK(world->CallAsRobot() == "403");
  for (PodProcess* process : {&world->debug_api(), &world->debug_container()}) {
    const auto [code, body] = process->Fetch("bind-address", "/compare");
    CHECK(code == 200);
    CHECK_THAT(body, Catch::Contains("\"Differences\""));
  }
  // kqctl through a port-forward has the address 127.0.0.1.
  const std::string files = world->debug_api().Folder("/etc/koord-queue/grpc");
  CHECK_THAT(Run(absl::StrCat(DataFile("cli/kqctl/kqctl"), " quotas --server=127.0.0.1:", world->grpc_port(),
                              " --ca-file=", files, "/ca.crt --cert-file=", files, "/client.crt --key-file=", files,
                              "/client.key")),
             Catch::Contains("team-a"));
}

// An authority that ends soon is renewed, and both are trusted meanwhile.
void RenewAuthority(World* world) {
  CHECK(world->visibility().Stop().value_or(-1) == 0);
  const std::string key = LogFile("ca.key"), certificate = LogFile("ca.crt");
  Run(absl::StrCat(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=old -keyout ", key,
      " -out ", certificate));
  const std::string data =
      R"({"data":{"ca.crt":"'$(base64 -w0 )" + certificate + R"()'","ca.key":"'$(base64 -w0 )" + key + R"()'"}})";
  world->cluster().Kubectl(
      absl::StrCat("patch secret koord-queue-visibility-ca -n koord-queue --type=merge -p '", data, "'"));
  world->visibility().Start();
  const auto certificates = [&] {
    return CountOf(Run(absl::StrCat("kubectl --kubeconfig=", world->cluster().kubeconfig(), " get apiservice ",
                                    kApiService, " -o jsonpath='{.spec.caBundle}' | base64 -d")),
                   "BEGIN CERTIFICATE");
  };
  CHECK(Await(kPatience, [&] { return certificates() == 2; }));
  CHECK(Await(kPatience, [&] { return absl::StartsWith(world->Raw("/queues/team-a/queueunits"), "{"); }));
}

void End(World* world) {
  for (PodProcess* process : {&world->debug_api(), &world->debug_container(), &world->visibility(),
                              &world->controllers(), &world->scheduler()}) {
    CHECK(process->Stop().value_or(-1) == 0);
  }
  CHECK(world
            ->Field(absl::StrCat("pod ", world->scheduler().pod(), " -n koord-queue"),
                    ".metadata.labels.koord-queue-leader")
            .empty());
  CHECK(world->Field("lease example-lease -n default", ".spec.holderIdentity").empty());
}

// A request of the story that this right alone allows, of all that the chart grants.
const Action* NeedOf(const Action& right, const std::set<Action>& granted, const Requests& requests) {
  for (const Action& request : requests.made) {
    const auto covers = [&](const Action& one) { return Covers(one, request); };
    if (covers(right) && std::count_if(granted.begin(), granted.end(), covers) == 1) return &request;
  }
  return nullptr;
}

// Returns how many rights it has taken away and given back.
int CheckRights(World* world, const std::string& account) {
  CAPTURE(account);
  TestCluster& cluster = world->cluster();
  const std::vector<BoundRole> roles = RolesOf(&cluster, account);
  const std::set<Action> granted = GrantedBy(roles);
  const Requests requests = RequestsOf(world->audit_log(), account);
  CHECK(!granted.empty());
  CHECK(absl::StrJoin(requests.refused, "\n") == "");
  std::string uncovered;
  for (const Action& request : requests.made) {
    const auto covers = [&](const Action& one) { return Covers(one, request); };
    if (std::none_of(granted.begin(), granted.end(), covers)) absl::StrAppend(&uncovered, request.ToString(), "\n");
  }
  CHECK(uncovered == "");  // allowed by something that is not the chart's
  int rights = 0;
  for (const BoundRole& role : roles) {
    for (const Action& right : role.actions) {
      const std::string text = right.ToString();
      CAPTURE(role.key.name, text);
      const Action* need = NeedOf(right, granted, requests);
      CHECK(need != nullptr);  // else it was never needed, or something else grants it too
      if (need == nullptr) continue;
      TakeAway(&cluster, role, right);
      CHECK(Await(kSoon, [&] { return !MayDo(&cluster, account, *need); }));
      GiveBack(&cluster, role);
      CHECK(Await(kSoon, [&] { return MayDo(&cluster, account, *need); }));
      ++rights;
    }
  }
  return rights;
}

// ---- without a right

// Takes one away while it lives.
class Without {
 public:
  Without(World* world, const std::string& account, const Action& right) : cluster_(&world->cluster()) {
    for (const BoundRole& role : RolesOf(cluster_, account)) {
      if (role.actions.count(right) > 0) role_ = role;
    }
    REQUIRE(role_.actions.count(right) == 1);
    TakeAway(cluster_, role_, right);
    REQUIRE(Await(kSoon, [&] { return !MayDo(cluster_, account, right); }));
  }
  ~Without() { GiveBack(cluster_, role_); }

 private:
  TestCluster* const cluster_;
  BoundRole role_;
};

// That whoever operates the process sees what is refused: its log names it, and its metrics count it.
void AwaitRefusal(const PodProcess& process, const std::string& what, const std::string& port) {
  CAPTURE(process.log(), what);
  CHECK(Await(kPatience, [&] { return absl::StrContains(process.LogText(), absl::StrCat("cannot ", what)); }));
  CHECK_THAT(process.Fetch(port, "/metrics").second, Catch::Contains("rest_client_requests_total{code=\"403\""));
}

constexpr char kUnitGroup[] = "scheduling.x-k8s.io";
constexpr char kLeaseGroup[] = "coordination.k8s.io";
constexpr char kMetrics[] = "metrics-bind-address";

// Who may not renew a Lease does not lead, and leads once he may.
void LeadWithoutLease(World* world) {
  const Without first(world, "koord-queue", {"update", kLeaseGroup, "leases", "default", "example-lease"});
  const Without second(world, "koord-queue-controllers",
                       {"update", kLeaseGroup, "leases", "koord-queue", "koord-queue-controllers-job"});
  world->scheduler().Start();
  world->controllers().Start();
  AwaitRefusal(world->scheduler(), R"(update resource \"leases\")", kMetrics);
  AwaitRefusal(world->controllers(), R"(update resource \"leases\")", kMetrics);
  CHECK(!world->scheduler().Leads());
  CHECK(!world->scheduler().Ready());
}

void TakeRightsAway(World* world) {
  const Without label(world, "koord-queue", {"patch", "", "pods", "koord-queue", ""});
  const Without queue(world, "koord-queue", {"create", kUnitGroup, "queues", "koord-queue", ""});
  const Without status(world, "koord-queue", {"patch", kUnitGroup, "queueunits/status", "", ""});
  LeadWithoutLease(world);
  AwaitRefusal(world->scheduler(), R"(patch resource \"pods\")", kMetrics);
  world->cluster().Create(kQuotas, kQuotaNamespace, QuotaObject("team-c", "", 1));
  AwaitRefusal(world->scheduler(), R"(create resource \"queues\")", kMetrics);
  CHECK(world->scheduler().Leads());
  CHECK(world
            ->Field("endpointslices -n koord-queue -l kubernetes.io/service-name=koord-queue",
                    ".items[*].endpoints[*].targetRef.name")
            .empty());
  CHECK(world->Field("queue team-c -n koord-queue", ".metadata.name").empty());
  {
    const Without unit(world, "koord-queue-controllers", {"create", kUnitGroup, "queueunits", "", ""});
    world->CreateJob("barred", "1s");
    AwaitRefusal(world->controllers(), R"(create resource \"queueunits\")", kMetrics);
    CHECK(world->Field(UnitOf("barred"), ".metadata.name").empty());
  }
  AwaitRefusal(world->scheduler(), R"(patch resource \"queueunits/status\")", kMetrics);
  CHECK(world->Field("job barred -n default", ".spec.suspend") == "true");
  world->controllers().Kill();
}

void LookWithoutRights(World* world) {
  {
    const Without secret(world, "koord-queue-visibility",
                         {"get", "", "secrets", "koord-queue", "koord-queue-visibility-ca"});
    const Without front(world, "koord-queue-visibility",
                        {"list", "", "configmaps", "kube-system", "extension-apiserver-authentication"});
    world->visibility().Start();
    for (const char* what : {R"(get resource "secrets")", R"(list resource "configmaps")"}) {
      CAPTURE(what);
      CHECK(Await(kPatience, [&] {
        const auto [code, body] = world->visibility().Fetch(kMetrics, "/readyz?verbose");
        return code == 503 && absl::StrContains(body, absl::StrCat("cannot ", what));
      }));
    }
  }
  CHECK(Await(kPatience, [&] { return world->visibility().Ready(); }));
  {
    const Without review(world, "koord-queue-visibility", {"create", "authentication.k8s.io", "tokenreviews", "", ""});
    CHECK(world->CallAsRobot() == "503");
  }
  CHECK(Await(kPatience, [&] { return world->CallAsRobot() == "403"; }));
  const Without list(world, "koord-queue-debug-api", {"list", "scheduling.sigs.k8s.io", "elasticquotas", "", ""});
  world->debug_api().Start();
  CHECK(Await(kPatience, [&] {
    return absl::StrContains(world->debug_api().Fetch("bind-address", "/compare").second,
                             R"(cannot list resource \"elasticquotas\")");
  }));
  CHECK(world->debug_api().Stop().value_or(-1) == 0);
}

// An upgrade brings the rules back (conflicts are with the patches above). With the
// namespaces of the jobs named, the controllers have no more than they need there.
void NameTheNamespace(World* world) {
  world->helm().Upgrade("--reuse-values --force-conflicts --wait --set extension.namespaces={default}");
  const auto refusals = [&] { return RequestsOf(world->audit_log(), "koord-queue-controllers").refused.size(); };
  const size_t before = refusals();
  world->ReadControllers();
  world->controllers().Start();
  world->AwaitField(UnitOf("barred"), ".status.phase", "Succeed");
  CHECK(refusals() == before);
  for (const Action& one : GrantedBy(RolesOf(&world->cluster(), "koord-queue-controllers"))) {
    CAPTURE(one.ToString());
    CHECK((!one.ns.empty() || one.resource == "priorityclasses"));
  }
}

// Processes that have not ended yet bring nothing back.
void UninstallUnderThem(World* world) {
  world->helm().Uninstall();
  const auto left = [&] {
    return world->cluster().Kubectl(
        "get secrets,leases,pods,configmaps,services,endpointslices -n koord-queue -o name | grep -v kube-root-ca || "
        "true");
  };
  CHECK(Await(kPatience, [&] { return left().empty(); }));
  for (PodProcess* process : {&world->scheduler(), &world->controllers(), &world->visibility()}) {
    CHECK(process->Stop().ok());
  }
  CHECK(left() == "");
  CHECK(world->Field("lease example-lease -n default", ".metadata.name").empty());
}

TEST_CASE("each process works with exactly the chart's rights, and needs every one of them", "[chart]") {
  World world;
  Begin(&world);
  AdmitAndFinish(&world);
  ChangeQueues(&world);
  LoseAnswers(&world);
  Evict(&world);
  TakeAName(&world);
  DeleteLeases(&world);
  PageThroughWaiting(&world);
  LookAround(&world);
  RenewAuthority(&world);
  End(&world);
  int rights = 0;
  for (const char* account :
       {"koord-queue", "koord-queue-controllers", "koord-queue-visibility", "koord-queue-debug-api"}) {
    rights += CheckRights(&world, account);
  }
  WARN(rights << " rights were taken away, one at a time");
  TakeRightsAway(&world);
  LookWithoutRights(&world);
  NameTheNamespace(&world);
  UninstallUnderThem(&world);
}

}  // namespace
}  // namespace kq::e2e
