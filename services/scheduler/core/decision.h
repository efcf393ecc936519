#ifndef SERVICES_SCHEDULER_CORE_DECISION_H_
#define SERVICES_SCHEDULER_CORE_DECISION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"

namespace kq::scheduler {

// Why a unit may not run now. Being refused is an answer, not an error.
enum class Refusal {
  kNone,
  kNoQuotaLabel,        // the unit names no quota
  kQueueNotFound,       // its queue does not exist
  kQuotaNotFound,       // its quota, or an ancestor of it, does not exist
  kQuotaInvalid,        // its quota, or an ancestor of it, could not be understood
  kQuotaCycle,          // the quota's ancestors lead back to it
  kQuotaEmpty,          // the quota has an empty max
  kOverMax,             // more than max at some level
  kGuaranteedToOthers,  // the rest is kept for siblings that do not lend
  kBehindHead,          // Block: a unit before it in the same quota waits
  kUnitInvalid,         // the unit could not be understood
  kInactive,            // spec.active is false
  kPolicyUnsupported,   // the queue's policy is not known
  kChecksUnsupported,   // the queue names admission checks
  kWriteFailed,         // admitted, but the write did not go through; rests
};

absl::string_view RefusalName(Refusal refusal);  // "OverMax"

// A refusal with the numbers that led to it.
struct RefusalDetail {
  Refusal refusal = Refusal::kNone;
  std::string quota;                                                       // level at which it was refused (bare name)
  std::string resource;                                                    // which one is short
  int64_t requested = 0, used = 0, limit = 0, reserved = 0, short_by = 0;  // amounts of `resource`
  std::string text;  // of what the numbers cannot say: a field path, a list of quotas, the head's key

  // Whether a reader of the unit must be told anew: numbers do not count.
  bool SameReason(const RefusalDetail& other) const {
    return refusal == other.refusal && quota == other.quota && resource == other.resource;
  }
  friend bool operator==(const RefusalDetail&, const RefusalDetail&) = default;
};

// The sentence for status.message and events. Begins as the original's
// ("limited quotaName:team-a, limited resKey:cpu,") where it has one.
std::string RefusalSentence(const RefusalDetail& detail);
// Its beginning, which depends on the reason alone and not on the numbers: an
// object whose message begins so has been told already.
std::string RefusalPrefix(const RefusalDetail& detail);

// A policy's answer.
struct Verdict {
  RefusalDetail refusal;  // kNone: may run

  bool ok() const { return refusal.refusal == Refusal::kNone; }
};

// Decisions are imperatives; the shell carries them out.

// Binding: admit the unit. Written only if `version` still holds.
struct Dequeue {
  ObjectKey unit;
  std::string uid;
  uint64_t version = 0;
  std::vector<Admission> admissions;  // the whole list after it
  std::vector<Condition> conditions;  // likewise
  int64_t attempts = 0;
  absl::Time now;

  friend bool operator==(const Dequeue&, const Dequeue&) = default;
};

// Whether the unit, as it is on the server after a Dequeue, was admitted: it holds its
// quota and lacks nothing. One that grew held a part of it before.
bool IsAdmittedWhole(const QueueUnit& unit);

// Advisory: tell the unit why it waits (status.message, attempts, event FailedScheduling).
struct Requeue {
  ObjectKey unit;
  std::string uid;
  uint64_t version = 0;
  RefusalDetail why;
  std::vector<Condition> conditions;  // whole list; empty: leave them
  int64_t attempts = 0;
  absl::Time now;
  // Whether an event goes with it: not after a restart that finds the same reason on the object.
  bool with_event = true;

  friend bool operator==(const Requeue&, const Requeue&) = default;
};

// Binding by name: keep the Queues in step with the quotas.
struct CreateQueue {
  Queue queue;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::string parent_quota;

  friend bool operator==(const CreateQueue&, const CreateQueue&) = default;
};
// The quota's policy label changed: sets spec.queuePolicy and the annotation that
// remembers the label; everything else is left as it is.
struct UpdateQueue {
  ObjectKey queue;
  std::string uid;
  uint64_t version = 0;
  std::string policy;
  std::string carried_policy;  // the quota's label, for the Queue's annotation of that name

  friend bool operator==(const UpdateQueue&, const UpdateQueue&) = default;
};
struct DeleteQueue {
  ObjectKey queue;
  std::string uid;
  uint64_t version = 0;

  friend bool operator==(const DeleteQueue&, const DeleteQueue&) = default;
};

// An event on an object, without a change of it.
struct Notify {
  enum class Kind { kUnit, kQueue, kQuota };
  Kind kind = Kind::kUnit;
  ObjectKey object;
  std::string uid;
  bool warning = true;
  std::string reason;  // "QueueNotFound"
  std::string message;

  friend bool operator==(const Notify&, const Notify&) = default;
};

using Decision = std::variant<Dequeue, Requeue, CreateQueue, UpdateQueue, DeleteQueue, Notify>;

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_DECISION_H_
