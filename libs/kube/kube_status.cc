#include "libs/kube/kube_status.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/kube/kube_api.h"

namespace kq {
namespace {

constexpr absl::Duration kLongestRetryAfter = absl::Hours(1);
constexpr size_t kQuotedBytes = 300;
constexpr size_t kCauseLimit = 20;

// A refusal, from whichever of answer and watch event it came.
struct Refusal {
  CallKind kind = CallKind::kRead;
  int code = 0;
  std::string reason;
  std::string message;
  bool of_uid = false;  // among its causes is one about metadata.uid
};

// 503 answers that the API server gives before it looks at the request.
bool PromisesNothingWasDone(const Refusal& refusal) {
  if (refusal.code != 503) return false;
  for (const absl::string_view text : {
           "before all known http paths have been installed",
           "not ready",
           "not yet ready",
           "shutting down",
           "too many requests",
           "try again later",
       }) {
    if (absl::StrContains(absl::AsciiStrToLower(refusal.message), text)) return true;
  }
  return false;
}

absl::StatusCode CodeOfConflict(const Refusal& refusal) {
  if (refusal.reason == "AlreadyExists") return absl::StatusCode::kAlreadyExists;
  if (refusal.reason == "Conflict") return absl::StatusCode::kAborted;
  return refusal.kind == CallKind::kCreate ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kAborted;
}

absl::StatusCode CodeOf(const Refusal& refusal) {
  if (refusal.code == 410 || refusal.reason == "Expired" || refusal.reason == "Gone") {
    return absl::StatusCode::kOutOfRange;
  }
  switch (refusal.code) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return CodeOfConflict(refusal);
    case 422:
      return refusal.of_uid ? absl::StatusCode::kAborted : absl::StatusCode::kInvalidArgument;
    case 429:
      return absl::StatusCode::kUnavailable;
    default:
      break;
  }
  // Refused before anything was done, though by a 500.
  if (absl::StrContains(refusal.message, "resourceVersion should not be set on objects to be created")) {
    return absl::StatusCode::kInvalidArgument;
  }
  const bool outcome_unknown = refusal.code == 408 || refusal.code >= 500;
  if (!outcome_unknown) return absl::StatusCode::kInvalidArgument;
  if (refusal.kind == CallKind::kRead || PromisesNothingWasDone(refusal)) return absl::StatusCode::kUnavailable;
  return absl::StatusCode::kUnknown;
}

// Reads details.causes: what the message does not say already is added to it.
void ReadCauses(const Json& body, Refusal* refusal) {
  const Json* const causes = Find(body, {"details", "causes"});
  if (causes == nullptr || !causes->is_array()) return;
  size_t read = 0;
  for (const Json& cause : causes->get_array()) {
    const std::string field = StringAt(cause, {"field"});
    if (field.empty()) continue;
    refusal->of_uid = refusal->of_uid || field == "metadata.uid";
    if (absl::StrContains(refusal->message, field)) continue;
    if (++read > kCauseLimit) return;
    absl::StrAppend(&refusal->message, "; ", field, ": ", StringAt(cause, {"message"}));
  }
}

// A body that is no Status: its beginning, on one line.
std::string Quoted(absl::string_view what, int code, absl::string_view body) {
  std::string text(absl::StripAsciiWhitespace(body.substr(0, kQuotedBytes)));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, ' ');
  absl::RemoveExtraAsciiWhitespace(&text);
  std::string out = absl::StrCat(what, ": HTTP ", code, " ", ReasonPhrase(code));
  if (!text.empty()) absl::StrAppend(&out, ": ", text);
  return out;
}

// Retry-After: seconds or an HTTP date.
std::optional<absl::Duration> HeaderDelay(const HttpHeaders& headers, absl::Time now) {
  const std::string* const value = headers.Find("Retry-After");
  if (value == nullptr) return std::nullopt;
  int64_t seconds = 0;
  if (absl::SimpleAtoi(*value, &seconds)) return absl::Seconds(seconds);
  absl::Time at;
  std::string error;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", *value, &at, &error)) return at - now;
  return std::nullopt;
}

std::optional<absl::Duration> BodyDelay(const Json& body) {
  const Json* const seconds = Find(body, {"details", "retryAfterSeconds"});
  if (seconds == nullptr || !seconds->is_int64() || seconds->get_int64() <= 0) return std::nullopt;
  return absl::Seconds(seconds->get_int64());
}

void AttachDelay(const Json& body, std::optional<absl::Duration> delay, absl::Status* status) {
  if (!delay.has_value()) delay = BodyDelay(body);
  if (delay.has_value()) SetRetryAfter(status, std::clamp(*delay, absl::ZeroDuration(), kLongestRetryAfter));
}

bool IsStatusObject(const Json& body) { return StringAt(body, {"kind"}) == "Status"; }

}  // namespace

absl::Status StatusOfAnswer(CallKind kind, absl::string_view what, const HttpResponse& answer, absl::Time now) {
  Refusal refusal{kind, answer.code, "", "", false};
  const absl::StatusOr<Json> parsed = ParseJson(answer.body);
  const Json body = parsed.ok() && IsStatusObject(*parsed) ? *parsed : Json();
  refusal.reason = StringAt(body, {"reason"});
  refusal.message = StringAt(body, {"message"});
  if (refusal.message.empty()) refusal.message = Quoted(what, answer.code, body.is_null() ? answer.body : "");
  ReadCauses(body, &refusal);
  absl::Status status(CodeOf(refusal), refusal.message);
  AttachDelay(body, HeaderDelay(answer.headers, now), &status);
  return status;
}

absl::Status StatusOfWatchError(const Json& object) {
  Refusal refusal{CallKind::kRead, 500, StringAt(object, {"reason"}), StringAt(object, {"message"}), false};
  const Json* const code = Find(object, {"code"});
  if (code != nullptr && code->is_int64()) refusal.code = static_cast<int>(code->get_int64());
  if (refusal.message.empty()) refusal.message = Quoted("the watch ended", refusal.code, "");
  absl::StatusCode told = CodeOf(refusal);
  // To the reader of a watch kInvalidArgument is one event, after which the stream goes on.
  if (told == absl::StatusCode::kInvalidArgument || told == absl::StatusCode::kAborted)
    told = absl::StatusCode::kUnavailable;
  absl::Status status(told, refusal.message);
  AttachDelay(object, std::nullopt, &status);
  return status;
}

}  // namespace kq
