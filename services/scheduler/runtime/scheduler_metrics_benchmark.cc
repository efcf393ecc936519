// A scrape with many waiting units: bazel run -c opt //services/scheduler/runtime:scheduler_metrics_benchmark
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/scheduler/runtime/scheduler_metrics.h"

namespace kq::scheduler {
namespace {

constexpr int kQueues = 1000;

// `units` that wait, in a thousand queues, refused for their quota.
std::shared_ptr<const Snapshot> Waiting(int64_t units) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->epoch = "1";
  auto why = std::make_shared<RefusalDetail>();
  why->refusal = Refusal::kOverMax;
  for (int q = 0; q < kQueues; ++q) {
    auto queue = std::make_shared<QueueSnapshot>();
    queue->queue.key = {"koord-queue", absl::StrCat("queue-", q)};
    for (int64_t n = 0; n < units / kQueues; ++n) {
      auto unit = std::make_shared<QueueUnit>();
      unit->key = {"default", absl::StrCat("unit-", q, "-", n)};
      unit->created = absl::FromUnixSeconds(1'700'000'000 + n);
      PodSet pods;
      pods.name = "main";
      pods.count = 4;
      pods.per_pod = {{"cpu", 1000}, {"memory", 1 << 30}};
      unit->pod_sets.push_back(std::move(pods));
      UnitSnapshot one;
      one.unit = std::move(unit);
      one.place = Place::kParked;
      one.why = why;
      queue->waiting.push_back(std::move(one));
    }
    queue->parked = static_cast<int64_t>(queue->waiting.size());
    snapshot->queues.push_back(std::move(queue));
  }
  return snapshot;
}

void BM_Scrape(benchmark::State& state) {
  MetricRegistry registry;
  SnapshotPublisher publisher;
  const SchedulerMetrics metrics(&registry, &publisher, [] { return true; });
  publisher.Publish(Waiting(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(registry.Text());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Scrape)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kq::scheduler

BENCHMARK_MAIN();
