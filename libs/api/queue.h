#ifndef LIBS_API_QUEUE_H_
#define LIBS_API_QUEUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/api/object_key.h"

namespace kq {

// All Queues that count live in this namespace.
inline constexpr absl::string_view kQueueNamespace = "koord-queue";

// A Queue (scheduling.x-k8s.io/v1alpha1) as a plain value.
struct Queue {
  ObjectKey key;
  std::string uid;
  uint64_t version = 0;
  absl::Time created = absl::InfinitePast();

  // spec.queuePolicy as written: "Priority", "Block"; others are for later versions.
  std::string policy;
  int32_t priority = 0;  // order between queues, larger first
  std::string priority_class;
  std::vector<std::string> admission_checks;  // names
  // Made by us (label create-by-koordqueue=true): may be deleted by us.
  bool created_by_us = false;
  // Annotation koord-queue/queue-policy: the policy label of the quota that was
  // last carried over to spec.queuePolicy. Tells a change of the label from a
  // hand edit of the Queue.
  std::string carried_policy;
  // Annotation koord-queue/queue-items-refresh-interval as written; empty: the default.
  std::string items_refresh_interval;
  // Annotation koord-queue/disable-show-queue-items, with any value: status.queueItemDetails stays as it is.
  bool items_hidden = false;
  // Annotations koord-queue/wait-for-pods-running and koord-queue/max-depth as written; empty: not there. They have
  // no effect yet.
  std::string wait_for_pods_running;
  std::string max_depth;
  std::string invalid;  // as QueueUnit::invalid

  friend bool operator==(const Queue&, const Queue&) = default;
};

}  // namespace kq

#endif  // LIBS_API_QUEUE_H_
