#include "perf/workload.h"

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/api/codec.h"
#include "libs/api/queue_unit.h"
#include "libs/common/clock.h"

namespace kq::perf {
namespace {

constexpr char kQuotaLabel[] = "quota.scheduling.koordinator.sh/name";

Json PodSpec() {
  const Json requests = {{"cpu", "100m"}, {"memory", "64Mi"}};
  const Json container = {{"name", "c"}, {"image", "none"}, {"resources", {{"requests", requests}}}};
  return {{"restartPolicy", "Never"}, {"containers", JsonArray{container}}};
}

Json Metadata(const std::string& name, const std::string& quota) {
  return {{"name", name}, {"labels", {{kQuotaLabel, quota}}}};
}

}  // namespace

std::string NumberedName(const std::string& prefix, int number) { return absl::StrFormat("%s-%06d", prefix, number); }

Json QuotaObject(const std::string& name, int64_t cores) {
  const Json max = {{"cpu", absl::StrCat(cores)}, {"memory", absl::StrCat(cores, "Gi")}};
  return {{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
          {"kind", "ElasticQuota"},
          {"metadata", {{"name", name}}},
          {"spec", {{"max", max}}}};
}

Json UnitObject(const std::string& name, const std::string& quota) {
  const Json pod_set = {{"name", "main"}, {"count", 1}, {"template", {{"spec", PodSpec()}}}};
  return {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "QueueUnit"},
          {"metadata", Metadata(name, quota)},
          {"spec", {{"podSet", JsonArray{pod_set}}}}};
}

Json JobObject(const std::string& name, const std::string& quota, absl::Duration run_for) {
  const Json annotations = {{"fake-kubelet/run-for", absl::FormatDuration(run_for)}};
  const Json pod_template = {{"metadata", {{"annotations", annotations}}}, {"spec", PodSpec()}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", Metadata(name, quota)},
          {"spec", {{"suspend", true}, {"template", pod_template}}}};
}

Json AdmittedStatus() {
  const absl::Time now = Clock::Real().TimeNow();
  Admission admission;
  admission.name = "main";
  admission.replicas = 1;
  UnitStatusChange change;
  change.phase = Phase::kDequeued;
  change.message = "Dequeued because schedule successfully";
  change.attempts = 1;
  change.last_update = now;
  change.last_allocate = now;
  change.admissions = {admission};
  change.conditions = ConditionsFor(Phase::kDequeued, {}, "", now);
  return UnitStatusPatch(change);
}

void InParallel(int count, int threads, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  std::once_flag failed;
  std::exception_ptr failure;
  std::vector<std::thread> workers;
  for (int i = 0; i < std::min(threads, count); ++i) {
    workers.emplace_back([&] {
      try {
        for (int n; (n = next.fetch_add(1)) < count;) work(n);
      } catch (...) {
        next = count;
        std::call_once(failed, [&] { failure = std::current_exception(); });
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace kq::perf
