#ifndef SERVICES_SCHEDULER_RUNTIME_CLUSTER_WATCH_H_
#define SERVICES_SCHEDULER_RUNTIME_CLUSTER_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/reflector.h"
#include "services/scheduler/core/event.h"
#include "services/scheduler/runtime/event_mailbox.h"

namespace kq::scheduler {

struct ClusterWatchOptions {
  int page_size = 500;
  Backoff backoff{absl::Milliseconds(200), absl::Seconds(15), 0.2};
  uint64_t seed = 0;  // of the backoff's jitter; 0: by chance
};

// Keeps the core's mailbox up to date with the cluster: QueueUnits and
// ElasticQuotas everywhere, Queues in the namespace koord-queue. Objects become
// plain values on the way; one that cannot be understood is posted with `invalid`
// set. Each kind has a thread and goes its own way: one whose CRD is not installed
// is asked for again with a backoff, and Health says which it is.
//
// Step in one thread for each kind, the rest from any.
class ClusterWatch {
 public:
  // All must outlive the watch.
  ClusterWatch(ClusterWatchOptions options, KubeApi* api, EventMailbox* mailbox, const Clock* clock);
  // As Stop.
  ~ClusterWatch();

  // One step of the reflector of a kind, for a simulation. Returns how long to
  // wait before the next.
  absl::Duration Step(ListedKind kind, absl::Duration timeout);

  // A thread for each kind, until Stop.
  void Start();
  void Stop();

  // Every kind has been listed once.
  bool Synced() const;

  struct KindHealth {
    std::string resource;  // "queueunits.scheduling.x-k8s.io"
    bool synced = false;
    absl::Status status;  // why listing or watching does not work just now
    Reflector::Counts counts;
    int64_t broken = 0;  // objects that could not even be named
  };
  std::vector<KindHealth> Health() const;
  // OK, or what is waited for: "waiting for the API server: ...", "waiting for CRD ...: ...".
  absl::Status Ready() const;

 private:
  class Sink;
  struct Kind {
    ListedKind listed;
    KubeResource resource;
    std::unique_ptr<Sink> sink;
    std::unique_ptr<Reflector> reflector;
  };

  std::vector<Kind> kinds_;
  std::vector<std::thread> threads_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_CLUSTER_WATCH_H_
