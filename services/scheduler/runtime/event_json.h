#ifndef SERVICES_SCHEDULER_RUNTIME_EVENT_JSON_H_
#define SERVICES_SCHEDULER_RUNTIME_EVENT_JSON_H_

#include "absl/status/statusor.h"
#include "libs/common/json.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/event.h"

// Events and decisions as JSON, for the decision log:
//
//   {"type":"UnitUpserted","unit":{...}}
//   {"type":"Dequeue","ns":"default","name":"a","uid":"...","version":12,...}
//
// An event comes back exactly. A decision is only written: who replays a log
// computes it anew and compares the texts.
namespace kq::scheduler {

JsonObject EncodeEvent(const Event& event);
// kInvalidArgument with the field path.
absl::StatusOr<Event> DecodeEvent(const Json& value);

JsonObject EncodeDecision(const Decision& decision);
// "Dequeue", "Requeue", ...
absl::string_view DecisionKind(const Decision& decision);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_EVENT_JSON_H_
