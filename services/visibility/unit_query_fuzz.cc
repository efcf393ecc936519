// Any bytes as the target of a request for units: no number from outside its
// range, no phase that there is not, and a refusal names its parameter in a Status
// of valid JSON.
//
//   bazel test --config=fuzz //services/visibility:unit_query_fuzz
//   bazel run --config=fuzz //services/visibility:unit_query_fuzz -- -max_total_time=60 DIR
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "libs/common/json.h"
#include "services/visibility/status_body.h"
#include "services/visibility/testing/pictures.h"
#include "services/visibility/unit_listing.h"
#include "services/visibility/unit_query.h"

namespace {

using kq::visibility::UnitPage;
using kq::visibility::UnitQuery;

void Demand(bool condition) {
  if (!condition) std::abort();
}

void CheckRefusal(const absl::Status& status) {
  bool named = false;
  for (const char* name : {"limit: ", "offset: ", "phase: ", "watch: ", "parameter \""}) {
    named = named || absl::StartsWith(status.message(), name);
  }
  Demand(named && status.message().size() < 512);
  const auto body = kq::ParseJson(kq::visibility::StatusAnswer(400, "BadRequest", status.message()).body);
  Demand(body.ok() && absl::StartsWith(kq::StringAt(*body, {"message"}), status.message().substr(0, 6)));
}

void CheckPage(const UnitPage& page, const UnitQuery& query) {
  const auto shown = static_cast<int64_t>(page.units.size());
  Demand(page.remaining >= 0 && page.total >= 0);
  Demand(query.limit == 0 ? page.remaining == 0 : shown <= query.limit);
  Demand(shown + page.remaining + std::min(query.offset, page.total) == page.total);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const auto* const picture = new std::shared_ptr<const kq::Picture>(kq::visibility::TeamPicture(5));
  const absl::StatusOr<UnitQuery> query = kq::visibility::ParseUnitQuery({reinterpret_cast<const char*>(bytes), size});
  if (!query.ok()) {
    CheckRefusal(query.status());
    return 0;
  }
  Demand(query->offset >= 0 && query->limit >= 0);
  CheckPage(*kq::visibility::UnitsOfQueue(*picture, "team-a", *query), *query);
  CheckPage(kq::visibility::UnitsOfQuota(*picture, "team-a", *query), *query);
  return 0;
}
