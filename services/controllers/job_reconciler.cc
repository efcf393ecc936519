#include "services/controllers/job_reconciler.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"
#include "services/controllers/unit_spec.h"

namespace kq::controllers {
namespace {

// More steps at once than any job needs: beyond it something writes against us.
constexpr int kMaxSteps = 12;

}  // namespace

JobReconciler::JobReconciler(ReconcilerOptions options, ReconcilerParts parts)
    : options_(std::move(options)),
      adapter_(parts.adapter),
      cache_(parts.cache),
      api_(parts.api),
      clock_(parts.clock),
      record_(std::move(parts.record)),
      pacer_(options_.pacing) {}

JobReconciler::Outcome JobReconciler::Reconcile(const ObjectKey& job) {
  Step last_made = Step::kNone;
  for (int i = 0; i < kMaxSteps; ++i) {
    JobView view = Observe(job);
    const Step step = PlanNextStep(view.seen);
    if (step == Step::kNone) {
      pacer_.Settled(job);
      if (view.seen.claim != Claim::kOurs || IsFinished(view.seen.phase)) ForgetJob(job);
      return {absl::OkStatus(),
              view.seen.backoff_over ? absl::InfiniteDuration() : view.backoff_until - clock_->TimeNow()};
    }
    if (const absl::Duration rest = Rest(step, view); rest > absl::ZeroDuration()) return {absl::OkStatus(), rest};
    // What was just done is due again: someone undoes it. Not in a hot loop.
    if (step == last_made) return {absl::AbortedError(absl::StrCat("step ", StepName(step), " changed nothing"))};
    if (!options_.may_write()) return {absl::UnavailableError("this process does not lead")};
    if (NeedsFreshJob(step)) {
      const absl::StatusOr<bool> confirmed = Confirm(step, &view);
      if (!confirmed.ok()) return {confirmed.status()};
      if (!*confirmed) continue;
    }
    const Done done = Execute(step, view);
    Count(step, done);
    KQ_VLOG(2, "Step", {{"job", job.ToString()}, {"step", StepName(step)}, {"result", done.status}});
    if (!done.status.ok()) return {WithContext(done.status, StepName(step))};
    if (!done.go_on) return {absl::OkStatus(), done.again};
    last_made = done.made ? step : Step::kNone;
  }
  return {absl::AbortedError("the job and its unit do not come to rest")};
}

std::map<Step, JobReconciler::StepCount> JobReconciler::Counts() const {
  MutexLock lock(&mu_);
  return counts_;
}

JobView JobReconciler::Observe(const ObjectKey& job) const {
  return ViewOf(job, cache_->Look(job), *adapter_, options_.rules, clock_->TimeNow());
}

absl::StatusOr<bool> JobReconciler::Confirm(Step step, JobView* view) {
  const absl::StatusOr<Json> job = api_->Get(adapter_->kind().resource, view->job_key);
  if (absl::IsNotFound(job.status())) {
    if (step == Step::kCollect) return true;
    return absl::UnavailableError("the job is gone, and the watch has not told it yet");
  }
  if (!job.ok()) return WithContext(job.status(), "read the job");
  ObjectCache::View known = cache_->Look(view->job_key);
  cache_->LearnJob(*job);
  // The pods of the job that was read, or of none.
  if (known.job == nullptr || UidOf(*known.job) != UidOf(*job)) known.pods = PodCounts();
  known.job = std::make_shared<const Json>(*job);
  JobView fresh = ViewOf(view->job_key, known, *adapter_, options_.rules, clock_->TimeNow());
  if (PlanNextStep(fresh.seen) == step) {
    *view = std::move(fresh);
    return true;
  }
  // The watch will tell, if the answer was not learnt.
  const ObjectCache::Object learnt = cache_->Look(view->job_key).job;
  if (learnt == nullptr || VersionOf(*learnt) < VersionOf(*job)) {
    return absl::UnavailableError("the watch is behind the job");
  }
  return false;
}

absl::Duration JobReconciler::Rest(Step step, const JobView& view) {
  if (step == Step::kCollect) return CollectRest(view);
  if (!MayBeDelayed(step, view.seen.job)) return absl::ZeroDuration();
  const bool mere_counts = step == Step::kReportPods && !ChangesCharge(view.report, view.unit);
  return pacer_.Wait(view.job_key, mere_counts ? ReportPacer::Urgency::kCounts : ReportPacer::Urgency::kCharge,
                     clock_->TimeNow());
}

JobReconciler::Done JobReconciler::Execute(Step step, const JobView& view) {
  switch (step) {
    case Step::kNone:
      return {absl::OkStatus(), true, false};
    case Step::kCreateUnit:
      return CreateUnit(view);
    case Step::kReportInvalid:
      return Complain(view, "InvalidJob", view.price_error.message());
    case Step::kReportCollision:
      return Complain(view, "QueueUnitNameTaken",
                      absl::StrCat("QueueUnit ", view.unit_key.ToString(),
                                   " belongs to something else; the job waits until it is gone"));
    case Step::kDeleteEarlier:
    case Step::kCollect:
      return DeleteUnit(view);
    case Step::kSyncSpec:
      return SyncSpec(view);
    case Step::kResume:
      return Resume(view);
    case Step::kSuspend:
      return Suspend(view);
    case Step::kMarkReleased:
      return MarkReleased(view);
    case Step::kAdopt:
      return Adopt(view);
    case Step::kRun:
      return WriteReport(view, Phase::kRunning);
    case Step::kReportPods:
      return WriteReport(view, view.unit.phase);
    case Step::kSucceed:
      return Finish(view, Phase::kSucceed);
    case Step::kFail:
      return Finish(view, Phase::kFailed);
    case Step::kHold:
      return Hold(view);
    case Step::kRequeue:
      return Requeue(view);
    case Step::kClearAdmissions:
      return ClearAdmissions(view);
  }
  return {absl::InternalError("not a step")};
}

absl::StatusOr<Json> JobReconciler::PatchObserved(const KubeResource& resource, const Json& observed,
                                                  Subresource subresource, Json patch) {
  Json& metadata = patch.get_object()["metadata"];
  if (!metadata.is_object()) metadata = JsonObject();
  metadata.get_object()["resourceVersion"] = absl::StrCat(VersionOf(observed));
  metadata.get_object()["uid"] = UidOf(observed);
  PatchRequest request;
  request.resource = resource;
  request.key = KeyOf(observed);
  request.subresource = subresource;
  request.patch = std::move(patch);
  return api_->Patch(request);
}

JobReconciler::Done JobReconciler::AfterUnitWrite(const JobView& view, const absl::StatusOr<Json>& answer) {
  if (answer.ok()) {
    cache_->LearnUnit(*answer);
    return {};
  }
  const bool conflict = absl::IsAborted(answer.status()) || absl::IsAlreadyExists(answer.status());
  if (!conflict && !OutcomeUnknown(answer.status())) return {answer.status()};
  const absl::StatusOr<Json> now = api_->Get(UnitResource(), view.unit_key);
  if (!now.ok()) return {answer.status()};
  cache_->LearnUnit(*now);
  // After a conflict the plan is made anew; an unknown outcome rests a moment first,
  // because the write may still be on its way.
  if (conflict) return {absl::OkStatus(), false};
  return {answer.status()};
}

JobReconciler::Done JobReconciler::AfterJobWrite(const JobView& view, const absl::StatusOr<Json>& answer) {
  if (answer.ok()) {
    cache_->LearnJob(*answer);
    return {};
  }
  const bool conflict = absl::IsAborted(answer.status());
  if (!conflict && !OutcomeUnknown(answer.status())) return {answer.status()};
  const absl::StatusOr<Json> now = api_->Get(adapter_->kind().resource, view.job_key);
  if (!now.ok()) return {answer.status()};
  cache_->LearnJob(*now);
  if (conflict) return {absl::OkStatus(), false};
  return {answer.status()};
}

void JobReconciler::Tell(const JobView& view, EventType type, absl::string_view reason,
                         absl::string_view message) const {
  ObjectReference job;
  job.api_version = adapter_->kind().api_version;
  job.kind = adapter_->kind().kind;
  job.key = view.job_key;
  job.uid = view.job_uid;
  job.version = view.job == nullptr ? 0 : VersionOf(*view.job);
  record_(job, type, reason, message);
}

JobReconciler::Done JobReconciler::Complain(const JobView& view, absl::string_view reason, absl::string_view message) {
  const std::string text = absl::StrCat(view.job_uid, " ", reason, " ", message);
  bool is_new = false;
  {
    MutexLock lock(&mu_);
    std::string& told = memory_[view.job_key].told;
    is_new = told != text;
    told = text;
  }
  if (is_new) Tell(view, EventType::kWarning, reason, message);
  return {absl::OkStatus(), true, false};
}

void JobReconciler::ForgetJob(const ObjectKey& job) {
  MutexLock lock(&mu_);
  memory_.erase(job);
}

void JobReconciler::Count(Step step, const Done& done) {
  MutexLock lock(&mu_);
  StepCount& count = counts_[step];
  ++(!done.status.ok() ? count.failed : done.made ? count.made : count.conflicts);
}

}  // namespace kq::controllers
