#ifndef SERVICES_SCHEDULER_RUNTIME_PROCESS_PARTS_METRICS_H_
#define SERVICES_SCHEDULER_RUNTIME_PROCESS_PARTS_METRICS_H_

#include "libs/common/metrics.h"
#include "libs/kube/events.h"
#include "libs/kube/write_queue.h"
#include "services/scheduler/runtime/cluster_watch.h"
#include "services/scheduler/runtime/decision_log.h"
#include "services/scheduler/runtime/event_mailbox.h"
#include "services/scheduler/runtime/queue_items_writer.h"
#include "services/scheduler/runtime/queue_writer.h"
#include "services/scheduler/runtime/scheduler_loop.h"
#include "services/scheduler/runtime/write_fence.h"

namespace kq::scheduler {

// The parts of the process whose totals are shown as koord_queue_* metrics, of
// every replica. Any may be null, as long as it does not exist.
struct ProcessParts {
  const EventMailbox* mailbox = nullptr;
  const SchedulerLoop* loop = nullptr;
  const ClusterWatch* watch = nullptr;
  const WriteQueue* writes = nullptr;
  const QueueWriter* queues = nullptr;
  const QueueItemsWriter* queue_items = nullptr;
  const WriteFence* fence = nullptr;
  const EventRecorder* events = nullptr;
  const DecisionLog* log = nullptr;
};

// Shows the parts' totals at each scrape.
void CollectParts(const ProcessParts& parts, MetricSink* sink);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_PROCESS_PARTS_METRICS_H_
