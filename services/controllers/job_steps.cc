// The steps of the JobReconciler: what each writes.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/controllers/annotations.h"
#include "services/controllers/job_reconciler.h"
#include "services/controllers/unit_spec.h"

namespace kq::controllers {

JobReconciler::Done JobReconciler::CreateUnit(const JobView& view) {
  const absl::StatusOr<Json> answer = api_->Create(UnitResource(), view.unit_key.ns, *view.desired);
  if (absl::IsInvalidArgument(answer.status()) || absl::IsPermissionDenied(answer.status())) {
    Complain(view, "QueueUnitRefused", answer.status().message());
  }
  if (answer.ok()) TellIgnored(view, *view.desired);
  return AfterUnitWrite(view, answer);
}

void JobReconciler::TellIgnored(const JobView& view, const Json& written) const {
  for (const auto& [key, text] : IgnoredAnnotations(*view.job)) {
    if (AnnotationOf(written, key).empty()) continue;
    Tell(view, EventType::kWarning, "AnnotationIgnored", absl::StrCat(text, "; it is ignored"));
  }
}

JobReconciler::Done JobReconciler::DeleteUnit(const JobView& view) {
  const Json& unit = *view.unit_object;
  // With finalizers of someone else it goes when they are done.
  if (Find(unit, {"metadata", "deletionTimestamp"}) != nullptr) return {absl::OkStatus(), true, false};
  DeleteRequest request;
  request.resource = UnitResource();
  request.key = view.unit_key;
  request.uid = UidOf(unit);
  request.version = VersionOf(unit);
  const absl::Status status = api_->Delete(request);
  if (!status.ok() && !absl::IsNotFound(status)) return AfterUnitWrite(view, status);
  cache_->ForgetUnit(view.unit_key, request.uid);
  return {};
}

absl::Duration JobReconciler::CollectRest(const JobView& view) {
  const absl::Time now = clock_->TimeNow();
  const std::string uid = UidOf(*view.unit_object);
  MutexLock lock(&mu_);
  Memory& memory = memory_[view.job_key];
  if (memory.orphan_uid != uid) {
    memory.orphan_uid = uid;
    memory.collect_at = now + options_.collect_grace;
  }
  return std::max(memory.collect_at - now, absl::ZeroDuration());
}

JobReconciler::Done JobReconciler::SyncSpec(const JobView& view) {
  const absl::StatusOr<Json> answer = PatchObserved(UnitResource(), *view.unit_object, Subresource::kNone, *view.patch);
  if (absl::IsInvalidArgument(answer.status())) Complain(view, "QueueUnitRefused", answer.status().message());
  if (answer.ok()) TellIgnored(view, *view.patch);
  const std::string ignored = AnnotationOf(*view.patch, kIgnoredQuotaAnnotation);
  if (answer.ok() && !ignored.empty()) {
    Tell(view, EventType::kWarning, "QuotaChangeIgnored",
         absl::StrCat("The quota label of the Job says ", ignored, " now; what it holds stays charged to ",
                      view.unit.quota, ", which admitted it"));
  }
  return AfterUnitWrite(view, answer);
}

JobReconciler::Done JobReconciler::Resume(const JobView& view) {
  const Release release{view.unit_key, view.unit.created, clock_->TimeNow()};
  const KubeResource& jobs = adapter_->kind().resource;
  absl::StatusOr<Json> answer =
      PatchObserved(jobs, *view.job, Subresource::kNone, adapter_->ResumePatch(*view.job, release));
  if (absl::IsInvalidArgument(answer.status())) {
    // The pod template of a job that ran before cannot be changed.
    answer = PatchObserved(jobs, *view.job, Subresource::kNone, adapter_->BareResumePatch(*view.job, release));
    if (absl::IsInvalidArgument(answer.status())) Complain(view, "ResumeFailed", answer.status().message());
  }
  if (OutcomeUnknown(answer.status())) {
    // The time of the release tells whether it was ours.
    const absl::StatusOr<Json> now = api_->Get(jobs, view.job_key);
    if (now.ok() && AnnotationOf(*now, kDequeueTimeAnnotation) == GoTimeText(release.now)) answer = now;
  }
  if (answer.ok()) {
    Tell(view, EventType::kNormal, "Resume",
         absl::StrCat("Job is resumed: QueueUnit ", view.unit_key.ToString(), " is admitted"));
  }
  return AfterJobWrite(view, answer);
}

JobReconciler::Done JobReconciler::Suspend(const JobView& view) {
  const absl::StatusOr<Json> answer =
      PatchObserved(adapter_->kind().resource, *view.job, Subresource::kNone, adapter_->SuspendPatch(*view.job));
  if (answer.ok()) {
    Tell(view, EventType::kNormal, "Suspend",
         absl::StrCat("Job is suspended: QueueUnit ", view.unit_key.ToString(), " is in phase ",
                      PhaseName(view.unit.phase)));
  }
  return AfterJobWrite(view, answer);
}

JobReconciler::Done JobReconciler::MarkReleased(const JobView& view) {
  JsonObject patch{{"metadata", JsonObject{{"annotations", ReleaseAnnotations(view.unit.created, clock_->TimeNow())}}}};
  return AfterJobWrite(view,
                       PatchObserved(adapter_->kind().resource, *view.job, Subresource::kNone, Json(std::move(patch))));
}

JobReconciler::Done JobReconciler::WriteStatus(const JobView& view, UnitStatusChange change) {
  const absl::Time now = clock_->TimeNow();
  change.last_update = now;
  if (change.phase.has_value() && options_.with_conditions) {
    change.conditions = ConditionsFor(*change.phase, view.unit.conditions, change.message.value_or(""), now);
  }
  change.pods = {view.pods.running, view.pods.pending};
  return AfterUnitWrite(
      view, PatchObserved(UnitResource(), *view.unit_object, Subresource::kStatus, UnitStatusPatch(change)));
}

JobReconciler::Done JobReconciler::Adopt(const JobView& view) {
  QueueUnit unit = view.unit;
  unit.phase = Phase::kEnqueued;  // whatever it says: it asks for everything that it is not yet granted
  unit.admissions = FullAdmissions(unit);
  unit.phase = view.seen.job == JobState::kRunning ? Phase::kRunning : Phase::kDequeued;
  UnitStatusChange change;
  change.phase = unit.phase;
  change.message = "Job runs without an admission";
  change.admissions = ReportFor(unit, view.pods).admissions;
  change.last_allocate = clock_->TimeNow();
  Done done = WriteStatus(view, std::move(change));
  if (done.status.ok() && done.made) {
    pacer_.Settled(view.job_key);
    Tell(view, EventType::kWarning, "RunsWithoutAdmission",
         absl::StrCat("Job is not suspended, and QueueUnit ", view.unit_key.ToString(),
                      " is not admitted (un-suspended by hand, or the unit was deleted); it counts against its "
                      "quota, even above the limit"));
  }
  return done;
}

JobReconciler::Done JobReconciler::WriteReport(const JobView& view, Phase phase) {
  UnitStatusChange change;
  if (phase != view.unit.phase) {
    change.phase = phase;
    change.message = std::string(PhaseName(phase));
  }
  if (view.report.admissions != view.unit.admissions) change.admissions = view.report.admissions;
  Done done = WriteStatus(view, std::move(change));
  if (!done.status.ok() || !done.made) return done;
  pacer_.Settled(view.job_key);
  if (GoesBeyond(view.report, view.unit)) {
    Tell(view, EventType::kWarning, "RunsWithoutAdmission",
         absl::StrCat("Job grew while it runs: pods that QueueUnit ", view.unit_key.ToString(),
                      " was not admitted for count against its quota, even above the limit"));
  }
  return done;
}

JobReconciler::Done JobReconciler::Finish(const JobView& view, Phase phase) {
  UnitStatusChange change;
  change.phase = phase;
  change.message = std::string(PhaseName(phase));
  change.admissions.emplace();
  return WriteStatus(view, std::move(change));
}

JobReconciler::Done JobReconciler::Hold(const JobView& view) {
  UnitStatusChange change;
  change.phase = Phase::kEnqueued;
  change.message = std::string(kHeldMessage);
  if (view.seen.job == JobState::kHeld) change.admissions.emplace();
  return WriteStatus(view, std::move(change));
}

JobReconciler::Done JobReconciler::Requeue(const JobView& view) {
  UnitStatusChange change;
  change.phase = Phase::kEnqueued;
  change.message = "Enqueued";
  if (view.unit.phase == Phase::kPreempted) change.message = "Enqueued after preempted";
  if (view.unit.phase == Phase::kTimeoutBackoff) change.message = "Enqueued because backoff timeout";
  const bool outgrown = HoldsQuota(view.unit.phase) && view.seen.outgrown;
  if (outgrown) change.message = "Enqueued because its pods ask for more than was admitted";
  change.admissions.emplace();
  Done done = WriteStatus(view, std::move(change));
  if (outgrown && done.status.ok() && done.made) {
    Tell(view, EventType::kWarning, "AdmissionOutgrown",
         absl::StrCat("Job asks for more than QueueUnit ", view.unit_key.ToString(),
                      " was admitted for; it waits in its queue again"));
  }
  return done;
}

JobReconciler::Done JobReconciler::ClearAdmissions(const JobView& view) {
  UnitStatusChange change;
  change.admissions.emplace();
  return WriteStatus(view, std::move(change));
}

}  // namespace kq::controllers
