#ifndef CLI_KQCTL_VIEWS_H_
#define CLI_KQCTL_VIEWS_H_

#include <string>

#include "absl/time/time.h"
#include "cli/kqctl/table.h"
#include "proto/queueing/v1/scheduler.pb.h"

// What the server told, as tables and texts for people. Pure functions; what
// depends on the time takes `now`.
namespace kq::kqctl {

// Largest priority first, as they are tried.
Table QueuesTable(const queueing::v1::Snapshot& snapshot);

Table UnitsTable(const google::protobuf::RepeatedPtrField<queueing::v1::UnitSnapshot>& units, absl::Time now);

Table DecisionsTable(const queueing::v1::DecisionsResponse& response);

// One unit: its place, what it lacks at which quota, what it waits for.
std::string ExplanationText(const queueing::v1::Explanation& explanation, absl::Time now);

// Which picture, and how much is in it.
std::string SnapshotSummary(const queueing::v1::Snapshot& snapshot, absl::Time now);

// Why it waits, short: "team-a: 1 cpu short"; empty if it was not refused.
std::string ShortReason(const queueing::v1::UnitSnapshot& unit);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_VIEWS_H_
