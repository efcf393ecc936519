#ifndef SERVICES_DEBUG_API_REPLIES_H_
#define SERVICES_DEBUG_API_REPLIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/common/json.h"
#include "libs/http/http.h"

// What requests may ask for, and the form of the answers. Pure functions.
namespace kq::debug_api {

// Longer queries are 414.
inline constexpr size_t kMaxQueryBytes = 1024;

// The parameters of a query. kInvalidArgument, naming it: one that is not `known`,
// that is given twice, or whose percent-encoding is broken; kOutOfRange: the query
// is longer than kMaxQueryBytes.
using Parameters = std::map<std::string, std::string>;
absl::StatusOr<Parameters> ReadParameters(absl::string_view target, const std::vector<std::string>& known);

// A whole number from 1 to `highest`; `fallback` if it is not given.
absl::StatusOr<int64_t> NumberOf(const Parameters& parameters, const std::string& name, int64_t fallback,
                                 int64_t highest);

// Whether a text can be the name of an object or namespace: what else stands in a
// path (dots alone, slashes, controls) names nothing.
bool IsObjectName(absl::string_view text);

// 200, indented with tabs.
HttpResponse JsonReply(const Json& body);

// An error in the form of a Kubernetes Status; 503 and 429 with Retry-After.
HttpResponse ErrorReply(int code, absl::string_view message);
// The HTTP code that a status stands for: 400, 404, 414, 429, 503, else 502, for
// what others answered.
HttpResponse ErrorReply(const absl::Status& status);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_REPLIES_H_
