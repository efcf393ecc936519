#include "services/scheduler/runtime/turn_log.h"

#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_join.h"
#include "libs/common/log.h"
#include "services/scheduler/core/queue_policy.h"

namespace kq::scheduler {
namespace {

// Why the unit is not assumed any more.
std::string Reason(const WriteFinished& finished) {
  if (!finished.result.ok()) return finished.result.status().ToString();
  if (finished.result->uid != finished.uid) return "another unit has its name now";
  return HoldsQuota(finished.result->phase) ? "the admission is written" : "the unit changed meanwhile";
}

// Nothing that is said of a Queue differs.
bool SameToReaders(const Queue& a, const Queue& b) {
  const auto told = [](const Queue& queue) {
    return std::tie(queue.uid, queue.policy, queue.priority, queue.wait_for_pods_running, queue.max_depth,
                    queue.admission_checks);
  };
  return told(a) == told(b);
}

void LogDecision(const Decision& decision) {
  if (const auto* dequeue = std::get_if<Dequeue>(&decision)) {
    KQ_VLOG(2, "Unit assumed",
            {{"unit", dequeue->unit.ToString()}, {"version", dequeue->version}, {"attempts", dequeue->attempts}});
  } else if (const auto* requeue = std::get_if<Requeue>(&decision)) {
    KQ_VLOG(3, "Unit refused",
            {{"unit", requeue->unit.ToString()},
             {"refusal", RefusalName(requeue->why.refusal)},
             {"quota", requeue->why.quota},
             {"resource", requeue->why.resource},
             {"short_by", requeue->why.short_by}});
  }
}

}  // namespace

void TurnLog::Record(const Turn& turn) {
  if (!LogVerbosityAtLeast(1)) return;
  for (const Event& event : *turn.events) {
    if (const auto* queue = std::get_if<QueueUpserted>(&event)) {
      OnQueue(queue->queue);
    } else if (const auto* removed = std::get_if<QueueRemoved>(&event)) {
      OnQueueRemoved(removed->queue.name);
    } else if (const auto* finished = std::get_if<WriteFinished>(&event)) {
      KQ_VLOG(2, "Unit no longer assumed", {{"unit", finished->unit.ToString()}, {"reason", Reason(*finished)}});
    }
  }
  if (turn.decisions == nullptr || !LogVerbosityAtLeast(2)) return;
  for (const Decision& decision : *turn.decisions) LogDecision(decision);
}

void TurnLog::OnQueue(const Queue& queue) {
  if (queue.key.ns != kQueueNamespace) return;
  const auto [known, is_new] = queues_.try_emplace(queue.key.name, Said{queue, ""});
  Said& said = known->second;
  const Queue before = std::exchange(said.queue, queue);
  if (!is_new && SameToReaders(before, queue)) return;
  const std::optional<QueuePolicy> policy = QueuePolicyFromName(queue.policy);
  if (policy.has_value()) said.policy = std::string(QueuePolicyName(*policy));
  KQ_VLOG(1, is_new ? "Queue added" : "Queue changed",
          {{"queue", queue.key.name},
           {"policy", said.policy},
           {"refused-policy", policy.has_value() ? "" : queue.policy},
           {"priority", queue.priority},
           {"wait-for-pods-running", queue.wait_for_pods_running},
           {"max-depth", queue.max_depth},
           {"admission_checks", absl::StrJoin(queue.admission_checks, ",")}});
}

void TurnLog::OnQueueRemoved(const std::string& name) {
  if (queues_.erase(name) > 0) KQ_VLOG(1, "Queue removed", {{"queue", name}});
}

}  // namespace kq::scheduler
