#ifndef SERVICES_CONTROLLERS_JOB_RECONCILER_H_
#define SERVICES_CONTROLLERS_JOB_RECONCILER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/codec.h"
#include "libs/api/object_key.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/kube/events.h"
#include "libs/kube/kube_api.h"
#include "services/controllers/job_adapter.h"
#include "services/controllers/job_view.h"
#include "services/controllers/object_cache.h"
#include "services/controllers/pod_reporter.h"

namespace kq::controllers {

struct ReconcilerOptions {
  ManageRules rules;
  ReportPacing pacing;
  // The unit of a job that is gone is left to garbage collection for so long.
  absl::Duration collect_grace = absl::Seconds(10);
  bool with_conditions = true;  // status.conditions are written
  // Asked before every write: whether this process may still write.
  std::function<bool()> may_write = [] { return true; };
};

using RecordEvent = std::function<void(const ObjectReference& object, EventType type, absl::string_view reason,
                                       absl::string_view message)>;

// What a reconciler works with; all must outlive it.
struct ReconcilerParts {
  const JobAdapter* adapter = nullptr;
  ObjectCache* cache = nullptr;
  KubeApi* api = nullptr;
  const Clock* clock = nullptr;
  RecordEvent record;
};

// Brings one job and its unit a step further, and further, until there is nothing
// to do now:
//
//   Observe     what the watches brought and our own writes answered
//   Plan        plan.h: the next step
//   Execute     one write, on the version that was observed
//
// Every step may be made again: after a crash, a lost answer or a conflict the job
// is observed anew, and what is there already is not done twice. What the API
// server answers is known at once, without waiting for the watch.
//
// Writes are made by the calling thread, one after the other for a job: the work
// queue never hands out a key twice at once, so no two writes of an object are on
// their way together, and each names the version it rests on.
//
// Thread-safe for different jobs at once.
class JobReconciler {
 public:
  JobReconciler(ReconcilerOptions options, ReconcilerParts parts);

  struct Outcome {
    // OK: done for now. Else: to be tried again with a backoff, not before
    // RetryAfter(status).
    absl::Status status;
    // When to look again without any news; InfiniteDuration: never.
    absl::Duration again = absl::InfiniteDuration();
  };
  Outcome Reconcile(const ObjectKey& job);

  // How often each step was made, met a newer version of its object, or failed; for
  // metrics.
  struct StepCount {
    int64_t made = 0, conflicts = 0, failed = 0;
  };
  std::map<Step, StepCount> Counts() const;

 private:
  // What became of one step.
  struct Done {
    absl::Status status;
    bool made = true;   // the server did it, so the same step is not due again
    bool go_on = true;  // observe again at once
    absl::Duration again = absl::InfiniteDuration();
  };
  // What is remembered of a job between two looks at it.
  struct Memory {
    std::string orphan_uid;  // of a unit whose job is gone
    absl::Time collect_at;
    std::string told;  // the last complaint in an event
  };

  JobView Observe(const ObjectKey& job) const;
  // False if the server's picture of the job asks for another step.
  absl::StatusOr<bool> Confirm(Step step, JobView* view);
  Done Execute(Step step, const JobView& view);
  // The rest for a step that may wait; zero if it must not.
  absl::Duration Rest(Step step, const JobView& view);

  Done CreateUnit(const JobView& view);
  Done DeleteUnit(const JobView& view);
  // How long the unit of a job that is gone is left to garbage collection.
  absl::Duration CollectRest(const JobView& view);
  Done SyncSpec(const JobView& view);
  Done Resume(const JobView& view);
  Done Suspend(const JobView& view);
  Done MarkReleased(const JobView& view);
  Done Adopt(const JobView& view);
  Done WriteReport(const JobView& view, Phase phase);
  Done Finish(const JobView& view, Phase phase);
  Done Hold(const JobView& view);
  Done Requeue(const JobView& view);
  Done ClearAdmissions(const JobView& view);

  Done WriteStatus(const JobView& view, UnitStatusChange change);
  // A merge patch that holds only for the object as observed.
  absl::StatusOr<Json> PatchObserved(const KubeResource& resource, const Json& observed, Subresource subresource,
                                     Json patch);
  // After a write that failed or whose outcome is unknown: what is there now?
  Done AfterUnitWrite(const JobView& view, const absl::StatusOr<Json>& answer);
  Done AfterJobWrite(const JobView& view, const absl::StatusOr<Json>& answer);

  // Of the annotations in `written`, which a unit just got from its job.
  void TellIgnored(const JobView& view, const Json& written) const;
  void Tell(const JobView& view, EventType type, absl::string_view reason, absl::string_view message) const;
  // As Tell, a Warning, but not twice in a row the same.
  Done Complain(const JobView& view, absl::string_view reason, absl::string_view message);
  void ForgetJob(const ObjectKey& job);
  void Count(Step step, const Done& done);

  const ReconcilerOptions options_;
  const JobAdapter* const adapter_;
  ObjectCache* const cache_;
  KubeApi* const api_;
  const Clock* const clock_;
  const RecordEvent record_;
  ReportPacer pacer_;

  mutable Mutex mu_;
  std::map<Step, StepCount> counts_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<ObjectKey, Memory> memory_ ABSL_GUARDED_BY(mu_);  // of jobs in trouble only
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_JOB_RECONCILER_H_
