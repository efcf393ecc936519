#ifndef SERVICES_CONTROLLERS_PLAN_H_
#define SERVICES_CONTROLLERS_PLAN_H_

#include "absl/strings/string_view.h"
#include "libs/api/queue_unit.h"

// The life of a job beside its QueueUnit, as one table without any I/O:
//
//   the job is ...     the unit is ...         and the next step
//   -----------------  ----------------------  ---------------------------------
//   created, suspended not there               CreateUnit
//   waiting            Enqueued, Reserved      none: the scheduler has the word
//   waiting            Dequeued                Resume  (the one un-suspend)
//   pending, running   Dequeued                Run     (once a pod runs)
//   pending, running   Running                 none, but for the counts of pods
//   succeeded, failed  anything                Succeed, Fail: quota is free
//   gone               anything                Collect
//
// Going back. Four ways lead a unit back into its queue, and each has one rule:
//
//   The user suspends a released job. It is *held*: Hold sets the phase back to
//   Enqueued. The admissions stay, and so the quota stays charged, until the last
//   pod is gone; then they are cleared. spec.active is false from before that
//   write until the user un-suspends the job, so the scheduler does not admit
//   what nobody wants to run, and the job is not resumed against its user's will.
//
//   The unit is evicted (TimeoutBackoff, Preempted) while the job runs. Suspend
//   stops the job and takes the mark of the release off it; when the pods are
//   gone (and a backoff is over), Requeue sets the phase to Enqueued and clears
//   the admissions. From then on it is a waiting unit like any other.
//
//   A job that waits asks for more than its unit was admitted for: its template was
//   changed on the way, or the unit was. Requeue, once the unit follows the job.
//
//   Someone un-suspends a job that was not admitted. It runs, so it is charged:
//   Adopt gives it full admissions even above the limit, MarkReleased writes on
//   the job that it was released, and from then on the first rule holds.
//
// What tells a held job from a waiting one is the mark of the release on the job
// (annotation koord-queue/job-dequeue-timestamp, not older than the job itself):
// it comes with the un-suspend in one patch, and only a Suspend of ours takes it
// off.
//
// A step is one write, or two that may each be made again. After it the job and
// its unit are observed anew, so a crash between any two steps loses nothing.
namespace kq::controllers {

enum class JobState {
  kAbsent,     // not on the server
  kDeleting,   // has a deletion time
  kWaiting,    // suspended, not released
  kStopping,   // suspended, not (any longer) released, pods are left
  kHolding,    // released and suspended since; pods are left
  kHeld,       // released and suspended since; no pods
  kPending,    // not suspended, no pod runs yet
  kRunning,    // not suspended, a pod runs
  kSucceeded,  // over for good
  kFailed,     // over for good
};
inline constexpr int kJobStates = 10;
absl::string_view JobStateName(JobState state);  // "Waiting"

// Whose the unit is that has the name of this job's unit.
enum class Claim {
  kNone,     // there is none
  kOurs,     // it belongs to this very job, by UID
  kEarlier,  // to an earlier job of the same kind and name
  kForeign,  // to something else
};

// One job and its unit, as they are now.
struct Observation {
  JobState job = JobState::kAbsent;
  bool managed = false;  // the job is to be queued (a job with a unit always is)
  bool priced = true;    // its pod sets and amounts could be understood; a waiting job else stays where it is
  bool marked = false;   // carries the mark of the release

  Claim claim = Claim::kNone;
  Phase phase = Phase::kUnset;
  bool has_admissions = false;
  bool covered = false;        // the admissions are enough replicas of every pod set
  bool outgrown = false;       // ... but of smaller ones than those of now
  bool spec_current = true;    // spec, labels and annotations follow the job
  bool counts_current = true;  // admissions and podState follow the pods
  bool backoff_over = true;    // of a unit in TimeoutBackoff
};

enum class Step {
  kNone,
  kCreateUnit,
  kReportInvalid,    // an event on the job: what about it cannot be understood
  kReportCollision,  // an event on the job: its unit's name is taken
  kDeleteEarlier,    // the unit of an earlier job of this name makes room
  kCollect,          // the job is gone: the unit goes, if garbage collection leaves it
  kSyncSpec,         // unit: spec, labels and annotations follow the job
  kResume,           // job: un-suspended, marked as released
  kSuspend,          // job: suspended, mark taken off
  kMarkReleased,     // job: mark of the release, for one that runs already
  kAdopt,            // unit: full admissions and Dequeued or Running, for a job that runs unasked
  kRun,              // unit: Running, with counts
  kReportPods,       // unit: counts only
  kSucceed,          // unit: Succeed, no admissions
  kFail,             // unit: Failed, no admissions
  kHold,             // unit: Enqueued; admissions stay while pods do
  kRequeue,          // unit: Enqueued, no admissions
  kClearAdmissions,  // unit: the pods are gone, so the quota is
};
inline constexpr int kSteps = 18;
absl::string_view StepName(Step step);  // "CreateUnit"

// The table alone: what the phase of a unit and the state of its job ask for.
Step LifeCycleStep(Phase phase, JobState job);

// The next step, with everything else that counts: whose the unit is, whether its
// spec follows the job, whether it is admitted in full. Pure and total.
Step PlanNextStep(const Observation& seen);

// Whether the step must not rest on an old picture of the job: before it the job
// is read from the server. These are the steps that take something away.
bool NeedsFreshJob(Step step);

// Whether the step only tells of what runs already, so that it may wait a while and
// be one write with what comes next.
bool MayBeDelayed(Step step, JobState job);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_PLAN_H_
