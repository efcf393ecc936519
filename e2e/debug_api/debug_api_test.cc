// The debug API as an operator meets it: scheduler and debug API run as processes on
// a real API server, and curl asks what the documents say.
#include <signal.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/child_process.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

namespace kq::e2e {
namespace {

constexpr char kQuotaNamespace[] = "kube-system";
constexpr absl::Duration kPatience = absl::Minutes(2);

Json QuotaObject(const std::string& name, const std::string& parent, int cores) {
  return {{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
          {"kind", "ElasticQuota"},
          {"metadata", {{"name", name}, {"labels", {{"quota.scheduling.koordinator.sh/parent", parent}}}}},
          {"spec", {{"max", {{"cpu", absl::StrCat(cores)}, {"memory", "8Gi"}}}}}};
}

// A unit of one pod of one core.
Json UnitObject(const std::string& name, const std::string& quota) {
  const Json container = {{"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
  const Json pod_set = {
      {"name", "main"}, {"count", 1}, {"template", {{"spec", {{"containers", JsonArray{container}}}}}}};
  return {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "QueueUnit"},
          {"metadata", {{"name", name}, {"labels", {{"quota.scheduling.koordinator.sh/name", quota}}}}},
          {"spec", {{"priority", 5}, {"podSet", JsonArray{pod_set}}}}};
}

// Both processes. Ended with the object.
class Processes {
 public:
  // Their lease is in the namespace of their accounts.
  Processes(TestCluster* cluster, const std::string& ns)
      : accounts_(cluster, ns),
        grpc_port_(FreePort()),
        debug_port_(FreePort()),
        scheduler_command_({DataFile("services/scheduler/koord-queue"),
                            absl::StrCat("--kubeconfig=", accounts_.Kubeconfig("koord-queue")),
                            absl::StrCat("--lease-namespace=", ns), "--lease-name=koord-queue", "--lease-duration=2s",
                            "--renew-deadline=1500ms", "--retry-period=250ms",
                            absl::StrCat("--grpc-bind-address=127.0.0.1:", grpc_port_),
                            absl::StrCat("--metrics-bind-address=127.0.0.1:", FreePort()), "--check-invariants"}),
        debug_api_(Start({DataFile("services/debug-api/koord-queue-debug-api"),
                          absl::StrCat("--kubeconfig=", accounts_.Kubeconfig("koord-queue-debug-api")),
                          absl::StrCat("--server=127.0.0.1:", grpc_port_),
                          absl::StrCat("--bind-address=127.0.0.1:", debug_port_), "--max-picture-age=20s"},
                         "koord-queue-debug-api.log")) {}

  void StartScheduler() { scheduler_ = std::make_unique<ChildProcess>(Start(scheduler_command_, "koord-queue.log")); }
  ChildProcess& scheduler() { return *scheduler_; }
  ChildProcess& debug_api() { return debug_api_; }

  std::string Url(const std::string& path) const { return absl::StrCat("http://127.0.0.1:", debug_port_, path); }
  // What curl prints; fails on an error.
  std::string Curl(const std::string& path) const { return Run(absl::StrCat("curl -sSf '", Url(path), "'")); }
  std::string Code(const std::string& path) const {
    return Run(absl::StrCat("curl -s -o /dev/null -w '%{http_code}' '", Url(path), "' || true"));
  }
  Json Ask(const std::string& path) const {
    const absl::StatusOr<Json> json = ParseJson(Curl(path));
    REQUIRE(json.ok());
    return *json;
  }

 private:
  static ChildProcess Start(const std::vector<std::string>& command, const std::string& log) {
    auto child = ChildProcess::Start(command, LogFile(log));
    REQUIRE(child.ok());
    return *std::move(child);
  }

  const ChartAccounts accounts_;
  const int grpc_port_, debug_port_;
  const std::vector<std::string> scheduler_command_;
  ChildProcess debug_api_;
  std::unique_ptr<ChildProcess> scheduler_;
};

// "object field" of each difference, in order.
std::vector<std::string> Differences(const Json& comparison) {
  std::vector<std::string> found;
  for (const Json& difference : Find(comparison, {"Differences"})->as_array()) {
    found.push_back(StringAt(difference, {"Object"}) + " " + StringAt(difference, {"Field"}));
  }
  return found;
}

// A quota for two units, and three that want it: a and b hold it, c waits. Both
// processes run.
class Installed {
 public:
  Installed() {
    cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(parent, "", 4));
    cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(team, parent, 2));
    for (const char* name : {"a", "b", "c"}) cluster.Create(kUnits, ns, UnitObject(name, team));
    processes.StartScheduler();
    REQUIRE(Await(kPatience, [&] { return processes.Code("/readyz") == "200"; }));
    REQUIRE(Await(kPatience, [&] {
      const Json queues = processes.Ask("/apis/v1/queue");
      const Json* parked = Find(queues, {team, "Parked"});
      const Json* assumed = Find(queues, {team, "Assumed"});
      return parked != nullptr && *parked == 1 && *assumed == 0;
    }));
  }
  ~Installed() {
    processes.scheduler().Kill();
    for (const std::string& quota : {parent, team}) {
      cluster.api().Delete(DeleteRequest{kQuotas, {kQuotaNamespace, quota}, "", 0, {}}).IgnoreError();
      cluster.api().Delete(DeleteRequest{kQueues, {"koord-queue", quota}, "", 0, {}}).IgnoreError();
    }
  }

  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("debug");
  const std::string parent = ns + "-parent", team = ns + "-team";
  Processes processes{&cluster, ns};
};

TEST_CASE("without a scheduler the debug API lives, is not ready, and ends when it is told to", "[e2e]") {
  TestCluster cluster;
  Processes processes(&cluster, cluster.MakeNamespace("debug"));
  REQUIRE(Await(kPatience, [&] { return processes.Code("/livez") == "200"; }));
  CHECK(processes.Code("/readyz") == "503");
  CHECK(processes.Code("/apis/v1/elasticquota") == "503");
  CHECK(processes.Code("/compare") == "503");
  CHECK_THAT(processes.Curl("/"), Catch::Contains("/apis/v1/elasticquota"));
  processes.debug_api().Signal(SIGTERM);
  CHECK(processes.debug_api().Wait(absl::Seconds(10)).value_or(-1) == 0);
}

TEST_CASE("the documented commands show the books, and who waits", "[e2e]") {
  Installed here;
  const Processes& processes = here.processes;
  const std::string& team = here.team;
  const Json quotas = processes.Ask("/apis/v1/elasticquota");
  CHECK(JsonText(*Find(quotas, {here.parent, "Used"})) == R"({"cpu":2000})");
  CHECK(JsonText(*Find(quotas, {here.parent, "ChildrenUsed"})) == R"({"cpu":2000})");
  CHECK(JsonText(*Find(quotas, {team, "Max"})) == R"({"cpu":2000,"memory":8589934592})");
  CHECK(JsonText(*Find(quotas, {team, "SelfUsed"})) == R"({"cpu":2000})");
  CHECK(*Find(quotas, {team, "Count"}) == 2);
  const Json* items = Find(quotas, {team, "Items"});
  REQUIRE(items->as_object().size() == 2);
  const Json& first = items->as_object().begin()->value();
  CHECK(JsonText(*Find(first, {"Resource"})) == R"({"cpu":1000})");
  CHECK(*Find(first, {"Priority"}) == 5);
  CHECK(*Find(first, {"InReserveCache"}) == true);
  CHECK_THAT(processes.Curl("/apis/v1/elasticquota"), Catch::Contains("\n\t\"" + team + "\": {\n\t\t\"Count\": 2,\n"));

  const Json queues = processes.Ask("/apis/v1/queue");
  const JsonArray& waiting = Find(queues, {team, "Waiting"})->as_array();
  REQUIRE(waiting.size() == 1);
  CHECK(*Find(waiting[0], {"Position"}) == 1);
  CHECK(StringAt(waiting[0], {"Reason"}) == "OVER_MAX");

  const Json users = processes.Ask("/apis/v1/userquota");
  CHECK(JsonText(*Find(users, {team, "Namespaces", here.ns})) == R"({"Used":{"cpu":2000},"Charged":2,"Waiting":1})");

  const std::string head = Run(absl::StrCat("curl -sSf -D - -o /dev/null '", processes.Url("/apis/v1/queue"), "'"));
  CHECK_THAT(head, Catch::Contains("Content-Type: application/json"));
  CHECK_THAT(head, Catch::Contains("X-Koord-Queue-Snapshot-Age: "));
}

TEST_CASE("one unit is shown with what ends its wait and what was decided about it", "[e2e]") {
  Installed here;
  const Json queues = here.processes.Ask("/apis/v1/queue");
  const std::string name = StringAt(Find(queues, {here.team, "Waiting"})->as_array().at(0), {"Name"});
  const Json unit = here.processes.Ask(absl::StrCat("/units/", here.ns, "/", name));
  CHECK(StringAt(unit, {"Place"}) == "PARKED");
  CHECK(StringAt(unit, {"Refusal", "Quota"}) == here.team);
  CHECK_THAT(StringAt(unit, {"Explanation", "WaitsFor"}), Catch::Contains(here.team));
  CHECK_FALSE(Find(unit, {"Decisions"})->as_array().empty());
  CHECK(here.processes.Code(absl::StrCat("/units/", here.ns, "/nobody")) == "404");
  CHECK(Run(absl::StrCat("curl -s --path-as-is -o /dev/null -w '%{http_code}' '",
                         here.processes.Url("/units/../../etc/passwd"), "'")) == "404");
}

TEST_CASE("the comparison finds nothing, and then what was changed while the scheduler stood still", "[e2e]") {
  Installed here;
  Processes& processes = here.processes;
  const Json well = processes.Ask("/compare");
  CHECK(Differences(well) == std::vector<std::string>{});
  CHECK(*Find(well, {"PictureOlderThanList"}) == false);
  const Json queues = processes.Ask("/apis/v1/queue");
  const std::string name = StringAt(Find(queues, {here.team, "Waiting"})->as_array().at(0), {"Name"});

  // Stopped, not ended: its connections stay open, and nothing comes.
  processes.scheduler().Signal(SIGSTOP);
  const Json by_hand = {{"status", {{"phase", "Running"}}}};
  REQUIRE(here.cluster.api().Patch({kUnits, {here.ns, name}, Subresource::kStatus, PatchType::kMerge, by_hand}).ok());
  const Json differs = processes.Ask("/compare");
  CHECK(*Find(differs, {"PictureOlderThanList"}) == true);
  CHECK_THAT(Differences(differs), Catch::VectorContains(absl::StrCat(here.ns, "/", name, " Phase")));
  CHECK_FALSE(StringAt(differs, {"Note"}).empty());

  CHECK(Await(absl::Seconds(30), [&] {
    return processes.Curl("/metrics").find("koord_queue_debug_api_follows_leader 0") != std::string::npos;
  }));
  REQUIRE(Await(kPatience, [&] { return processes.Code("/apis/v1/queue") == "503"; }));
  CHECK(processes.Code("/readyz") == "200");

  processes.scheduler().Kill();
  processes.StartScheduler();
  REQUIRE(Await(kPatience, [&] { return processes.Code("/apis/v1/queue") == "200"; }));
  CHECK(Await(kPatience, [&] { return Differences(processes.Ask("/compare")).empty(); }));
}

}  // namespace
}  // namespace kq::e2e
