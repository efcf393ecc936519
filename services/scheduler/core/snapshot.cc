#include "services/scheduler/core/snapshot.h"

namespace kq::scheduler {

absl::string_view PlaceName(Place place) {
  switch (place) {
    case Place::kUnmapped:
      return "unmapped";
    case Place::kInvalid:
      return "invalid";
    case Place::kInactive:
      return "inactive";
    case Place::kReady:
      return "ready";
    case Place::kResting:
      return "resting";
    case Place::kParked:
      return "parked";
    case Place::kAssumed:
      return "assumed";
    case Place::kAdmitted:
      return "admitted";
    case Place::kDraining:
      return "draining";
    case Place::kFinished:
      return "finished";
  }
  return "";
}

}  // namespace kq::scheduler
