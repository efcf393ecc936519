// What the controllers do in memory for each piece of news about a job: keep the
// object, and observe the job with its unit anew. Run it on an idle machine with
//
//   bazel run --config=opt //services/controllers:job_view_benchmark
//
// BM_Keep: an event of the watch into the cache. BM_Look: both objects out of it,
// parsed. BM_Observe: BM_Look and the view that the plan needs.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "services/controllers/adapters/batch_job.h"
#include "services/controllers/job_view.h"
#include "services/controllers/object_cache.h"
#include "services/controllers/unit_spec.h"

namespace kq::controllers {
namespace {

using Kind = ObjectCache::Kind;

// A Job of one pod as the API server has it once it was released.
constexpr char kJob[] = R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job-000001","namespace":"ns",
"uid":"0c5b0fc2-4c0e-4f39-8c11-1a6d3c9f0001","resourceVersion":"VERSION","generation":2,
"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"quota.scheduling.koordinator.sh/name":"team-a"},
"annotations":{"koord-queue/job-dequeue-timestamp":"2026-01-02 03:04:06.5 +0000 UTC",
"koord-queue/job-enqueue-timestamp":"2026-01-02 03:04:05 +0000 UTC","koord-queue/job-has-enqueued":"true"},
"managedFields":[{"manager":"load","operation":"Update","apiVersion":"batch/v1","time":"2026-01-02T03:04:05Z",
"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:quota.scheduling.koordinator.sh/name":{}}},
"f:spec":{"f:backoffLimit":{},"f:completionMode":{},"f:completions":{},"f:parallelism":{},"f:template":{"f:spec":{
"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{".":{},"f:requests":{".":{},
"f:cpu":{},"f:memory":{}}}}},"f:restartPolicy":{}}}}}}]},"spec":{"parallelism":1,"completions":1,"backoffLimit":6,
"selector":{"matchLabels":{"batch.kubernetes.io/controller-uid":"0c5b0fc2-4c0e-4f39-8c11-1a6d3c9f0001"}},
"template":{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"0c5b0fc2-4c0e-4f39-8c11-1a6d3c9f0001",
"batch.kubernetes.io/job-name":"job-000001","job-name":"job-000001"},"annotations":{"fake-kubelet/run-for":"1s",
"koord-queue/related-queueunit":"ns/job-000001"}},"spec":{"containers":[{"name":"c","image":"none","resources":{
"requests":{"cpu":"100m","memory":"64Mi"}},"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"Always"}],
"restartPolicy":"Never","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},
"schedulerName":"default-scheduler"}},"completionMode":"NonIndexed","suspend":false,"podReplacementPolicy":
"TerminatingOrFailed"},"status":{"startTime":"2026-01-02T03:04:07Z","active":1,"ready":1}})";

Json JobOf(int64_t version) {
  std::string text = kJob;
  const std::string mark = "VERSION";
  text.replace(text.find(mark), mark.size(), absl::StrCat(version));
  const absl::StatusOr<Json> job = ParseJson(text);
  if (!job.ok()) std::abort();
  return *job;
}

// The cache with the job and the unit that was made for it.
struct World {
  World() {
    const Json job = JobOf(1);
    if (!jobs->Upserted(job)) std::abort();
    Json unit = *DesiredUnit(job, *adapter, PriorityValues(), false);
    unit.get_object()["metadata"].get_object()["resourceVersion"] = "1";
    unit.get_object()["metadata"].get_object()["uid"] = "0c5b0fc2-4c0e-4f39-8c11-1a6d3c9f0002";
    const Json admission{{"name", "job-000001"}, {"replicas", 1}, {"running", 1}};
    unit.get_object()["status"] = {{"phase", "Running"}, {"message", "Running"}, {"admissions", JsonArray{admission}}};
    if (!units->Upserted(unit)) std::abort();
  }
  const ObjectKey key{"ns", "job-000001"};
  const std::unique_ptr<JobAdapter> adapter = NewBatchJobAdapter();
  ObjectCache cache{adapter.get(), [](const ObjectKey&) {}};
  ReflectorSink* const jobs = cache.AddFeed(Kind::kJobs, "");
  ReflectorSink* const units = cache.AddFeed(Kind::kUnits, "");
};

void BM_Keep(benchmark::State& state) {
  World world;
  int64_t version = 1;
  for (auto _ : state) {
    state.PauseTiming();
    const Json news = JobOf(++version);
    state.ResumeTiming();
    if (!world.jobs->Upserted(news)) std::abort();
  }
}
BENCHMARK(BM_Keep);

void BM_Look(benchmark::State& state) {
  const World world;
  for (auto _ : state) benchmark::DoNotOptimize(world.cache.Look(world.key));
}
BENCHMARK(BM_Look);

void BM_Observe(benchmark::State& state) {
  const World world;
  const absl::Time now = Clock::Real().TimeNow();
  for (auto _ : state) {
    benchmark::DoNotOptimize(ViewOf(world.key, world.cache.Look(world.key), *world.adapter, ManageRules(), now));
  }
}
BENCHMARK(BM_Observe);

}  // namespace
}  // namespace kq::controllers

BENCHMARK_MAIN();
