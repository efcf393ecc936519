#include "services/controllers/adapters/batch_job.h"

#include <catch2/catch.hpp>
#include <string>

#include "services/controllers/annotations.h"

namespace kq::controllers {
namespace {

// A Job from JSON text with ' for ".
Json FromText(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  const absl::StatusOr<Json> json = ParseJson(text);
  REQUIRE(json.ok());
  return *json;
}

// A suspended Job with the given further metadata, spec and status fields.
Json Job(const std::string& metadata, const std::string& spec, const std::string& status = "") {
  return FromText("{'metadata':{'name':'j','namespace':'ns','uid':'u','creationTimestamp':'2026-11-29T10:00:00Z'" +
                  metadata + "},'spec':{'template':{'spec':{'containers':[]}}" + spec + "},'status':{" + status + "}}");
}

const std::string kQuota = ",'labels':{'quota.scheduling.koordinator.sh/name':'team-a'}";
const std::string kSuspended = ",'suspend':true";
const std::string kMarked = ",'annotations':{'koord-queue/job-dequeue-timestamp':'2026-11-29 10:00:05 +0000 UTC'}";

}  // namespace

TEST_CASE("whose a Job is that has no unit") {
  struct Case {
    const char* name;
    std::string metadata, spec, status;
    bool by_label_alone;
    bool with_all_jobs;
  };
  const auto c = GENERATE(values<Case>({
      {"suspended, with a quota label", kQuota, kSuspended, "", true, true},
      {"with the old quota label", ",'labels':{'alibabacloud.com/quota-name':'a'}", kSuspended, "", true, true},
      {"suspended, without a label", "", kSuspended, "", false, true},
      {"not suspended", kQuota, "", "", false, false},
      {"suspended after it was started", kQuota, kSuspended, "'startTime':'2026-11-29T10:00:01Z'", false, false},
      {"suspended with pods that failed", kQuota, kSuspended, "'failed':1", false, false},
      {"released by us, and running", kQuota + kMarked, "", "'startTime':'2026-11-29T10:00:06Z'", true, true},
      {"released by us, without a label", kMarked, "", "", false, true},
      {"another's managedBy", "", kSuspended + ",'managedBy':'kueue.x-k8s.io/multikueue'", "", false, false},
      {"the Job controller's managedBy", "", kSuspended + ",'managedBy':'kubernetes.io/job-controller'", "", false,
       true},
      {"another's managedBy, with a label", kQuota, kSuspended + ",'managedBy':'example.com/x'", "", true, true},
      {"in a Kueue queue", ",'labels':{'kueue.x-k8s.io/queue-name':'q'}", kSuspended, "", false, false},
      {"of a JobSet",
       ",'ownerReferences':[{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','controller':true}]", kSuspended,
       "", false, false},
      {"of a RayJob", ",'ownerReferences':[{'apiVersion':'ray.io/v1','kind':'RayJob','controller':true}]", kSuspended,
       "", false, false},
      {"of a CronJob", ",'ownerReferences':[{'apiVersion':'batch/v1','kind':'CronJob','controller':true}]", kSuspended,
       "", false, true},
      {"named by a JobSet that does not control it",
       ",'ownerReferences':[{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet'}]", kSuspended, "", false, true},
  }));
  CAPTURE(c.name);
  const auto adapter = NewBatchJobAdapter();
  const Json job = Job(c.metadata, c.spec, c.status);
  CHECK(adapter->WantsUnit(job, {.all_jobs = false}) == c.by_label_alone);
  CHECK(adapter->WantsUnit(job, {.all_jobs = true}) == c.with_all_jobs);
}

TEST_CASE("kube-system is left alone, but for a Job that asks for a quota") {
  const auto adapter = NewBatchJobAdapter();
  Json job = Job("", kSuspended);
  job.as_object()["metadata"].as_object()["namespace"] = "kube-system";
  CHECK_FALSE(adapter->WantsUnit(job, {.all_jobs = true}));
  job.as_object()["metadata"].as_object()["labels"] = JsonObject{{"alibabacloud.com/quota-name", "a"}};
  CHECK(adapter->WantsUnit(job, {.all_jobs = true}));
}

TEST_CASE("the state of a Job") {
  struct Case {
    const char* name;
    std::string metadata, spec, status;
    PodCounts pods;
    JobState want;
  };
  const PodCounts none;
  const auto c = GENERATE_COPY(values<Case>({
      {"suspended", "", kSuspended, "", none, JobState::kWaiting},
      {"not suspended, no pods", "", "", "", none, JobState::kPending},
      {"suspend: false", "", ",'suspend':false", "", none, JobState::kPending},
      {"pods wait for a node", "", "", "'active':2", {.running = 0, .pending = 2, .bound = 1}, JobState::kPending},
      {"one pod runs", "", "", "'active':2", {.running = 1, .pending = 1, .bound = 2}, JobState::kRunning},
      {"suspended, pods are left", "", kSuspended, "", {.running = 1, .pending = 0, .bound = 1}, JobState::kStopping},
      {"suspended, the controller still counts pods", "", kSuspended, "'active':1", none, JobState::kStopping},
      {"suspended, pods terminate", "", kSuspended, "'terminating':1", none, JobState::kStopping},
      {"suspended after the release", kMarked, kSuspended, "", none, JobState::kHeld},
      {"suspended after the release, pods are left",
       kMarked,
       kSuspended,
       "",
       {.running = 0, .pending = 1, .bound = 0},
       JobState::kHolding},
      {"complete", "", "", "'conditions':[{'type':'Complete','status':'True'}]", none, JobState::kSucceeded},
      {"failed", "", "", "'conditions':[{'type':'Failed','status':'True'}]", none, JobState::kFailed},
      {"complete, and being deleted", ",'deletionTimestamp':'2026-11-29T11:00:00Z'", "",
       "'conditions':[{'type':'Complete','status':'True'}]", none, JobState::kSucceeded},
      {"about to be complete",
       "",
       "",
       "'conditions':[{'type':'SuccessCriteriaMet','status':'True'}]",
       {.running = 1, .pending = 0, .bound = 1},
       JobState::kRunning},
      {"about to fail", "", "", "'conditions':[{'type':'FailureTarget','status':'True'}]", none, JobState::kPending},
      {"not complete", "", "", "'conditions':[{'type':'Complete','status':'False'}]", none, JobState::kPending},
      {"being deleted", ",'deletionTimestamp':'2026-11-29T11:00:00Z'", "", "", none, JobState::kDeleting},
  }));
  CAPTURE(c.name);
  CHECK(NewBatchJobAdapter()->State(Job(c.metadata, c.spec, c.status), c.pods) == c.want);
}

TEST_CASE("how many pods a Job claims") {
  struct Case {
    const char* name;
    std::string spec, status;
    int64_t want;
  };
  const auto c = GENERATE(values<Case>({
      {"no parallelism is 1", "", "", 1},
      {"no completions, none succeeded", ",'parallelism':5", "'active':4,'failed':1", 5},
      {"no completions, one succeeded: those that run", ",'parallelism':5", "'active':3,'succeeded':2", 3},
      {"... and those that are being ended", ",'parallelism':5", "'active':2,'terminating':1,'succeeded':2", 3},
      {"... never more than there were", ",'parallelism':5", "'active':5,'terminating':3,'succeeded':1", 5},
      {"... whatever parallelism is now", ",'parallelism':1", "'active':3,'terminating':1,'succeeded':2", 3},
      {"... the last pod counts until the Job is over", ",'parallelism':5", "'active':0,'succeeded':5", 1},
      {"as many as run at once", ",'parallelism':2,'completions':4", "'succeeded':1", 2},
      {"as many as are left", ",'parallelism':2,'completions':4", "'succeeded':3", 1},
      {"fewer completions than parallelism", ",'parallelism':9,'completions':4", "", 4},
      {"the last pod counts until the Job is over", ",'parallelism':2,'completions':4", "'succeeded':4", 1},
      {"parallelism 0 is none", ",'parallelism':0,'completions':4", "", 0},
      {"no completions wanted", ",'parallelism':2,'completions':0", "", 0},
      {"indexes that failed for good", ",'parallelism':5,'completions':5", "'succeeded':1,'failedIndexes':'0,2-3'", 1},
  }));
  CAPTURE(c.name);
  const auto sets = NewBatchJobAdapter()->PodSets(Job("", c.spec, c.status));
  REQUIRE(sets.ok());
  REQUIRE(sets->size() == 1);
  CHECK(sets->at(0).name == "j");
  CHECK(sets->at(0).count == c.want);
}

TEST_CASE("what one pod of a Job asks for") {
  struct Case {
    const char* name;
    std::string pod;
    Resources want;
  };
  const std::string kSidecar =
      "'containers':[{'resources':{'requests':{'cpu':'100m'}}}],"
      "'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'100m'}}},"
      "{'resources':{'requests':{'cpu':'200m'}}}]";
  const auto c = GENERATE_COPY(values<Case>({
      {"requests",
       "'containers':[{'resources':{'requests':{'cpu':'1','memory':'1Gi'}}}]",
       {{"cpu", 1000}, {"memory", 1 << 30}}},
      {"limits where nothing is requested",
       "'containers':[{'resources':{'limits':{'cpu':'2','memory':'1Gi'},"
       "'requests':{'cpu':'1'}}}]",
       {{"cpu", 1000}, {"memory", 1 << 30}}},
      {"the largest init container",
       "'containers':[{'resources':{'requests':{'cpu':'1'}}},"
       "{'resources':{'requests':{'cpu':'1'}}}],'initContainers':[{'resources':{'requests':{'cpu':'4'}}}]",
       {{"cpu", 4000}}},
      {"a sidecar runs beside init containers and containers", kSidecar, {{"cpu", 300}}},
      {"overhead", "'overhead':{'cpu':'250m'},'containers':[{'resources':{'requests':{'cpu':'1'}}}]", {{"cpu", 1250}}},
      {"nothing", "'containers':[{}]", {}},
  }));
  CAPTURE(c.name);
  Json job = Job("", "");
  job.as_object()["spec"].as_object()["template"] = FromText("{'spec':{" + c.pod + "}}");
  const auto sets = NewBatchJobAdapter()->PodSets(job);
  REQUIRE(sets.ok());
  CHECK(Resources::EqualAmounts(sets->at(0).per_pod, c.want));
}

TEST_CASE("the claimed template names the requests that come from limits") {
  Json job = Job("", "");
  job.as_object()["spec"].as_object()["template"] = FromText(
      "{'spec':{'containers':[{'resources':{'limits':{'cpu':'2','memory':'8Gi'},'requests':{'cpu':'1'}}}],"
      "'initContainers':[{'resources':{'limits':{'cpu':'3'}}}]}}");
  const auto sets = NewBatchJobAdapter()->PodSets(job);
  REQUIRE(sets.ok());
  const Json& spec = *Find(sets->at(0).pod_template, {"spec"});
  CHECK(StringAt(spec.at("containers").at(0), {"resources", "requests", "cpu"}) == "1");
  CHECK(StringAt(spec.at("containers").at(0), {"resources", "requests", "memory"}) == "8Gi");
  CHECK(StringAt(spec.at("initContainers").at(0), {"resources", "requests", "cpu"}) == "3");
}

TEST_CASE("a Job that asks for more than can be counted has no price") {
  Json job = Job("", ",'parallelism':2000000000");
  job.as_object()["spec"].as_object()["template"] =
      FromText("{'spec':{'containers':[{'resources':{'requests':{'memory':'5Pi'}}}]}}");
  const auto sets = NewBatchJobAdapter()->PodSets(job);
  CHECK(sets.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(sets.status().message()).find("spec.parallelism") == 0);

  job.as_object()["spec"].as_object()["template"] =
      FromText("{'spec':{'containers':[{'resources':{'requests':{'memory':'1e30'}}}]}}");
  const auto one = NewBatchJobAdapter()->PodSets(job);
  CHECK(one.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(one.status().message()).find("spec.template.spec.containers[0]") == 0);
}

TEST_CASE("the patch of a release carries everything at once") {
  const absl::Time enqueued = absl::FromUnixSeconds(1764451576), now = enqueued + absl::Seconds(5);
  const Json patch = NewBatchJobAdapter()->ResumePatch(Job("", kSuspended), {{"ns", "j"}, enqueued, now});
  CHECK(patch == FromText("{'metadata':{'annotations':{"
                          "'koord-queue/job-has-enqueued':'true',"
                          "'koord-queue/job-enqueue-timestamp':'2025-11-29 21:26:16 +0000 UTC',"
                          "'koord-queue/job-dequeue-timestamp':'2025-11-29 21:26:21 +0000 UTC'}},"
                          "'spec':{'suspend':false,'template':{'metadata':{'annotations':{"
                          "'koord-queue/related-queueunit':'ns/j',"
                          "'koord-queue/related-podset-name':'j',"
                          "'koord-queue/related-apiversion-kind':'batch/v1/Job',"
                          "'koord-queue/related-object':'j'}}}}}"));
}

TEST_CASE("a Job that we suspend waits again") {
  const Json patch = NewBatchJobAdapter()->SuspendPatch(Job(kMarked, ""));
  CHECK(patch == FromText("{'metadata':{'annotations':{'koord-queue/job-dequeue-timestamp':''}},"
                          "'spec':{'suspend':true}}"));
}

TEST_CASE("a Job's priority comes from its pod template") {
  Json job = Job("", "");
  job.as_object()["spec"].as_object()["template"] = FromText("{'spec':{'priorityClassName':'high','priority':7}}");
  const PriorityClaim claim = NewBatchJobAdapter()->Priority(job);
  CHECK(claim.class_name == "high");
  CHECK(claim.value == 7);
  CHECK(NewBatchJobAdapter()->Priority(Job("", "")).value == std::nullopt);
}

}  // namespace kq::controllers
