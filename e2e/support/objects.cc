#include "e2e/support/objects.h"

#include <atomic>
#include <boost/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq::e2e {
namespace {

constexpr int kWriters = 8;
constexpr char kQuotaLabel[] = "quota.scheduling.koordinator.sh/name";

Json OneCoreContainer() { return {{"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}; }

}  // namespace

Json QuotaObject(const std::string& name, const std::string& parent, int64_t cores) {
  return QuotaWith(name, parent, {{"max", {{"cpu", absl::StrCat(cores)}}}});
}

Json QuotaWith(const std::string& name, const std::string& parent, Json spec) {
  return {{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
          {"kind", "ElasticQuota"},
          {"metadata", {{"name", name}, {"labels", {{"quota.scheduling.koordinator.sh/parent", parent}}}}},
          {"spec", std::move(spec)}};
}

Json QueueObject(const std::string& name) {
  return {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "Queue"},
          {"metadata", {{"name", name}, {"labels", {{"create-by-koordqueue", "true"}}}}},
          {"spec", {{"queuePolicy", "Priority"}}}};
}

Json UnitObject(const std::string& name, const std::string& quota) {
  const Json pod_set = {
      {"name", "main"}, {"count", 1}, {"template", {{"spec", {{"containers", JsonArray{OneCoreContainer()}}}}}}};
  return {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "QueueUnit"},
          {"metadata", {{"name", name}, {"labels", {{kQuotaLabel, quota}}}}},
          {"spec", {{"podSet", JsonArray{pod_set}}}}};
}

Json JobObject(const std::string& name, const std::string& quota, const std::string& run_for) {
  const Json pod = {{"metadata", {{"annotations", {{"fake-kubelet/run-for", run_for}}}}},
                    {"spec", {{"restartPolicy", "Never"}, {"containers", JsonArray{OneCoreContainer()}}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}, {"labels", {{kQuotaLabel, quota}}}}},
          {"spec", {{"suspend", true}, {"template", pod}}}};
}

void InParallel(int count, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&] {
      for (int n; (n = next.fetch_add(1)) < count;) work(n);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace kq::e2e
