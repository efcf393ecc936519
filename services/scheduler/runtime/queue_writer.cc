#include "services/scheduler/runtime/queue_writer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/api/codec.h"
#include "libs/common/log.h"
#include "services/scheduler/runtime/kinds.h"

namespace kq::scheduler {
namespace {

// Remembers on the Queue which policy label of its quota was carried over.
constexpr char kPolicyAnnotation[] = "koord-queue/queue-policy";

struct NameOf {
  std::string operator()(const CreateQueue& c) const { return c.queue.key.name; }
  std::string operator()(const UpdateQueue& c) const { return c.queue.name; }
  std::string operator()(const DeleteQueue& c) const { return c.queue.name; }
};

struct VerbOf {
  absl::string_view operator()(const CreateQueue&) const { return "create"; }
  absl::string_view operator()(const UpdateQueue&) const { return "update"; }
  absl::string_view operator()(const DeleteQueue&) const { return "delete"; }
};

PatchRequest PolicyPatch(const UpdateQueue& update) {
  const Json carried = update.carried_policy.empty() ? Json(nullptr) : Json(update.carried_policy);
  return {Queues(), update.queue, Subresource::kNone, PatchType::kMerge,
          JsonObject{{"metadata",
                      {{"uid", update.uid},
                       {"resourceVersion", absl::StrCat(update.version)},
                       {"annotations", JsonObject{{kPolicyAnnotation, carried}}}}},
                     {"spec", {{"queuePolicy", update.policy}}}}};
}

}  // namespace

QueueWriter::QueueWriter(KubeApi* api, EventMailbox* mailbox, const Clock* clock)
    : api_(api), mailbox_(mailbox), clock_(clock) {}

void QueueWriter::Submit(Change change) {
  {
    MutexLock lock(&mu_);
    if (deadline_ == absl::InfiniteFuture()) {
      waiting_.push_back(std::move(change));
      arrived_.SignalAll();
      return;
    }
  }
  Answer(change, absl::CancelledError("shutting down"));
}

bool QueueWriter::Step(absl::Duration timeout) {
  Change change;
  bool late;
  {
    MutexLock lock(&mu_);
    if (waiting_.empty() && deadline_ == absl::InfiniteFuture() && timeout > absl::ZeroDuration()) {
      arrived_.WaitFor(&mu_, timeout);
    }
    if (waiting_.empty()) return false;
    change = std::move(waiting_.front());
    waiting_.pop_front();
    late = clock_->TimeNow() >= deadline_;
  }
  Answer(change, late ? absl::CancelledError("shutting down") : Write(change));
  return true;
}

void QueueWriter::Answer(const Change& change, const absl::Status& status) {
  const std::string name = std::visit(NameOf{}, change);
  const absl::string_view verb = std::visit(VerbOf{}, change);
  if (status.ok()) {
    KQ_VLOG(1, "Queue written", {{"queue", name}, {"verb", verb}});
  } else {
    KQ_LOG(Warning, "Queue not written", {{"queue", name}, {"verb", verb}, {"err", status}});
  }
  {
    MutexLock lock(&mu_);
    ++(status.ok() ? totals_.made : totals_.failed);
  }
  // An answer is always taken.
  if (!mailbox_->Post(QueueWriteFinished{name, status})) KQ_LOG(Error, "An answer was refused", {{"queue", name}});
}

absl::Status QueueWriter::Write(const Change& change) {
  if (const auto* create = std::get_if<CreateQueue>(&change)) {
    const Json object = QueueJson(create->queue, create->annotations, create->parent_quota);
    const absl::Status status = api_->Create(Queues(), create->queue.key.ns, object).status();
    return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
  }
  if (const auto* update = std::get_if<UpdateQueue>(&change)) return api_->Patch(PolicyPatch(*update)).status();
  const auto& remove = std::get<DeleteQueue>(change);
  const absl::Status status =
      api_->Delete({Queues(), remove.queue, remove.uid, remove.version, Propagation::kBackground});
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

void QueueWriter::Run() {
  while (true) {
    if (Step(absl::InfiniteDuration())) continue;
    MutexLock lock(&mu_);
    if (waiting_.empty() && deadline_ != absl::InfiniteFuture()) return;
  }
}

void QueueWriter::Drain(absl::Time deadline) {
  MutexLock lock(&mu_);
  deadline_ = deadline;
  arrived_.SignalAll();
}

QueueWriter::Totals QueueWriter::Now() const {
  MutexLock lock(&mu_);
  Totals totals = totals_;
  totals.waiting = static_cast<int64_t>(waiting_.size());
  return totals;
}

}  // namespace kq::scheduler
