#ifndef SERVICES_SCHEDULER_SIM_PROCESS_H_
#define SERVICES_SCHEDULER_SIM_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libs/common/simulated_clock.h"
#include "libs/kube/events.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/write_queue.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/plugins/registry.h"
#include "services/scheduler/runtime/cluster_watch.h"
#include "services/scheduler/runtime/event_mailbox.h"
#include "services/scheduler/runtime/queue_writer.h"
#include "services/scheduler/runtime/scheduler_loop.h"
#include "services/scheduler/runtime/snapshot_publisher.h"
#include "services/scheduler/runtime/status_writer.h"

namespace kq::scheduler {

// One scheduler process of a simulated world: the real parts, driven step by step
// instead of by threads. Its death at any point is its destruction.
class Process : public DecisionSink, public TurnRecorder {
 public:
  // `api` and `clock` must outlive it. `epoch` names its leadership; it leads from
  // the start, because the lease has run out when another process begins.
  Process(Guards guards, const std::string& epoch, uint64_t seed, KubeApi* api, SimulatedClock* clock);
  ~Process() override;

  // One step of one of its threads each.
  void Watch(ListedKind kind);
  void WriteUnit();
  void WriteQueueObject();
  void Turn();
  void WriteEvent();

  // Whether anything is still to be written or was not taken in yet.
  bool Busy() const;

  Core& core() { return *core_; }
  // Everything that broke a promise so far; taken away.
  std::vector<std::string> TakeViolations();
  // A number that depends on every decision and their order.
  uint64_t digest() const { return digest_; }
  int64_t admitted() const { return admitted_; }

 private:
  void Submit(const Decision& decision) override;
  void Record(const kq::scheduler::Turn& turn) override;

  SimulatedClock* const clock_;
  std::unique_ptr<Policies> policies_;
  std::unique_ptr<Core> core_;
  EventMailbox mailbox_;
  SnapshotPublisher publisher_;
  WriteQueue writes_;
  QueueWriter queue_writes_;
  EventRecorder events_;
  StatusWriter status_writer_;
  ClusterWatch watch_;
  SchedulerLoop loop_;
  std::vector<std::string> violations_;
  uint64_t digest_ = 0;
  int64_t admitted_ = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_SIM_PROCESS_H_
