#include "services/controllers/job_view.h"

#include <algorithm>
#include <utility>

#include "libs/api/codec.h"
#include "libs/common/time_format.h"
#include "libs/kube/kube_api.h"
#include "services/controllers/annotations.h"
#include "services/controllers/unit_spec.h"

namespace kq::controllers {
namespace {

// Enough replicas of every pod set; a unit of an older version, whose phase holds
// quota without admissions, was admitted as a whole.
bool IsCovered(const QueueUnit& unit) {
  if (unit.admissions.empty()) return HoldsQuota(unit.phase);
  return std::all_of(unit.pod_sets.begin(), unit.pod_sets.end(), [&unit](const PodSet& set) {
    int64_t replicas = 0;
    for (const Admission& admission : unit.admissions) {
      if (admission.name == set.name) replicas += admission.replicas;
    }
    return replicas >= set.count;
  });
}

// What was reserved for the replicas of a pod set is less than they ask for now. Whoever
// did not say what was reserved meant what they ask for.
bool IsOutgrown(const QueueUnit& unit) {
  return std::any_of(unit.admissions.begin(), unit.admissions.end(), [&unit](const Admission& admission) {
    if (admission.resources.Empty()) return false;
    const auto set = std::find_if(unit.pod_sets.begin(), unit.pod_sets.end(),
                                  [&admission](const PodSet& s) { return s.name == admission.name; });
    if (set == unit.pod_sets.end()) return false;
    const Resources asked = ReservedFor(*set, admission.replicas);
    return std::any_of(asked.begin(), asked.end(), [&admission](const Resources::Entry& entry) {
      return entry.amount > admission.resources.At(entry.name);
    });
  });
}

bool IsSuspendedState(JobState state) {
  return state == JobState::kWaiting || state == JobState::kStopping || state == JobState::kHolding ||
         state == JobState::kHeld;
}

// status.requeueState.requeueAt; InfinitePast if it is not set.
absl::Time BackoffUntil(const Json& unit) {
  return ParseTime(StringAt(unit, {"status", "requeueState", "requeueAt"})).value_or(absl::InfinitePast());
}

void LookAtJob(const ObjectCache::View& known, const JobAdapter& adapter, const ManageRules& rules, JobView* view) {
  Observation& seen = view->seen;
  view->job_uid = UidOf(*view->job);
  seen.job = adapter.State(*view->job, view->pods);
  seen.managed = adapter.WantsUnit(*view->job, rules);
  seen.marked = IsMarkedReleased(*view->job);
  const bool held = seen.job == JobState::kHolding || seen.job == JobState::kHeld;
  absl::StatusOr<Json> desired = DesiredUnit(*view->job, adapter, *known.priorities, held);
  seen.priced = desired.ok();
  if (desired.ok()) {
    view->desired = *std::move(desired);
  } else {
    view->price_error = desired.status();
  }
}

void LookAtUnit(const JobAdapter& adapter, absl::Time now, JobView* view) {
  Observation& seen = view->seen;
  seen.claim = ClaimOf(*view->unit_object, adapter.kind(), view->job_key.name, view->job_uid);
  if (absl::StatusOr<QueueUnit> unit = ParseQueueUnit(*view->unit_object); unit.ok()) view->unit = *std::move(unit);
  seen.phase = view->unit.phase;
  seen.has_admissions = !view->unit.admissions.empty();
  seen.covered = IsCovered(view->unit);
  seen.outgrown = IsOutgrown(view->unit);
  view->backoff_until = BackoffUntil(*view->unit_object);
  seen.backoff_over = view->unit.phase != Phase::kTimeoutBackoff || now >= view->backoff_until;
  if (seen.claim != Claim::kOurs) return;
  view->report = ReportFor(view->unit, view->pods);
  seen.counts_current = !Differs(view->report, view->unit);
  if (!view->desired.has_value()) return;
  const bool holds_quota = HoldsQuota(view->unit.phase) || seen.has_admissions;
  view->patch = UnitPatch(*view->desired, *view->unit_object, IsSuspendedState(seen.job), holds_quota);
  seen.spec_current = !view->patch.has_value();
}

}  // namespace

JobView ViewOf(const ObjectKey& job, const ObjectCache::View& known, const JobAdapter& adapter,
               const ManageRules& rules, absl::Time now) {
  JobView view;
  view.job_key = job;
  view.unit_key = {job.ns, adapter.UnitName(job.name)};
  view.job = known.job;
  view.unit_object = known.unit;
  view.pods = known.pods;
  if (view.job != nullptr) LookAtJob(known, adapter, rules, &view);
  if (view.unit_object != nullptr) LookAtUnit(adapter, now, &view);
  return view;
}

}  // namespace kq::controllers
