#include "services/controllers/plan.h"

#include <array>

namespace kq::controllers {
namespace {

using Row = std::array<Step, kJobStates>;

// Columns in the order of JobState:
//  Absent, Deleting, Waiting, Stopping, Holding, Held, Pending, Running, Succeeded, Failed
constexpr Step kNo = Step::kNone;
constexpr Step kGo = Step::kResume;
constexpr Step kRq = Step::kRequeue;
constexpr Step kHd = Step::kHold;
constexpr Step kAd = Step::kAdopt;
constexpr Step kSu = Step::kSuspend;
constexpr Step kRn = Step::kRun;
constexpr Step kOk = Step::kSucceed;
constexpr Step kKo = Step::kFail;
constexpr Step kGc = Step::kCollect;

constexpr Row kWaitingRow = {kGc, kNo, kNo, kNo, kNo, kNo, kAd, kAd, kOk, kKo};
constexpr Row kReservedRow = {kGc, kNo, kNo, kNo, kHd, kHd, kAd, kAd, kOk, kKo};
// SchedReady waits for a reservation of pods' places, which no kind here makes.
constexpr Row kAdmittedRow = {kGc, kNo, kGo, kNo, kHd, kHd, kNo, kRn, kOk, kKo};
constexpr Row kRunningRow = {kGc, kNo, kRq, kNo, kHd, kHd, kNo, kNo, kOk, kKo};
constexpr Row kNotPlacedRow = {kGc, kNo, kRq, kNo, kHd, kHd, kAd, kAd, kOk, kKo};
constexpr Row kEvictedRow = {kGc, kNo, kRq, kNo, kHd, kHd, kSu, kSu, kOk, kKo};
// A job cannot come back to life: its unit was written by someone else.
constexpr Row kSucceedRow = {kGc, kNo, kRq, kNo, kHd, kHd, kAd, kAd, kNo, kKo};
constexpr Row kFailedRow = {kGc, kNo, kRq, kNo, kHd, kHd, kAd, kAd, kOk, kNo};

const Row& RowOf(Phase phase) {
  switch (phase) {
    case Phase::kUnset:
    case Phase::kEnqueued:
      return kWaitingRow;
    case Phase::kReserved:
      return kReservedRow;
    case Phase::kDequeued:
    case Phase::kSchedReady:
    case Phase::kSchedSucceed:
      return kAdmittedRow;
    case Phase::kRunning:
      return kRunningRow;
    case Phase::kSchedFailed:
      return kNotPlacedRow;
    case Phase::kTimeoutBackoff:
    case Phase::kPreempted:
      return kEvictedRow;
    case Phase::kSucceed:
      return kSucceedRow;
    case Phase::kFailed:
      return kFailedRow;
  }
  return kWaitingRow;  // a number that is no phase
}

bool IsOver(JobState job) { return job == JobState::kSucceeded || job == JobState::kFailed; }
bool Runs(JobState job) { return job == JobState::kPending || job == JobState::kRunning; }
bool HasNoPods(JobState job) { return job == JobState::kWaiting || job == JobState::kHeld; }

// There is no unit of this job.
Step PlanWithoutUnit(const Observation& seen) {
  if (seen.claim == Claim::kEarlier && !seen.managed) return Step::kCollect;
  if (!seen.managed || seen.job == JobState::kAbsent || seen.job == JobState::kDeleting || IsOver(seen.job)) {
    return Step::kNone;
  }
  if (seen.claim == Claim::kForeign) return Step::kReportCollision;
  if (!seen.priced) return Step::kReportInvalid;
  return seen.claim == Claim::kEarlier ? Step::kDeleteEarlier : Step::kCreateUnit;
}

// The steps that come before a unit is made to follow its job: what frees or
// charges quota for what already happened.
bool ComesFirst(Step step) {
  return step == Step::kCollect || step == Step::kSucceed || step == Step::kFail || step == Step::kAdopt ||
         step == Step::kSuspend;
}

// Nothing to do by the table: what is left over?
Step PlanRest(const Observation& seen) {
  const bool owns_nothing = IsFinished(seen.phase) || (IsWaiting(seen.phase) && HasNoPods(seen.job));
  if (seen.has_admissions && owns_nothing) return Step::kClearAdmissions;
  if (!Runs(seen.job)) return Step::kNone;
  if (!seen.marked) return Step::kMarkReleased;
  return seen.counts_current ? Step::kNone : Step::kReportPods;
}

}  // namespace

Step LifeCycleStep(Phase phase, JobState job) { return RowOf(phase)[static_cast<size_t>(job)]; }

Step PlanNextStep(const Observation& seen) {
  if (seen.claim != Claim::kOurs) return PlanWithoutUnit(seen);
  const Step step = LifeCycleStep(seen.phase, seen.job);
  if (ComesFirst(step)) return step;
  if (seen.job == JobState::kDeleting) return Step::kNone;
  if (!seen.priced && seen.job == JobState::kWaiting) return Step::kReportInvalid;
  if (seen.priced && !seen.spec_current && !IsOver(seen.job)) return Step::kSyncSpec;
  if (step == Step::kNone) return PlanRest(seen);
  if (step == Step::kResume && seen.outgrown) return Step::kRequeue;
  if (step == Step::kResume && !seen.covered) return Step::kNone;
  if (step == Step::kRequeue && !seen.backoff_over) return Step::kNone;
  if (step == Step::kRun && !seen.marked) return Step::kMarkReleased;
  return step;
}

bool NeedsFreshJob(Step step) {
  return step == Step::kCollect || step == Step::kHold || step == Step::kRequeue || step == Step::kClearAdmissions;
}

bool MayBeDelayed(Step step, JobState job) {
  return step == Step::kRun || step == Step::kReportPods || (step == Step::kSyncSpec && Runs(job));
}

absl::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kAbsent:
      return "Absent";
    case JobState::kDeleting:
      return "Deleting";
    case JobState::kWaiting:
      return "Waiting";
    case JobState::kStopping:
      return "Stopping";
    case JobState::kHolding:
      return "Holding";
    case JobState::kHeld:
      return "Held";
    case JobState::kPending:
      return "Pending";
    case JobState::kRunning:
      return "Running";
    case JobState::kSucceeded:
      return "Succeeded";
    case JobState::kFailed:
      return "Failed";
  }
  return "Unknown";
}

absl::string_view StepName(Step step) {
  switch (step) {
    case Step::kNone:
      return "None";
    case Step::kCreateUnit:
      return "CreateUnit";
    case Step::kReportInvalid:
      return "ReportInvalid";
    case Step::kReportCollision:
      return "ReportCollision";
    case Step::kDeleteEarlier:
      return "DeleteEarlier";
    case Step::kCollect:
      return "Collect";
    case Step::kSyncSpec:
      return "SyncSpec";
    case Step::kResume:
      return "Resume";
    case Step::kSuspend:
      return "Suspend";
    case Step::kMarkReleased:
      return "MarkReleased";
    case Step::kAdopt:
      return "Adopt";
    case Step::kRun:
      return "Run";
    case Step::kReportPods:
      return "ReportPods";
    case Step::kSucceed:
      return "Succeed";
    case Step::kFail:
      return "Fail";
    case Step::kHold:
      return "Hold";
    case Step::kRequeue:
      return "Requeue";
    case Step::kClearAdmissions:
      return "ClearAdmissions";
  }
  return "Unknown";
}

}  // namespace kq::controllers
