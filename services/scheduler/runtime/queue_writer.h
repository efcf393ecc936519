#ifndef SERVICES_SCHEDULER_RUNTIME_QUEUE_WRITER_H_
#define SERVICES_SCHEDULER_RUNTIME_QUEUE_WRITER_H_

#include <cstdint>
#include <deque>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/runtime/event_mailbox.h"

namespace kq::scheduler {

// Creates, changes and deletes Queues as the core decided, in the order of its
// decisions, and answers each with one QueueWriteFinished. Nothing is tried twice here: the
// core asks again after its backoff. A Queue to be created that is there already
// and one to be deleted that is gone are as wanted: OK. Updates and deletions
// rest on the version that the decision saw.
//
// The core has at most one write of a queue on its way, so the waiting ones are
// bounded by the number of queues. Thread-safe.
class QueueWriter {
 public:
  using Change = std::variant<CreateQueue, UpdateQueue, DeleteQueue>;

  // All must outlive the writer. `api` refuses writes of those who do not lead.
  QueueWriter(KubeApi* api, EventMailbox* mailbox, const Clock* clock);

  void Submit(Change change);

  // Makes one write, waiting up to `timeout` for one; false if there was none.
  bool Step(absl::Duration timeout);
  // Calls Step until Drain. For one thread or a few: the core has at most one write of
  // a Queue on its way, so none overtakes another of the same Queue.
  void Run();
  // What waits is made until `deadline`, then answered with kCancelled; Run returns.
  void Drain(absl::Time deadline);

  struct Totals {
    int64_t waiting = 0, made = 0, failed = 0;
  };
  Totals Now() const;

 private:
  absl::Status Write(const Change& change);
  void Answer(const Change& change, const absl::Status& status);

  KubeApi* const api_;
  EventMailbox* const mailbox_;
  const Clock* const clock_;
  mutable Mutex mu_;
  CondVar arrived_;
  std::deque<Change> waiting_ ABSL_GUARDED_BY(mu_);
  absl::Time deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();  // earlier: draining
  Totals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_QUEUE_WRITER_H_
