// The arithmetic of amounts, on shapes as quotas and jobs have them.
//
//   bazel run -c opt //libs/api:resources_benchmark
#include <benchmark/benchmark.h>

#include <vector>

#include "libs/api/quantity.h"
#include "libs/api/resources.h"

namespace kq {
namespace {

Resources Job() { return {{"cpu", 4000}, {"memory", int64_t{8} << 30}}; }
Resources GpuJob() { return {{"cpu", 4000}, {"memory", int64_t{8} << 30}, {"nvidia.com/gpu", 1}}; }
Resources Wide() {
  return {
      {"cpu", 4000}, {"ephemeral-storage", 1 << 30}, {"memory", int64_t{8} << 30}, {"nvidia.com/gpu", 1}, {"pods", 9}};
}

void BM_Copy(benchmark::State& state, const Resources& resources) {
  for (auto _ : state) {
    Resources copy = resources;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK_CAPTURE(BM_Copy, cpu_memory, Job());
BENCHMARK_CAPTURE(BM_Copy, with_gpu, GpuJob());
BENCHMARK_CAPTURE(BM_Copy, five, Wide());

void BM_AddAndSubtract(benchmark::State& state, const Resources& need) {
  Resources used = need.Scaled(1000);
  for (auto _ : state) {
    used.Add(need);
    used.Subtract(need);
    benchmark::DoNotOptimize(used);
  }
}
BENCHMARK_CAPTURE(BM_AddAndSubtract, cpu_memory, Job());
BENCHMARK_CAPTURE(BM_AddAndSubtract, five, Wide());

void BM_FitsWithin(benchmark::State& state, const Resources& need) {
  const Resources limit = need.Scaled(1000);
  for (auto _ : state) benchmark::DoNotOptimize(need.FitsWithin(limit));
}
BENCHMARK_CAPTURE(BM_FitsWithin, cpu_memory, Job());
BENCHMARK_CAPTURE(BM_FitsWithin, five, Wide());

// 100 000 units: the time of copying them all; the size of one is in the label.
void BM_CopyUnits(benchmark::State& state) {
  const std::vector<Resources> units(100'000, Job());
  for (auto _ : state) {
    std::vector<Resources> copy = units;
    benchmark::DoNotOptimize(copy);
  }
  state.SetLabel(std::to_string(sizeof(Resources)) + " bytes each");
}
BENCHMARK(BM_CopyUnits)->Unit(benchmark::kMillisecond);

void BM_ParseAmount(benchmark::State& state, const char* text) {
  for (auto _ : state) benchmark::DoNotOptimize(AmountFor("memory", text));
}
BENCHMARK_CAPTURE(BM_ParseAmount, plain, "4");
BENCHMARK_CAPTURE(BM_ParseAmount, binary, "1536Mi");
BENCHMARK_CAPTURE(BM_ParseAmount, fraction, "1.5Gi");

void BM_QuantityText(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(QuantityText("memory", int64_t{8} << 30));
}
BENCHMARK(BM_QuantityText);

}  // namespace
}  // namespace kq

BENCHMARK_MAIN();
