#ifndef SERVICES_DEBUG_API_VIEWS_H_
#define SERVICES_DEBUG_API_VIEWS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/common/json.h"
#include "libs/scheduler_client/picture.h"
#include "proto/queueing/v1/scheduler.pb.h"

// What the debug API shows of a picture. Pure functions.
//
// Keys are the original's, in its order; ours follow after them. Maps are in the
// order of their keys, amounts are numbers: cpu in milli, everything else in base units.
namespace kq::debug_api {

// The books by quota, as the documented /apis/v1/elasticquota: by bare name, or
// "namespace/name" for one that is not in force because an older one has its name.
// `Items` are the units that hold quota. {} if there is no quota.
Json ElasticQuotaView(const Picture& picture);

// By queue: its policy, its counts, and who waits in it, in order, why. Of each queue
// the first `limit` units are shown; NotShown counts the others.
Json QueueView(const Picture& picture, int64_t limit);

// By quota: who uses it, by namespace, and its units: those that hold quota first,
// then those that wait, in the order of their queue. `limit` as above.
Json UserQuotaView(const Picture& picture, int64_t limit);

// What only the leader can say of a unit; errors where it could not be asked.
struct LeaderAnswers {
  absl::StatusOr<queueing::v1::Explanation> explanation = absl::UnavailableError("the leader was not asked");
  absl::StatusOr<queueing::v1::DecisionsResponse> decisions = absl::UnavailableError("the leader was not asked");
};

// A unit of a picture, valid as long as that is.
struct FoundUnit {
  const queueing::v1::UnitSnapshot* unit = nullptr;  // null: it is finished, or not there at all
  std::string queue;                                 // that it waits in; empty if in none
};
FoundUnit FindUnit(const Picture& picture, absl::string_view ns, absl::string_view name);

// Everything about one unit. REQUIRES: it was found.
Json UnitView(const FoundUnit& found, const LeaderAnswers& answers);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_VIEWS_H_
