#ifndef SERVICES_VISIBILITY_STATUS_BODY_H_
#define SERVICES_VISIBILITY_STATUS_BODY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/json.h"
#include "libs/http/http.h"

// Answers as the API machinery gives them: every error is a Status object
// (meta/v1), which kubectl and client libraries know how to show.
namespace kq::visibility {

// The object that an error is about.
struct StatusDetails {
  std::string name = {};
  std::string group = {};
  std::string kind = {};
  absl::Duration retry_after = {};  // zero: none; whole seconds, rounded up
};

// `reason` is the machine's word ("NotFound"), `message` the people's.
Json StatusObject(int code, absl::string_view reason, absl::string_view message, const StatusDetails& details = {});
// With Retry-After if the details name one.
HttpResponse StatusAnswer(int code, absl::string_view reason, absl::string_view message,
                          const StatusDetails& details = {});
HttpResponse JsonAnswer(const Json& body, absl::string_view content_type = "application/json");
// The headers alone, for a body that is yet to come.
HttpResponse EmptyJsonAnswer(absl::string_view content_type = "application/json");

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_STATUS_BODY_H_
