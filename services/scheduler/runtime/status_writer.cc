#include "services/scheduler/runtime/status_writer.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "libs/api/codec.h"
#include "libs/common/log.h"
#include "services/scheduler/runtime/kinds.h"

namespace kq::scheduler {
namespace {

// Texts that operators and their scripts know from the original.
constexpr char kAdmittedMessage[] = "Dequeued because schedule successfully";
constexpr char kScheduledEvent[] = "dequeue success";

ObjectReference UnitReference(const ObjectKey& key, const std::string& uid, uint64_t version) {
  return {kQueueingApiVersion, "QueueUnit", key, uid, version};
}

ObjectReference ReferenceOf(const Notify& notify) {
  switch (notify.kind) {
    case Notify::Kind::kUnit:
      return UnitReference(notify.object, notify.uid, 0);
    case Notify::Kind::kQueue:
      return {kQueueingApiVersion, "Queue", notify.object, notify.uid, 0};
    case Notify::Kind::kQuota:
      return {kQuotaApiVersion, "ElasticQuota", notify.object, notify.uid, 0};
  }
  return {};
}

PatchRequest StatusPatch(const ObjectKey& unit, Json patch) {
  return {QueueUnits(), unit, Subresource::kStatus, PatchType::kMerge, std::move(patch)};
}

WithConditions Conditions(const StatusWriterParts& parts) {
  return parts.with_conditions ? WithConditions::kYes : WithConditions::kNo;
}

// What the core is told about its Dequeue.
absl::StatusOr<QueueUnit> ResultOf(const absl::StatusOr<Json>& answer) {
  if (!answer.ok()) return answer.status();
  return ParseQueueUnit(*answer);
}

// Tells the core and, when the admission is on the server, everybody else.
void Answered(const StatusWriterParts& parts, const Dequeue& dequeue, const absl::StatusOr<Json>& answer) {
  absl::StatusOr<QueueUnit> result = ResultOf(answer);
  if (result.ok() && result->uid == dequeue.uid && IsAdmittedWhole(*result)) {
    parts.events->Record(UnitReference(dequeue.unit, dequeue.uid, result->version), EventType::kNormal, "Scheduled",
                         kScheduledEvent);
  } else {
    const absl::Status why = result.ok() ? absl::AbortedError("the unit changed meanwhile") : result.status();
    // A Job that waits may be deleted at any time.
    const LogSeverity severity = absl::IsNotFound(why) ? LogSeverity::kInfo : LogSeverity::kWarning;
    WriteLog(severity, __FILE__, __LINE__, "Admission not written", {{"unit", dequeue.unit.ToString()}, {"err", why}});
  }
  // An answer is always taken.
  if (!parts.mailbox->Post(WriteFinished{dequeue.unit, dequeue.uid, dequeue.version, std::move(result)})) {
    KQ_LOG(Error, "An answer was refused", {{"unit", dequeue.unit.ToString()}});
  }
}

// Tells the core whether the object says why it waits.
void Told(const StatusWriterParts& parts, const Requeue& requeue, const absl::StatusOr<Json>& answer) {
  const bool written =
      answer.ok() && absl::StartsWith(StringAt(*answer, {"status", "message"}), RefusalPrefix(requeue.why));
  if (!parts.mailbox->Post(TellFinished{requeue.unit, requeue.uid, requeue.version, written})) {
    KQ_LOG(Error, "An answer was refused", {{"unit", requeue.unit.ToString()}});
  }
}

}  // namespace

Json PatchFor(const Dequeue& dequeue, WithConditions with) {
  UnitStatusChange change;
  change.phase = Phase::kDequeued;
  change.message = kAdmittedMessage;
  change.attempts = dequeue.attempts;
  change.last_update = dequeue.now;
  change.last_allocate = dequeue.now;
  change.admissions = dequeue.admissions;
  if (with == WithConditions::kYes) change.conditions = dequeue.conditions;
  return UnitStatusPatch(change);
}

Json PatchFor(const Requeue& requeue, WithConditions with) {
  UnitStatusChange change;
  change.message = RefusalSentence(requeue.why);
  change.attempts = requeue.attempts;
  change.last_update = requeue.now;
  if (with == WithConditions::kYes && !requeue.conditions.empty()) change.conditions = requeue.conditions;
  return UnitStatusPatch(change);
}

StatusWriter::StatusWriter(StatusWriterParts parts)
    : parts_(std::make_shared<const StatusWriterParts>(std::move(parts))) {}

void StatusWriter::Submit(const Decision& decision) {
  if (const auto* dequeue = std::get_if<Dequeue>(&decision)) return Admit(*dequeue);
  if (const auto* requeue = std::get_if<Requeue>(&decision)) return Tell(*requeue);
  if (const auto* create = std::get_if<CreateQueue>(&decision)) return parts_->queues->Submit(*create);
  if (const auto* update = std::get_if<UpdateQueue>(&decision)) return parts_->queues->Submit(*update);
  if (const auto* remove = std::get_if<DeleteQueue>(&decision)) return parts_->queues->Submit(*remove);
  Say(std::get<Notify>(decision));
}

void StatusWriter::Admit(const Dequeue& dequeue) {
  Write write;
  write.kind = Write::Kind::kBinding;
  write.patch = StatusPatch(dequeue.unit, PatchFor(dequeue, Conditions(*parts_)));
  write.uid = dequeue.uid;
  write.based_on = dequeue.version;
  write.done = [parts = parts_, dequeue](const absl::StatusOr<Json>& answer) { Answered(*parts, dequeue, answer); };
  parts_->writes->Submit(std::move(write));
}

void StatusWriter::Tell(const Requeue& requeue) {
  if (!parts_->may_write()) return Told(*parts_, requeue, absl::CancelledError("does not lead"));
  Write write;
  write.kind = Write::Kind::kAdvisory;
  write.patch = StatusPatch(requeue.unit, PatchFor(requeue, Conditions(*parts_)));
  write.uid = requeue.uid;
  write.based_on = requeue.version;
  write.done = [parts = parts_, requeue](const absl::StatusOr<Json>& answer) { Told(*parts, requeue, answer); };
  parts_->writes->Submit(std::move(write));
  if (!requeue.with_event) return;
  parts_->events->Record(UnitReference(requeue.unit, requeue.uid, requeue.version), EventType::kWarning,
                         "FailedScheduling", RefusalSentence(requeue.why));
}

void StatusWriter::Say(const Notify& notify) {
  if (!parts_->may_write()) return;
  parts_->events->Record(ReferenceOf(notify), notify.warning ? EventType::kWarning : EventType::kNormal, notify.reason,
                         notify.message);
}

}  // namespace kq::scheduler
