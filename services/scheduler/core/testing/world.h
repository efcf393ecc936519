#ifndef SERVICES_SCHEDULER_CORE_TESTING_WORLD_H_
#define SERVICES_SCHEDULER_CORE_TESTING_WORLD_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/core/testing/builders.h"
#include "services/scheduler/plugins/registry.h"

namespace kq::scheduler {

// A core with the default policies that has listed everything and leads, and a
// clock that the test moves. Decisions are told as short texts, so that a test
// reads as a story:
//
//   "dequeue a", "requeue b OverMax team-a cpu", "create queue team-a", "notify a QueueNotFound"
class CoreWorld {
 public:
  explicit CoreWorld(double oversell = 1.0, CoreOptions options = {}) {
    policies_ = *MakePolicies(DefaultPlugins(), oversell);
    policies_->Fill(&options);
    core_ = std::make_unique<Core>(std::move(options));
  }

  Core& core() { return *core_; }
  absl::Time now() const { return now_; }
  void Pass(absl::Duration time) { now_ += time; }

  void Lead() {
    for (const ListedKind kind : {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas}) Apply(Listed{kind});
    Apply(LeadershipTaken{"epoch-1"});
  }
  void Apply(const Event& event) { core_->Apply(event, now_); }
  void Add(const MakeUnit& unit) { Apply(UnitUpserted{unit.Obj()}); }
  void Add(const MakeQueue& queue) { Apply(QueueUpserted{queue.Obj()}); }
  void Add(const MakeQuota& quota) { Apply(QuotaUpserted{quota.Obj()}); }

  // Runs a cycle and tells what was decided. Every Requeue is answered at once: as
  // written, unless the test says otherwise.
  std::vector<std::string> Cycle() {
    last_ = core_->RunCycle(now_);
    std::vector<std::string> told;
    for (const Decision& decision : last_) {
      told.push_back(Tell(decision));
      const auto* requeue = std::get_if<Requeue>(&decision);
      if (requeue == nullptr || tells_ == Tells::kUnanswered) continue;
      Apply(TellFinished{requeue->unit, requeue->uid, requeue->version, tells_ == Tells::kWritten});
    }
    return told;
  }
  enum class Tells { kWritten, kLost, kUnanswered };
  void set_tells(Tells tells) { tells_ = tells; }
  const std::vector<Decision>& last() const { return last_; }

  // The server takes the write of a decision: the unit as it then is.
  QueueUnit Written(const Dequeue& dequeue, QueueUnit unit, uint64_t version) {
    unit.phase = Phase::kDequeued;
    unit.admissions = dequeue.admissions;
    unit.conditions = dequeue.conditions;
    unit.attempts = dequeue.attempts;
    unit.version = version;
    unit.last_allocate = unit.last_update = dequeue.now;
    return unit;
  }
  void Answer(const QueueUnit& before, absl::StatusOr<QueueUnit> result) {
    Apply(WriteFinished{before.key, before.uid, before.version, std::move(result)});
  }
  // The dequeue of `name` in the last cycle; the test fails by exception if there is none.
  Dequeue LastDequeue(const std::string& name) const {
    for (const Decision& decision : last_) {
      const auto* dequeue = std::get_if<Dequeue>(&decision);
      if (dequeue != nullptr && dequeue->unit.name == name) return *dequeue;
    }
    throw std::runtime_error("no dequeue of " + name);
  }

  // What is used of a quota, in cores.
  int64_t Used(const std::string& quota) {
    const std::shared_ptr<const Snapshot> snapshot = core_->TakeSnapshot(now_);
    for (const auto& picture : snapshot->quotas) {
      if (picture->quota.key.name == quota) return picture->used.At("cpu") / 1000;
    }
    return -1;
  }
  // "ready", "parked", ... or "gone".
  std::string PlaceOf(const std::string& name) {
    const std::shared_ptr<const Snapshot> snapshot = core_->TakeSnapshot(now_);
    std::vector<UnitSnapshot> all(*snapshot->unplaced);
    for (const auto& queue : snapshot->queues) all.insert(all.end(), queue->waiting.begin(), queue->waiting.end());
    for (const auto& quota : snapshot->quotas) all.insert(all.end(), quota->charged.begin(), quota->charged.end());
    for (const UnitSnapshot& unit : all) {
      if (unit.unit->key.name == name) return std::string(PlaceName(unit.place));
    }
    return "gone";
  }

 private:
  static std::string Tell(const Decision& decision) {
    struct Teller {
      std::string operator()(const Dequeue& d) const { return absl::StrCat("dequeue ", d.unit.name); }
      std::string operator()(const Requeue& d) const {
        std::string text = absl::StrCat("requeue ", d.unit.name, " ", RefusalName(d.why.refusal));
        for (const std::string& part : {d.why.quota, d.why.resource}) {
          if (!part.empty()) absl::StrAppend(&text, " ", part);
        }
        return text;
      }
      std::string operator()(const CreateQueue& d) const {
        return absl::StrCat("create queue ", d.queue.key.name, " ", d.queue.policy);
      }
      std::string operator()(const UpdateQueue& d) const {
        return absl::StrCat("update queue ", d.queue.name, " ", d.policy);
      }
      std::string operator()(const DeleteQueue& d) const { return absl::StrCat("delete queue ", d.queue.name); }
      std::string operator()(const Notify& d) const { return absl::StrCat("notify ", d.object.name, " ", d.reason); }
    };
    return std::visit(Teller{}, decision);
  }

  std::unique_ptr<Policies> policies_;
  std::unique_ptr<Core> core_;
  std::vector<Decision> last_;
  Tells tells_ = Tells::kWritten;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_TESTING_WORLD_H_
