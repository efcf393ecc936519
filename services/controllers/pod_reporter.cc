#include "services/controllers/pod_reporter.h"

#include <algorithm>

namespace kq::controllers {
namespace {

// The first admission of this name, or null.
template <typename Admissions>
auto* FindAdmission(Admissions* admissions, absl::string_view name) {
  const auto at =
      std::find_if(admissions->begin(), admissions->end(), [name](const Admission& a) { return a.name == name; });
  return at == admissions->end() ? decltype(&*at)() : &*at;
}

void Follow(const PodSet& set, const PodCounts& pods, Admission* admission) {
  admission->running = pods.bound;
  // Above the pod set only what still has pods is kept.
  const int64_t wanted = std::max(set.count, pods.live());
  admission->replicas = std::clamp(admission->replicas, pods.bound, std::max(wanted, pods.bound));
  admission->resources = ReservedFor(set, admission->replicas);
}

}  // namespace

PodReport ReportFor(const QueueUnit& unit, const PodCounts& pods) {
  PodReport report{unit.admissions, pods.running, pods.pending};
  if (!HoldsQuota(unit.phase) && unit.admissions.empty()) return report;
  if (unit.pod_sets.empty()) return report;
  for (size_t i = 0; i < unit.pod_sets.size(); ++i) {
    const PodSet& set = unit.pod_sets[i];
    Admission* admission = FindAdmission(&report.admissions, set.name);
    if (admission == nullptr) {
      if (!unit.admissions.empty() || report.admissions.size() >= kMaxAdmissions) continue;
      admission = &report.admissions.emplace_back();
      admission->name = set.name;
      admission->replicas = set.count;
    }
    Follow(set, i == 0 ? pods : PodCounts(), admission);
  }
  return report;
}

bool Differs(const PodReport& report, const QueueUnit& unit) {
  return report.admissions != unit.admissions || report.running != unit.pods_running ||
         report.pending != unit.pods_pending;
}

bool ChangesCharge(const PodReport& report, const QueueUnit& unit) {
  if (report.admissions.size() != unit.admissions.size()) return true;
  for (size_t i = 0; i < report.admissions.size(); ++i) {
    const Admission &said = report.admissions[i], &before = unit.admissions[i];
    if (said.replicas != before.replicas || said.resources != before.resources) return true;
  }
  return false;
}

bool GoesBeyond(const PodReport& report, const QueueUnit& unit) {
  return std::any_of(unit.pod_sets.begin(), unit.pod_sets.end(), [&](const PodSet& set) {
    const Admission* const before = FindAdmission(&unit.admissions, set.name);
    const Admission* const now = FindAdmission(&report.admissions, set.name);
    return before != nullptr && now != nullptr && before->replicas < std::min(set.count, now->replicas);
  });
}

absl::Duration ReportPacer::Wait(const ObjectKey& job, Urgency urgency, absl::Time now) {
  MutexLock lock(&mu_);
  const absl::Time changed = changed_.try_emplace(job, now).first->second;
  const absl::Duration rest = urgency == Urgency::kCounts ? pacing_.quiet_interval : pacing_.interval;
  return std::max(changed + rest - now, absl::ZeroDuration());
}

void ReportPacer::Settled(const ObjectKey& job) {
  MutexLock lock(&mu_);
  changed_.erase(job);
}

}  // namespace kq::controllers
