// What the core costs with many units:
//
//   bazel run -c opt //services/scheduler/core:core_benchmark
//
//   BM_RefuseAll/N   one cycle that asks and refuses every one of N waiting units in
//                    1 000 queues (a change of limits woke them all)
//   BM_Admit/N       admissions: N units that all fit; items per second
//   BM_SnapshotOne   a picture after one of 1 000 queues changed
//   BM_SnapshotAll/N a picture of N units after everything changed
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/core/testing/builders.h"
#include "services/scheduler/plugins/registry.h"

namespace kq::scheduler {
namespace {

constexpr int kQueues = 1000;
const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

std::string QueueName(int i) { return absl::StrCat("team-", i % kQueues); }

class BenchCore {
 public:
  // `units` waiting units of 4 cores each in 1 000 queues whose quotas have `max` cores.
  BenchCore(int units, int64_t max) : policies_(*MakePolicies(DefaultPlugins(), 1.0)) {
    CoreOptions options;
    policies_->Fill(&options);
    options.asks_per_cycle = 10'000'000;
    core_ = std::make_unique<Core>(std::move(options));
    for (int i = 0; i < kQueues; ++i) {
      core_->Apply(QuotaUpserted{MakeQuota(QueueName(i)).Max(max).Obj()}, kNow);
      core_->Apply(QueueUpserted{MakeQueue(QueueName(i)).Obj()}, kNow);
    }
    for (const ListedKind kind : {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas})
      core_->Apply(Listed{kind}, kNow);
    core_->Apply(LeadershipTaken{"epoch"}, kNow);
    for (int i = 0; i < units; ++i) {
      core_->Apply(UnitUpserted{MakeUnit(absl::StrCat("job-", i)).Quota(QueueName(i)).Cpu(4).Obj()}, kNow);
    }
  }
  Core& core() { return *core_; }
  // Changes the limits of all quotas, so that everybody is asked again.
  void ChangeLimits(uint64_t version, int64_t max) {
    for (int i = 0; i < kQueues; ++i) {
      core_->Apply(QuotaUpserted{MakeQuota(QueueName(i)).Max(max).Version(version).Obj()}, kNow);
    }
  }

 private:
  std::unique_ptr<Policies> policies_;
  std::unique_ptr<Core> core_;
};

void BM_RefuseAll(benchmark::State& state) {
  BenchCore bench(static_cast<int>(state.range(0)), 1);
  bench.core().RunCycle(kNow);
  uint64_t version = 1;
  for (auto _ : state) {
    state.PauseTiming();
    ++version;
    bench.ChangeLimits(version, 1 + static_cast<int64_t>(version % 2));
    state.ResumeTiming();
    benchmark::DoNotOptimize(bench.core().RunCycle(kNow));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RefuseAll)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

void BM_Admit(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    BenchCore bench(static_cast<int>(state.range(0)), 1'000'000);
    state.ResumeTiming();
    benchmark::DoNotOptimize(bench.core().RunCycle(kNow));
    state.PauseTiming();
    { BenchCore gone = std::move(bench); }
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Admit)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

void BM_SnapshotOne(benchmark::State& state) {
  BenchCore bench(static_cast<int>(state.range(0)), 1);
  bench.core().RunCycle(kNow);
  bench.core().TakeSnapshot(kNow);
  uint64_t version = 1;
  for (auto _ : state) {
    state.PauseTiming();
    bench.core().Apply(UnitUpserted{MakeUnit("job-0").Quota(QueueName(0)).Cpu(4).Version(++version).Obj()}, kNow);
    state.ResumeTiming();
    benchmark::DoNotOptimize(bench.core().TakeSnapshot(kNow));
  }
}
BENCHMARK(BM_SnapshotOne)->Arg(100000)->Unit(benchmark::kMicrosecond);

void BM_SnapshotAll(benchmark::State& state) {
  BenchCore bench(static_cast<int>(state.range(0)), 1);
  bench.core().RunCycle(kNow);
  uint64_t version = 1;
  for (auto _ : state) {
    state.PauseTiming();
    ++version;
    bench.ChangeLimits(version, 1 + static_cast<int64_t>(version % 2));
    bench.core().RunCycle(kNow);
    state.ResumeTiming();
    benchmark::DoNotOptimize(bench.core().TakeSnapshot(kNow));
  }
}
BENCHMARK(BM_SnapshotAll)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kq::scheduler

BENCHMARK_MAIN();
