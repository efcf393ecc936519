// The commands of the observability guide, as they are printed there, on a real control plane. What cannot be
// played here stands in for itself: KWOK forwards no ports and keeps no logs, so the address of the process stands for
// the end of `kubectl port-forward`, and its log file for `kubectl logs`, with the same pipes behind them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "e2e/support/aggregation.h"
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
        scheduler_({.kubeconfig = own_.kubeconfig(),
                    .lease_namespace = "default",
                    .flags = {"--lease-name=example-lease", "--queue-items-refresh-interval=1s", "--v=4"}}),
        controllers_({.kubeconfig = own_.kubeconfig(), .lease_namespace = "default"}),
        visibility_({.kubeconfig = own_.kubeconfig()}, scheduler_.grpc_address()),
        debug_api_({.kubeconfig = own_.kubeconfig()}, scheduler_.grpc_address()) {
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

  // What a command of the guide prints, on both streams. Its port-forwards and logs are replaced as said above.
  std::string Says(const std::string& command) const {
    const std::string here =
        absl::StrReplaceAll(command, {{"127.0.0.1:10259", absl::StrCat("127.0.0.1:", scheduler_.metrics_port())},
                                      {"127.0.0.1:19876", absl::StrCat("127.0.0.1:", debug_api_.metrics_port())},
                                      {"kubectl -n koord-queue logs deployment/koord-queue -c controller",
                                       absl::StrCat("tail -n +1 ", scheduler_.log())},
                                      {"kubectl -n koord-queue logs deployment/koord-queue-controllers -c manager",
                                       absl::StrCat("tail -n +1 ", controllers_.log())}});
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
  CHECK(Table(holder).size() == 1);
  CHECK_THAT(
      guide.Says(R"(kubectl -n koord-queue logs deployment/koord-queue -c controller | grep -m1 "became leader")"),
      Catch::Contains("became leader"));
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

void CheckQueue(const Guide& guide) {
  const std::string command =
      "kubectl -n koord-queue get queue team-a -o jsonpath='{.status.queueItemDetails}' | jq -c .";
  const std::string waits = R"({"active":[{"name":"my-job-blocked","namespace":"default","position":1,"priority":0}]})";
  CHECK(guide.Comes(command, waits));
}

void CheckEventsAndLogs(const Guide& guide) {
  const std::string events = R"(kubectl get events -n default --field-selector involvedObject.name=my-job-blocked \
    -o custom-columns='LAST:.lastTimestamp,TYPE:.type,REASON:.reason,MESSAGE:.message')";
  CHECK(guide.Comes(events, "FailedScheduling"));
  CHECK_THAT(guide.Says(events),
             Catch::Contains("Warning") && Catch::Contains("limited quotaName:team-a") && !Catch::Contains("<none>"));
  // Queues and plug-ins at --v=1, who is assumed at --v=2; the chart starts with --v=4.
  const std::string log = guide.Says("kubectl -n koord-queue logs deployment/koord-queue -c controller | tail -200");
  CHECK_THAT(log, Catch::Contains(R"("Queue added" queue="team-a" policy="Priority")") &&
                      Catch::Contains(R"("Plugins" plugins=")") &&
                      Catch::Contains(R"("Unit assumed" unit="default/my-job")") &&
                      Catch::Contains(R"("Unit no longer assumed" unit="default/my-job")"));
  CHECK(!Table(guide.Says("kubectl -n koord-queue logs deployment/koord-queue-controllers -c manager | tail -200"))
             .empty());
}

// The first job ends, so the second one's turn has come: its events and the list of the queue say so.
void CheckTheEnd(Guide* guide) {
  guide->cluster().Kubectl("delete job my-job -n default --wait=false");
  CHECK(guide->Comes("kubectl get queueunit my-job-blocked -n default -o jsonpath='{.status.phase}'", "Succeed"));
  CHECK(
      guide->Comes("kubectl get events -n default --field-selector involvedObject.name=my-job-blocked "
                   "-o custom-columns='LAST:.lastTimestamp,TYPE:.type,REASON:.reason,MESSAGE:.message'",
                   "Scheduled"));
  CHECK(guide->Comes("kubectl -n koord-queue get queue team-a -o jsonpath='{.status.queueItemDetails}' | jq -c .",
                     R"({"active":[]})"));
}

TEST_CASE("each command of the guide does what it says", "[documented]") {
  Guide guide;
  CheckMetrics(guide);
  CheckVisibility(guide);
  CheckLeader(guide);
  CheckDebugApi(guide);
  CheckUnit(guide);
  CheckQueue(guide);
  CheckEventsAndLogs(guide);
  CheckTheEnd(&guide);
}

}  // namespace
}  // namespace kq::e2e
