#include "services/controllers/job_controller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "services/controllers/unit_spec.h"

namespace kq::controllers {
namespace {

constexpr absl::Duration kIdle = absl::Seconds(1);

KubeResource Pods() { return {"", "v1", "pods"}; }
KubeResource PriorityClasses() { return {"scheduling.k8s.io", "v1", "priorityclasses"}; }

ReflectorOptions Watching(const KubeResource& resource) {
  ReflectorOptions options;
  options.resource = resource;
  return options;
}

}  // namespace

JobController::JobController(JobControllerOptions options, std::unique_ptr<JobAdapter> adapter, KubeApi* api,
                             const Clock* clock, RecordEvent record)
    : options_(std::move(options)),
      adapter_(std::move(adapter)),
      api_(api),
      clock_(clock),
      queue_(options_.queue, clock),
      cache_(adapter_.get(), [this](const ObjectKey& job) { queue_.Add(job); }),
      reconciler_(options_.reconciler, {adapter_.get(), &cache_, api, clock, std::move(record)}) {
  AddReflector(ObjectCache::Kind::kPriorityClasses, Watching(PriorityClasses()));
  ReflectorOptions pods = Watching(Pods());
  pods.label_selector = adapter_->kind().pod_label_selector;
  pods.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  const std::vector<std::string> everywhere = {""};
  for (const std::string& ns : options_.namespaces.empty() ? everywhere : options_.namespaces) {
    for (auto& [kind, watching] :
         {std::pair(ObjectCache::Kind::kJobs, Watching(adapter_->kind().resource)),
          std::pair(ObjectCache::Kind::kUnits, Watching(UnitResource())), std::pair(ObjectCache::Kind::kPods, pods)}) {
      ReflectorOptions scoped = watching;
      scoped.ns = ns;
      AddReflector(kind, std::move(scoped));
    }
  }
}

JobController::~JobController() { Stop(clock_->TimeNow()); }

void JobController::AddReflector(ObjectCache::Kind kind, ReflectorOptions options) {
  ReflectorSink* const sink = cache_.AddFeed(kind, options.ns);
  reflectors_.push_back(std::make_unique<Reflector>(std::move(options), api_, clock_, sink));
}

void JobController::StartWatches() {
  for (const auto& reflector : reflectors_) {
    watchers_.emplace_back([watch = reflector.get()] { watch->Run(); });
  }
}

void JobController::StartWorkers() {
  NoteTurn();
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

void JobController::Work() {
  while (!queue_.Stopped()) {
    StepWork(kIdle);
    NoteTurn();
  }
}

void JobController::NoteTurn() { last_turn_nanos_ = absl::ToUnixNanos(clock_->TimeNow()); }

std::optional<absl::Time> JobController::LastTurn() const {
  const int64_t nanos = last_turn_nanos_;
  if (nanos == kNoTurn) return std::nullopt;
  return absl::FromUnixNanos(nanos);
}

void JobController::Stop(absl::Time deadline) {
  queue_.Stop();
  if (!queue_.WaitIdle(deadline)) KQ_LOG(Warning, "Stopped while a write was on its way");
  for (const auto& reflector : reflectors_) reflector->Stop();
  for (std::thread& thread : workers_) thread.join();
  for (std::thread& thread : watchers_) thread.join();
  workers_.clear();
  watchers_.clear();
}

bool JobController::Synced() const {
  return std::all_of(reflectors_.begin(), reflectors_.end(), [](const auto& watch) { return watch->Synced(); });
}

absl::Status JobController::Health() const {
  for (const auto& reflector : reflectors_) {
    if (absl::Status health = reflector->Health(); !health.ok()) return health;
  }
  return absl::OkStatus();
}

Reflector::Counts JobController::WatchTotals() const {
  Reflector::Counts sum;
  for (const auto& reflector : reflectors_) {
    const Reflector::Counts one = reflector->Totals();
    sum.lists += one.lists;
    sum.watches += one.watches;
    sum.events += one.events;
    sum.errors += one.errors;
  }
  return sum;
}

absl::Duration JobController::StepWatches() {
  absl::Duration longest = absl::ZeroDuration();
  for (const auto& reflector : reflectors_) longest = std::max(longest, reflector->Step(absl::ZeroDuration()));
  return longest;
}

bool JobController::StepWork(absl::Duration timeout) {
  const std::optional<ObjectKey> job = queue_.Take(timeout);
  if (!job.has_value()) return false;
  const absl::Time start = clock_->TimeNow();
  const JobReconciler::Outcome outcome = reconciler_.Reconcile(*job);
  if (outcome.status.ok()) {
    queue_.Forget(*job);
    if (outcome.again != absl::InfiniteDuration()) queue_.AddAfter(*job, outcome.again);
  } else {
    KQ_VLOG(1, "A job is tried again later", {{"job", job->ToString()}, {"err", outcome.status}});
    queue_.Retry(*job, RetryAfter(outcome.status).value_or(absl::ZeroDuration()));
  }
  queue_.Done(*job);
  if (options_.observe) options_.observe(outcome.status, clock_->TimeNow() - start);
  return true;
}

}  // namespace kq::controllers
