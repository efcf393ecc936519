// The commands of the observability guide, as they are printed there, on a real control plane. What cannot be
// played here stands in for itself: KWOK forwards no ports and keeps no logs, so the address of the process stands for
// the end of `kubectl port-forward`, and `tail` of its log file for `kubectl logs`, with the same flags and pipes.
#include <re2/re2.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "e2e/support/aggregation.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/objects.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);

// The guide's two jobs: each wants all that team-a has.
Json BigJob(const std::string& name, const std::string& run_for) {
  Json job = JobObject(name, "team-a", run_for);
  Json& container = job.at("spec").at("template").at("spec").at("containers").at(0);
  container.as_object()["resources"] = {{"requests", {{"cpu", "4"}, {"memory", "8Gi"}}}};
  return job;
}

// All processes with the documented lease, and the guide's story up to where the second job waits.
class Guide {
 public:
  Guide()
      : cluster_(own_.kubeconfig()),
        accounts_(&cluster_, "koord-queue", {"default", "example-lease"}),
        scheduler_({.accounts = &accounts_,
                    .lease_namespace = "default",
                    .flags = {"--lease-name=example-lease", "--queue-items-refresh-interval=1s", "--v=4"}}),
        controllers_({.accounts = &accounts_, .lease_namespace = "koord-queue", .flags = {"--v=2"}}),
        visibility_({.accounts = &accounts_}, scheduler_.grpc_address()),
        debug_api_({.accounts = &accounts_}, scheduler_.grpc_address()) {
    RegisterVisibility(&cluster_, visibility_.port());
    scheduler_.Start();
    controllers_.Start();
    visibility_.Start();
    debug_api_.Start();
    cluster_.Create(
        kQuotas, kQuotaNamespace,
        QuotaWith("team-a", "",
                  {{"max", {{"cpu", "4"}, {"memory", "8Gi"}}}, {"min", {{"cpu", "4"}, {"memory", "8Gi"}}}}));
    cluster_.Create(kJobs, "default", BigJob("my-job", "10m"));
    CHECK(Comes("kubectl get queueunit my-job -n default -o jsonpath='{.status.phase}'", "Running"));
    cluster_.Create(kJobs, "default", BigJob("my-job-blocked", "1s"));
    CHECK(Comes("kubectl get queueunit my-job-blocked -n default -o jsonpath='{.status.message}'", "limited"));
  }

  // What a command of the guide prints, on both streams. Its port-forwards and logs are replaced as said above; what
  // goes on by itself (-f) is ended after a second.
  std::string Says(const std::string& command) const {
    const std::string here =
        absl::StrReplaceAll(command, {{"127.0.0.1:10259", absl::StrCat("127.0.0.1:", scheduler_.metrics_port())},
                                      {"127.0.0.1:19876", absl::StrCat("127.0.0.1:", debug_api_.metrics_port())},
                                      {"kubectl -n koord-queue logs deployment/koord-queue -c controller --tail=200 -f",
                                       absl::StrCat("timeout 1 tail --lines=200 -f ", scheduler_.log())},
                                      {"kubectl -n koord-queue logs deployment/koord-queue-controllers -c manager "
                                       "--tail=200 -f",
                                       absl::StrCat("timeout 1 tail --lines=200 -f ", controllers_.log())},
                                      {"kubectl -n koord-queue logs deployment/koord-queue -c controller",
                                       absl::StrCat("tail --lines=+1 ", scheduler_.log())}});
    return Run(absl::StrCat("export KUBECONFIG=", cluster_.kubeconfig(), "; { ", here, "\n} 2>&1 || true"));
  }
  // Whether it says so within some time.
  bool Comes(const std::string& command, const std::string& word) const {
    return Await(kPatience, [&] { return absl::StrContains(Says(command), word); });
  }
  Json JsonOf(const std::string& command) const {
    const std::string text = Says(command);
    absl::StatusOr<Json> json = ParseJson(text);
    if (!json.ok()) FAIL(command << "\n" << text);
    return *json;
  }
  TestCluster& cluster() { return cluster_; }

 private:
  OwnCluster own_;
  TestCluster cluster_;
  const ChartAccounts accounts_;
  Scheduler scheduler_;
  Controllers controllers_;
  Visibility visibility_;
  DebugApi debug_api_;
};

// Lines, each as its words.
std::vector<std::vector<std::string>> Table(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(absl::StrSplit(line, ' ', absl::SkipEmpty()));
  }
  return lines;
}

void CheckMetrics(const Guide& guide) {
  const std::string text = guide.Says("curl -s http://127.0.0.1:10259/metrics | grep -E '^queueunits_|^job_'");
  CHECK_THAT(text, Catch::Contains(R"(job_schedule_attempts{queue="team-a",result="scheduled"} 1)"));
  CHECK_THAT(text, Catch::Contains(R"(job_schedule_attempts{queue="team-a",result="unschedulable"})"));
  CHECK_THAT(text, Catch::Contains(R"(queueunits_by_job_type{namespace="default",type="Job"} 2)"));
  CHECK_THAT(text, Catch::Contains(R"(job_scheduling_algorithm_latency_bucket{le="0.01"})"));
}

void CheckVisibility(const Guide& guide) {
  CHECK(guide.Comes("kubectl get apiservice v1alpha1.visibility.koord-queue.x-k8s.io", "True"));
  const std::vector<std::vector<std::string>> table =
      Table(guide.Says("kubectl get apiservice v1alpha1.visibility.koord-queue.x-k8s.io"));
  REQUIRE(table.size() == 2);
  CHECK(table[0] == std::vector<std::string>{"NAME", "SERVICE", "AVAILABLE", "AGE"});
  CHECK(table[1][1] == "koord-queue/koord-queue-visibility-server");

  const Json summary = guide.JsonOf(
      R"(kubectl get --raw "/apis/visibility.koord-queue.x-k8s.io/v1alpha1/queues/team-a/queueunits" | jq .)");
  CHECK(StringAt(summary, {"kind"}) == "QueueUnitsSummary");
  const JsonArray& items = Find(summary, {"items"})->as_array();
  REQUIRE(items.size() == 1);
  CHECK(StringAt(items[0], {"metadata", "name"}) == "my-job-blocked");
  CHECK(StringAt(items[0], {"metadata", "namespace"}) == "default");
  CHECK(StringAt(items[0], {"quotaName"}) == "team-a");
  CHECK(StringAt(items[0], {"queueName"}) == "team-a");
  CHECK(StringAt(items[0], {"request", "cpu"}) == "4");
  CHECK(StringAt(items[0], {"request", "memory"}) == "8Gi");
  CHECK(StringAt(items[0], {"resources", "memory"}) == "8Gi");
  CHECK(StringAt(items[0], {"phase"}) == "Enqueued");
  CHECK(JsonText(items[0].at("podState")) == R"({"pending":0,"running":0})");

  CHECK(
      guide.Says(R"(kubectl get --raw "/apis/visibility.koord-queue.x-k8s.io/v1alpha1/elasticquotas/team-a/queueunits)"
                 R"(?phase=Enqueued" | jq '.items | length')") == "1\n");
}

void CheckLeader(const Guide& guide) {
  const std::string holder =
      guide.Says(R"(kubectl -n default get lease example-lease -o jsonpath='{.spec.holderIdentity}{"\n"}')");
  // <pod>_<uuid>, and a line of its own.
  CAPTURE(holder);
  CHECK(RE2::FullMatch(holder, "[a-z0-9][-a-z0-9.]*_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n"));
  // The one that says in its log that it leads.
  CHECK_THAT(
      guide.Says(R"(kubectl -n koord-queue logs deployment/koord-queue -c controller | grep -m1 "became leader")"),
      Catch::Contains("became leader") && Catch::Contains(std::string(absl::StripSuffix(holder, "\n"))));
}

void CheckDebugApi(const Guide& guide) {
  const Json quotas = guide.JsonOf("curl -s http://127.0.0.1:19876/apis/v1/elasticquota");
  CHECK(*Find(quotas, {"team-a", "Used", "cpu"}) == Json(4000));
  CHECK(*Find(quotas, {"team-a", "Max", "cpu"}) == Json(4000));
  for (const char* field : {"Count", "Min", "SelfUsed", "ChildrenUsed", "GuaranteedUsed", "SelfGuaranteedUsed",
                            "ChildrenGuaranteedUsed", "Items"}) {
    CAPTURE(field);
    CHECK(Find(quotas, {"team-a", field}) != nullptr);
  }
  CHECK(Find(guide.JsonOf("curl -s http://127.0.0.1:19876/apis/v1/queue"), {"team-a"}) != nullptr);
  CHECK(Find(guide.JsonOf("curl -s http://127.0.0.1:19876/apis/v1/userquota"), {"team-a"}) != nullptr);
}

const Json& At(const Json& object, const char* field) {
  const Json* found = Find(object, {field});
  if (found == nullptr) FAIL("no field " << field);
  return *found;
}

// The table of the status fields, of a unit that runs and of one that waits. Nobody writes reclaimState: there is no
// preemption.
void CheckStatusFields(const Guide& guide) {
  const std::string rfc3339 = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z";
  CHECK(guide.Comes("kubectl get queueunit my-job -n default -o jsonpath='{.status.podState.running}'", "1"));
  const Json runs = guide.JsonOf("kubectl get queueunit my-job -n default -o json | jq .status");
  CAPTURE(JsonText(runs));
  CHECK(StringAt(runs, {"phase"}) == "Running");
  CHECK(StringAt(runs, {"message"}) == "Running");
  CHECK(At(runs, "attempts") == Json(1));
  CHECK(JsonText(At(runs, "admissions")) ==
        R"([{"name":"my-job","replicas":1,"resources":{"cpu":"4","memory":"8Gi"},"running":1}])");
  CHECK(JsonText(At(runs, "podState")) == R"({"pending":0,"running":1})");
  CHECK(RE2::FullMatch(StringAt(runs, {"lastUpdateTime"}), rfc3339));
  CHECK(RE2::FullMatch(StringAt(runs, {"lastAllocateTime"}), rfc3339));
  CHECK(StringAt(runs, {"lastAllocateTime"}) <= StringAt(runs, {"lastUpdateTime"}));

  const Json waits = guide.JsonOf("kubectl get queueunit my-job-blocked -n default -o json | jq .status");
  CAPTURE(JsonText(waits));
  CHECK(StringAt(waits, {"phase"}) == "Enqueued");
  CHECK_THAT(StringAt(waits, {"message"}), Catch::StartsWith("limited quotaName:team-a, limited resKey:cpu"));
  CHECK(At(waits, "attempts").to_number<int64_t>() >= 1);
  CHECK(RE2::FullMatch(StringAt(waits, {"lastUpdateTime"}), rfc3339));
  // It was never admitted, so it holds nothing and has no pods.
  for (const char* field : {"admissions", "podState", "lastAllocateTime"}) {
    CAPTURE(field);
    CHECK(Find(waits, {field}) == nullptr);
  }
}

void CheckUnit(const Guide& guide) {
  CHECK_THAT(guide.Says("kubectl get queueunit my-job-blocked -n default -o yaml"),
             Catch::Contains("phase: Enqueued") && Catch::Contains("attempts: 1") &&
                 Catch::Contains("limited quotaName:team-a, limited resKey:cpu"));
  const std::vector<std::vector<std::string>> units =
      Table(guide.Says("kubectl get queueunit -n default -o custom-columns='NAME:.metadata.name,PHASE:.status.phase,"
                       "ATTEMPTS:.status.attempts,PRIORITY:.spec.priority,MESSAGE:.status.message'"));
  REQUIRE(units.size() == 3);
  CHECK(units[0] == std::vector<std::string>{"NAME", "PHASE", "ATTEMPTS", "PRIORITY", "MESSAGE"});
  CHECK(units[1][1] == "Running");
  CHECK(units[2][1] == "Enqueued");
  CHECK(guide.Says(R"(kubectl get queueunit -n default \
    -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.metadata.labels.quota\.scheduling\.koordinator\.sh/name}{"\t"}{.status.phase}{"\n"}{end}')") ==
        "my-job\tteam-a\tRunning\nmy-job-blocked\tteam-a\tEnqueued\n");
}

constexpr char kQueueItems[] =
    "kubectl -n koord-queue get queue team-a -o jsonpath='{.status.queueItemDetails}' | jq .";

void CheckQueue(const Guide& guide) {
  CHECK(guide.Comes(kQueueItems, "my-job-blocked"));
  CHECK(JsonText(guide.JsonOf(kQueueItems)) ==
        R"({"active":[{"name":"my-job-blocked","namespace":"default","position":1,"priority":0}]})");
}

constexpr char kEventsOfBlocked[] =
    R"(kubectl get events -n default --field-selector involvedObject.name=my-job-blocked \
    -o custom-columns='LAST:.lastTimestamp,TYPE:.type,REASON:.reason,MESSAGE:.message')";

void CheckEventsAndLogs(const Guide& guide) {
  CHECK(guide.Comes(kEventsOfBlocked, "FailedScheduling"));
  const std::string told = guide.Says(kEventsOfBlocked);
  CAPTURE(told);
  CHECK(RE2::PartialMatch(told, "Z +Warning +FailedScheduling +limited quotaName:team-a"));
  CHECK(!absl::StrContains(told, "<none>"));
  // Queues and plug-ins at --v=1, who is assumed at --v=2; the chart starts with --v=4.
  const std::string log = guide.Says("kubectl -n koord-queue logs deployment/koord-queue -c controller --tail=200 -f");
  CHECK_THAT(log, Catch::Contains(R"("Queue added" queue="team-a" policy="Priority")") &&
                      Catch::Contains(R"(wait-for-pods-running="" max-depth="")") &&
                      Catch::Contains(R"("Plugins" plugins=")") &&
                      Catch::Contains(R"("Unit assumed" unit="default/my-job")") &&
                      Catch::Contains(R"("Unit no longer assumed" unit="default/my-job")"));
  CHECK_THAT(
      guide.Says("kubectl -n koord-queue logs deployment/koord-queue-controllers -c manager --tail=200 -f"),
      Catch::Contains(R"("The cluster has been listed")") && Catch::Contains(R"("Step" job="default/my-job" step=")"));
}

// The first job ends, so the second one's turn has come: its events and the list of the queue say so.
void CheckTheEnd(Guide* guide) {
  guide->cluster().Kubectl("delete job my-job -n default --wait=false");
  CHECK(guide->Comes("kubectl get queueunit my-job-blocked -n default -o jsonpath='{.status.phase}'", "Succeed"));
  CHECK(guide->Comes(kEventsOfBlocked, " Scheduled "));
  CHECK(RE2::PartialMatch(guide->Says(kEventsOfBlocked), "Z +Normal +Scheduled "));
  CHECK(guide->Comes(kQueueItems, R"("active": [])"));
}

TEST_CASE("each command of the guide does what it says", "[documented]") {
  Guide guide;
  CheckMetrics(guide);
  CheckVisibility(guide);
  CheckLeader(guide);
  CheckDebugApi(guide);
  CheckStatusFields(guide);
  CheckUnit(guide);
  CheckQueue(guide);
  CheckEventsAndLogs(guide);
  CheckTheEnd(&guide);
}

}  // namespace
}  // namespace kq::e2e
