#include "services/scheduler/runtime/queue_items_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/time_format.h"
#include "services/scheduler/runtime/kinds.h"

namespace kq::scheduler {
namespace {

constexpr char kDetails[] = "queueItemDetails";
constexpr char kCount[] = "queueItemCount";
// While nobody is known to look at, and so that a change of an interval is seen.
constexpr absl::Duration kLook = absl::Seconds(1);

// As it is to be on the object.
Json StatusOf(const QueueSnapshot& queue, int64_t limit) {
  JsonArray items;
  for (const UnitSnapshot& waiting : queue.waiting) {
    if (static_cast<int64_t>(items.size()) >= limit) break;
    const QueueUnit& unit = *waiting.unit;
    items.push_back({{"name", unit.key.name},
                     {"namespace", unit.key.ns},
                     {"priority", unit.priority},
                     {"position", waiting.position}});
  }
  return JsonObject{{kDetails, {{"active", std::move(items)}}}, {kCount, static_cast<int64_t>(queue.waiting.size())}};
}

// The same two fields of an object as it was read. One that was never written says
// that nobody waits.
Json StatusOn(const Json& object) {
  JsonObject status{{kDetails, {{"active", JsonArray()}}}, {kCount, 0}};
  if (const Json* details = Find(object, {"status", kDetails}); details != nullptr) status[kDetails] = *details;
  if (const Json* count = Find(object, {"status", kCount}); count != nullptr) status[kCount] = *count;
  return status;
}

}  // namespace

QueueItemsWriter::QueueItemsWriter(QueueItemsOptions options, QueueItemsParts parts)
    : options_(options), parts_(std::move(parts)) {}

absl::Duration QueueItemsWriter::Step() {
  const std::shared_ptr<const Snapshot> snapshot = parts_.picture();
  if (snapshot == nullptr) {
    // Another may lead meanwhile, and write.
    shown_.clear();
    return kLook;
  }
  const absl::Time now = parts_.clock->TimeNow();
  FollowQueues(*snapshot, now);
  absl::Duration next = kLook;
  int64_t cut = 0;
  for (const std::shared_ptr<const QueueSnapshot>& queue : snapshot->queues) {
    Shown& shown = shown_[queue->queue.key.name];
    if (shown.due <= now) {
      if (!queue->queue.items_hidden) Refresh(queue, &shown);
      shown.due = now + shown.interval;
    }
    cut += shown.cut ? 1 : 0;
    next = std::min(next, shown.due - now);
  }
  MutexLock lock(&mu_);
  totals_.cut = cut;
  return next;
}

void QueueItemsWriter::FollowQueues(const Snapshot& snapshot, absl::Time now) {
  std::map<std::string, Shown> kept;
  for (const std::shared_ptr<const QueueSnapshot>& queue : snapshot.queues) {
    const auto known = shown_.find(queue->queue.key.name);
    Shown shown;
    if (known != shown_.end() && known->second.uid == queue->queue.uid) {
      shown = std::move(known->second);
    } else {
      shown.uid = queue->queue.uid;
      shown.interval = options_.refresh_interval;
      shown.due = absl::InfiniteFuture();
    }
    const absl::Duration before = shown.interval;
    ReadInterval(queue->queue, &shown);
    if (shown.due == absl::InfiniteFuture()) {
      shown.due = now + shown.interval;
    } else {
      shown.due += shown.interval - before;
    }
    kept.emplace(queue->queue.key.name, std::move(shown));
  }
  shown_ = std::move(kept);
}

void QueueItemsWriter::ReadInterval(const Queue& queue, Shown* shown) {
  if (queue.items_refresh_interval == shown->interval_text) return;
  shown->interval_text = queue.items_refresh_interval;
  if (shown->interval_text.empty()) {
    shown->interval = options_.refresh_interval;
    return;
  }
  const absl::StatusOr<absl::Duration> interval = ParseDuration(shown->interval_text);
  if (interval.ok() && *interval > absl::ZeroDuration()) {
    shown->interval = std::max(*interval, options_.shortest_interval);
    return;
  }
  parts_.events->Record({kQueueingApiVersion, "Queue", queue.key, queue.uid, queue.version}, EventType::kWarning,
                        "InvalidRefreshInterval",
                        absl::StrCat("annotation koord-queue/queue-items-refresh-interval: \"", shown->interval_text,
                                     "\" is not a duration above zero such as 30s; ",
                                     absl::FormatDuration(shown->interval), " stays in force"));
}

void QueueItemsWriter::Refresh(const std::shared_ptr<const QueueSnapshot>& queue, Shown* shown) {
  if (shown->picture == queue) return;
  const absl::Status status = Write(*queue, shown);
  if (status.ok()) {
    shown->picture = queue;
    return;
  }
  if (absl::IsNotFound(status)) return;  // gone; the picture will say so
  KQ_LOG(Warning, "Items of a queue not written", {{"queue", queue->queue.key.name}, {"err", status}});
  MutexLock lock(&mu_);
  ++totals_.failed;
}

absl::Status QueueItemsWriter::Write(const QueueSnapshot& queue, Shown* shown) {
  if (!shown->status.has_value()) {
    const absl::StatusOr<Json> object = parts_.api->Get(Queues(), queue.queue.key);
    if (!object.ok()) return object.status();
    shown->status = StatusOn(*object);
  }
  Json wanted = StatusOf(queue, options_.limit);
  shown->cut = static_cast<int64_t>(queue.waiting.size()) > options_.limit;
  if (wanted == *shown->status) return absl::OkStatus();
  const Json patch = JsonObject{{"metadata", {{"uid", queue.queue.uid}}}, {"status", wanted}};
  shown->status.reset();  // read again if the outcome is not known
  absl::Status status =
      parts_.api->Patch({Queues(), queue.queue.key, Subresource::kStatus, PatchType::kMerge, patch}).status();
  if (!status.ok()) return status;
  shown->status = std::move(wanted);
  MutexLock lock(&mu_);
  ++totals_.written;
  return absl::OkStatus();
}

void QueueItemsWriter::Run() {
  while (stop_.WaitFor(Step())) {
  }
}

void QueueItemsWriter::Stop() { stop_.Stop(); }

QueueItemsWriter::Totals QueueItemsWriter::Now() const {
  MutexLock lock(&mu_);
  return totals_;
}

}  // namespace kq::scheduler
