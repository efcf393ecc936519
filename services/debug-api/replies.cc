#include "services/debug-api/replies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/debug-api/view_json.h"

namespace kq::debug_api {
namespace {

constexpr char kRetryAfterSeconds[] = "2";
constexpr size_t kMaxNameBytes = 253;
constexpr size_t kShownBytes = 64;  // of what was asked for, in errors

// As Kubernetes' own Status names it.
absl::string_view ReasonFor(int code) {
  switch (code) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 414:
      return "RequestURITooLong";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    default:
      return "InternalError";
  }
}

int CodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kOutOfRange:
      return 414;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 502;
  }
}

absl::StatusOr<std::string> Decoded(absl::string_view text) {
  std::optional<std::string> decoded = PercentDecode(absl::StrReplaceAll(text, {{"+", " "}}));
  if (!decoded.has_value()) return absl::InvalidArgumentError("the query is not valid percent-encoding");
  return *std::move(decoded);
}

}  // namespace

absl::StatusOr<Parameters> ReadParameters(absl::string_view target, const std::vector<std::string>& known) {
  Parameters parameters;
  const size_t question = target.find('?');
  if (question == absl::string_view::npos) return parameters;
  const absl::string_view query = target.substr(question + 1);
  if (query.size() > kMaxQueryBytes) {
    return absl::OutOfRangeError(absl::StrCat("the query is longer than ", kMaxQueryBytes, " bytes"));
  }
  for (const absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    absl::StatusOr<std::string> name = Decoded(pair.first);
    absl::StatusOr<std::string> value = Decoded(pair.second);
    if (!name.ok() || !value.ok()) return name.ok() ? value.status() : name.status();
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      // Escaped: what is no UTF-8 would make the answer no JSON.
      return absl::InvalidArgumentError(absl::StrCat("unknown parameter \"",
                                                     absl::CHexEscape(name->substr(0, kShownBytes)), "\"; there ",
                                                     known.empty() ? "are none" : "is: ", absl::StrJoin(known, ", ")));
    }
    if (!parameters.emplace(*name, *std::move(value)).second) {
      return absl::InvalidArgumentError(absl::StrCat("parameter \"", *name, "\" is given twice"));
    }
  }
  return parameters;
}

absl::StatusOr<int64_t> NumberOf(const Parameters& parameters, const std::string& name, int64_t fallback,
                                 int64_t highest) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return fallback;
  int64_t number = 0;
  const std::string& text = found->second;
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(text, &number) || number < 1 || number > highest) {
    return absl::InvalidArgumentError(absl::StrCat("parameter \"", name, "\" must be a number from 1 to ", highest));
  }
  return number;
}

bool IsObjectName(absl::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes || !absl::ascii_isalnum(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.'; });
}

HttpResponse JsonReply(const Json& body) {
  HttpResponse response;
  response.headers.Add("Content-Type", "application/json");
  response.body = TabbedJsonText(body);
  return response;
}

HttpResponse ErrorReply(int code, absl::string_view message) {
  HttpResponse response = JsonReply({{"kind", "Status"},
                                     {"apiVersion", "v1"},
                                     {"metadata", JsonObject()},
                                     {"status", "Failure"},
                                     {"message", std::string(message)},
                                     {"reason", std::string(ReasonFor(code))},
                                     {"code", code}});
  response.code = code;
  if (code == 503 || code == 429) response.headers.Add("Retry-After", kRetryAfterSeconds);
  return response;
}

HttpResponse ErrorReply(const absl::Status& status) {
  return ErrorReply(CodeFor(status), std::string(status.message()));
}

}  // namespace kq::debug_api
