#ifndef SERVICES_VISIBILITY_UNIT_QUERY_H_
#define SERVICES_VISIBILITY_UNIT_QUERY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kq::visibility {

// The parameters of both lists of units.
struct UnitQuery {
  std::string phase;   // exact; empty: any
  std::string queue;   // exact; empty: any
  int64_t offset = 0;  // after filtering
  int64_t limit = 0;   // 0: everything
};

// From a request's target. kInvalidArgument names the parameter: a number that is
// none or is negative, a phase that does not exist, a name that is not known here or is
// given twice, a watch. What clients of the API machinery add to any request and changes
// no answer here (timeout, pretty, resourceVersion and the like) is left aside.
absl::StatusOr<UnitQuery> ParseUnitQuery(absl::string_view target);
// Whether ParseUnitQuery takes a parameter of this name, if its value is good.
bool IsKnownParameter(absl::string_view name);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_UNIT_QUERY_H_
