#ifndef SERVICES_VISIBILITY_UNIT_RENDERING_H_
#define SERVICES_VISIBILITY_UNIT_RENDERING_H_

#include <string>

#include "absl/time/time.h"
#include "libs/common/json.h"
#include "libs/http/http.h"
#include "proto/queueing/v1/snapshot.pb.h"
#include "services/visibility/unit_listing.h"

namespace kq::visibility {

// One item of a QueueUnitsSummary: the documented fields in the documented order,
// then ours.
Json UnitItem(const queueing::v1::UnitSnapshot& unit);

// The QueueUnitsSummary of a page. A long one is made and sent piece by piece, so
// that no answer is held in memory as a whole.
HttpResponse SummaryAnswer(UnitPage page);

// The same page as a meta/v1 Table, for clients that ask for one. Ages are counted
// to `now`.
HttpResponse TableAnswer(UnitPage page, absl::Time now);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_UNIT_RENDERING_H_
