#ifndef SERVICES_SCHEDULER_RPC_DECISION_PROTO_H_
#define SERVICES_SCHEDULER_RPC_DECISION_PROTO_H_

#include <vector>

#include "absl/status/status.h"
#include "proto/queueing/v1/scheduler.pb.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/rpc/decision_source.h"

namespace kq::scheduler {

// A decision as a message; its number and time are the caller's to set.
queueing::v1::DecisionRecord ToProto(const Decision& decision);

// The decisions of `turns` that the request asks for, oldest first, and how many
// older ones are no longer kept. kInvalidArgument: a negative limit, or one of
// namespace and name without the other.
absl::Status SelectDecisions(const std::vector<DecidedTurn>& turns, const queueing::v1::DecisionsRequest& request,
                             queueing::v1::DecisionsResponse* out);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_DECISION_PROTO_H_
