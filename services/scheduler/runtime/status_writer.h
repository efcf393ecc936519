#ifndef SERVICES_SCHEDULER_RUNTIME_STATUS_WRITER_H_
#define SERVICES_SCHEDULER_RUNTIME_STATUS_WRITER_H_

#include <functional>
#include <memory>

#include "libs/kube/events.h"
#include "libs/kube/write_queue.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/runtime/event_mailbox.h"
#include "services/scheduler/runtime/queue_writer.h"
#include "services/scheduler/runtime/turn.h"

namespace kq::scheduler {

// What a StatusWriter works with; all must outlive it and the write queue's
// threads.
struct StatusWriterParts {
  WriteQueue* writes = nullptr;
  QueueWriter* queues = nullptr;
  EventRecorder* events = nullptr;
  EventMailbox* mailbox = nullptr;
  // Whether this process may write; those who may not say nothing either.
  std::function<bool()> may_write;
  // Whether conditions are written (feature gate QueueUnitConditions).
  bool with_conditions = true;
};

// Carries decisions out:
//
//   Dequeue       binding status patch: phase, admissions, conditions, message; answered
//                 with one WriteFinished. Event Scheduled once it is confirmed
//   Requeue       advisory status patch: message, attempts, conditions. Event FailedScheduling
//   ...Queue      QueueWriter, answered with one QueueWriteFinished
//   Notify        an event
//
// Submit hands over and returns. Thread-safe.
class StatusWriter : public DecisionSink {
 public:
  explicit StatusWriter(StatusWriterParts parts);

  void Submit(const Decision& decision) override;

 private:
  void Admit(const Dequeue& dequeue);
  void Tell(const Requeue& requeue);
  void Say(const Notify& notify);

  // Shared with the writes on their way.
  const std::shared_ptr<const StatusWriterParts> parts_;
};

// The status patches, without metadata. Pure.
enum class WithConditions { kYes, kNo };
Json PatchFor(const Dequeue& dequeue, WithConditions with);
Json PatchFor(const Requeue& requeue, WithConditions with);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_STATUS_WRITER_H_
