#ifndef SERVICES_SCHEDULER_RUNTIME_QUEUE_ITEMS_WRITER_H_
#define SERVICES_SCHEDULER_RUNTIME_QUEUE_ITEMS_WRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"
#include "libs/common/stop_signal.h"
#include "libs/kube/events.h"
#include "libs/kube/kube_api.h"
#include "services/scheduler/core/snapshot.h"

namespace kq::scheduler {

struct QueueItemsOptions {
  // Of Queues without the annotation koord-queue/queue-items-refresh-interval.
  absl::Duration refresh_interval = absl::Seconds(15);
  // More often than so no Queue is refreshed, whatever its annotation says.
  absl::Duration shortest_interval = absl::Seconds(1);
  // So many units of a Queue are listed at most: an object must not grow without bound.
  int64_t limit = 500;
};

struct QueueItemsParts {
  KubeApi* api = nullptr;  // refuses writes of those who do not lead
  EventRecorder* events = nullptr;
  const Clock* clock = nullptr;
  // The newest picture; null while there is none or another leads.
  std::function<std::shared_ptr<const Snapshot>()> picture;
};

// Shows in Queue.status who waits and in which order, for those who look at
// objects: queueItemDetails is {"active": [{name, namespace, priority, position}]},
// and queueItemCount says how many wait, also where the list is cut. One write at a
// time; each Queue once per interval at most, and only if the list is another
// than the one that was read or written last. A Queue with the annotation koord-queue/disable-show-queue-items
// is left as it is. A failed write is made again when the Queue's next turn comes.
//
// An interval that is no duration is told once by the event InvalidRefreshInterval
// on the Queue; the one before it stays in force.
//
// Step does what is due, so that a test can drive it; Run calls it. Step and Run
// by one thread at a time, the rest from any.
class QueueItemsWriter {
 public:
  // What `parts` points to must outlive the writer.
  QueueItemsWriter(QueueItemsOptions options, QueueItemsParts parts);

  // Refreshes the Queues that are due. Returns when to call again.
  absl::Duration Step();
  // Until Stop. For a thread of its own.
  void Run();
  void Stop();

  struct Totals {
    int64_t written = 0, failed = 0;
    int64_t cut = 0;  // Queues whose list is not whole, now
  };
  Totals Now() const;

 private:
  // What is known of one Queue.
  struct Shown {
    std::string uid;
    std::string interval_text;  // the annotation, as last looked at
    absl::Duration interval;
    absl::Time due;
    std::shared_ptr<const QueueSnapshot> picture;  // the one that is on the object
    std::optional<Json> status;                    // the two fields on the object; nullopt: not read yet
    bool cut = false;
  };

  // Where a Queue is new or has come again, a new entry. Entries of Queues that are gone are removed.
  void FollowQueues(const Snapshot& snapshot, absl::Time now);
  void ReadInterval(const Queue& queue, Shown* shown);
  void Refresh(const std::shared_ptr<const QueueSnapshot>& queue, Shown* shown);
  absl::Status Write(const QueueSnapshot& queue, Shown* shown);

  const QueueItemsOptions options_;
  const QueueItemsParts parts_;
  std::map<std::string, Shown> shown_;  // by name; of the stepping thread

  StopSignal stop_;
  mutable Mutex mu_;
  Totals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_QUEUE_ITEMS_WRITER_H_
