#ifndef SERVICES_SCHEDULER_CORE_EVENT_H_
#define SERVICES_SCHEDULER_CORE_EVENT_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "libs/api/object_key.h"
#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"

// Everything the core can be told. State changes in no other way.
namespace kq::scheduler {

struct UnitUpserted {
  QueueUnit unit;
};

// `version` is that of the removal: the deleted object's own last version, or the
// version of the list that no longer has it.
struct UnitRemoved {
  ObjectKey unit;
  std::string uid;
  uint64_t version = 0;
};

struct QueueUpserted {
  Queue queue;
};
struct QueueRemoved {
  ObjectKey queue;
  uint64_t version = 0;
};

struct QuotaUpserted {
  Quota quota;
};
struct QuotaRemoved {
  ObjectKey quota;
  uint64_t version = 0;
};

// The kinds that must be listed before anything is decided.
enum class ListedKind { kUnits, kQueues, kQuotas };
struct Listed {
  ListedKind kind = ListedKind::kUnits;
};

// This process leads from now on. `epoch` names the leadership.
struct LeadershipTaken {
  std::string epoch;
};

// The answer to the binding write that a decision caused: the unit as it now is
// on the server, by this write or not, or why nothing was written. `based_on` is
// the version the decision rested on.
struct WriteFinished {
  ObjectKey unit;
  std::string uid;
  uint64_t based_on = 0;
  absl::StatusOr<QueueUnit> result;
};

// The answer to CreateQueue, UpdateQueue or DeleteQueue. An error frees the queue
// to be tried again after a backoff.
struct QueueWriteFinished {
  std::string queue;
  absl::Status status;
};

// The answer to a Requeue: whether the object, as it now is or was, says why the
// unit waits. Not written: dropped, refused or in conflict with another's write.
struct TellFinished {
  ObjectKey unit;
  std::string uid;
  uint64_t based_on = 0;
  bool written = false;
};

using Event = std::variant<UnitUpserted, UnitRemoved, QueueUpserted, QueueRemoved, QuotaUpserted, QuotaRemoved, Listed,
                           LeadershipTaken, WriteFinished, QueueWriteFinished, TellFinished>;

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_EVENT_H_
