// What the views and the comparison cost with 100 000 units in 1 000 quotas.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/debug-api/comparison.h"
#include "services/debug-api/view_json.h"
#include "services/debug-api/views.h"

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

constexpr int kQuotas = 1000;
constexpr int kUnitsEach = 50;  // that run, and as many that wait

struct World {
  World() {
    for (int q = 0; q < kQuotas; ++q) {
      const std::string name = absl::StrCat("team-", q);
      v1::QuotaSnapshot quota;
      quota.set_namespace_("kube-system");
      quota.set_name(name);
      quota.set_lends(true);
      v1::QueueSnapshot queue;
      queue.set_name(name);
      for (int u = 0; u < kUnitsEach; ++u) {
        AddUnit(name, absl::StrCat("runs-", u), 1000, quota.add_charged());
        AddUnit(name, absl::StrCat("waits-", u), 0, queue.add_waiting());
      }
      for (auto* used : {quota.mutable_used(), quota.mutable_self_used()}) Set(used, 1000 * kUnitsEach);
      picture.quotas[absl::StrCat("kube-system/", name)] = std::make_shared<const v1::QuotaSnapshot>(quota);
      picture.queues[name] = std::make_shared<const v1::QueueSnapshot>(queue);
      server.quotas[{"kube-system", name}] = {};
    }
  }

  static void Set(google::protobuf::RepeatedPtrField<v1::Amount>* amounts, int64_t cpu) {
    v1::Amount* amount = amounts->Add();
    amount->set_resource("cpu");
    amount->set_amount(cpu);
  }
  void AddUnit(const std::string& quota, const std::string& name, int64_t charged, v1::UnitSnapshot* unit) {
    unit->set_namespace_(quota);
    unit->set_name(name);
    unit->set_quota(quota);
    unit->set_phase(charged > 0 ? "Running" : "Enqueued");
    if (charged > 0) Set(unit->mutable_charged(), charged);
    server.units[{quota, name}] = {"", quota, unit->phase(), false, {{"cpu", charged}}};
  }

  Picture picture;
  ServerObjects server;
};

void BM_ElasticQuota(benchmark::State& state) {
  const World world;
  for (auto _ : state) benchmark::DoNotOptimize(TabbedJsonText(ElasticQuotaView(world.picture)));
}
BENCHMARK(BM_ElasticQuota)->Unit(benchmark::kMillisecond);

void BM_Queue(benchmark::State& state) {
  const World world;
  for (auto _ : state) benchmark::DoNotOptimize(TabbedJsonText(QueueView(world.picture, 1000)));
}
BENCHMARK(BM_Queue)->Unit(benchmark::kMillisecond);

void BM_UserQuota(benchmark::State& state) {
  const World world;
  for (auto _ : state) benchmark::DoNotOptimize(TabbedJsonText(UserQuotaView(world.picture, 1000)));
}
BENCHMARK(BM_UserQuota)->Unit(benchmark::kMillisecond);

void BM_FindUnit(benchmark::State& state) {
  const World world;
  for (auto _ : state) benchmark::DoNotOptimize(FindUnit(world.picture, "team-999", "runs-49"));
}
BENCHMARK(BM_FindUnit)->Unit(benchmark::kMillisecond);

void BM_Compare(benchmark::State& state) {
  const World world;
  for (auto _ : state) {
    const Comparison found = Compare(world.picture, world.server);
    if (!found.differences.empty()) state.SkipWithError("they differ");
  }
}
BENCHMARK(BM_Compare)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kq::debug_api

BENCHMARK_MAIN();
