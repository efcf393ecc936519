#include "services/visibility/status_body.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kq::visibility {
namespace {

int64_t WholeSeconds(absl::Duration duration) { return absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))); }

}  // namespace

HttpResponse EmptyJsonAnswer(absl::string_view content_type) {
  HttpResponse response;
  response.headers.Add("Content-Type", content_type);
  response.headers.Add("Cache-Control", "no-cache, private");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

HttpResponse JsonAnswer(const Json& body, absl::string_view content_type) {
  HttpResponse response = EmptyJsonAnswer(content_type);
  response.body = JsonText(body);
  response.body += '\n';
  return response;
}

Json StatusObject(int code, absl::string_view reason, absl::string_view message, const StatusDetails& details) {
  JsonObject status = {{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"metadata", JsonObject()},
                       {"status", "Failure"},
                       {"message", std::string(message)},
                       {"reason", std::string(reason)}};
  JsonObject about;
  if (!details.name.empty()) about["name"] = details.name;
  if (!details.group.empty()) about["group"] = details.group;
  if (!details.kind.empty()) about["kind"] = details.kind;
  if (details.retry_after > absl::ZeroDuration()) about["retryAfterSeconds"] = WholeSeconds(details.retry_after);
  if (!about.empty()) status["details"] = std::move(about);
  status["code"] = code;
  return status;
}

HttpResponse StatusAnswer(int code, absl::string_view reason, absl::string_view message, const StatusDetails& details) {
  HttpResponse response = JsonAnswer(StatusObject(code, reason, message, details));
  response.code = code;
  if (details.retry_after > absl::ZeroDuration())
    response.headers.Add("Retry-After", absl::StrCat(WholeSeconds(details.retry_after)));
  return response;
}

}  // namespace kq::visibility
