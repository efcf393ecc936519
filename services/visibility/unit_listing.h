#ifndef SERVICES_VISIBILITY_UNIT_LISTING_H_
#define SERVICES_VISIBILITY_UNIT_LISTING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/scheduler_client/picture.h"
#include "proto/queueing/v1/snapshot.pb.h"
#include "services/visibility/unit_query.h"

namespace kq::visibility {

// One page of a list. The units are those of `picture`, which it keeps alive.
struct UnitPage {
  std::shared_ptr<const Picture> picture;
  std::vector<const queueing::v1::UnitSnapshot*> units;
  int64_t total = 0;      // after filtering, before offset and limit
  int64_t remaining = 0;  // after the last one of the page
};

// Who waits in a queue, in the order in which they would be tried; nullopt if there
// is no such queue.
std::optional<UnitPage> UnitsOfQueue(std::shared_ptr<const Picture> picture, const std::string& queue,
                                     const UnitQuery& query);

// The unfinished units of a quota (its bare name): the waiting ones first, in the
// order of their queue, then those in no queue, then those that hold quota, both by
// key, as the scheduler lists them itself. Empty if there is no such quota.
UnitPage UnitsOfQuota(std::shared_ptr<const Picture> picture, const std::string& quota, const UnitQuery& query);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_UNIT_LISTING_H_
