#include "services/visibility/request_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "services/visibility/unit_query.h"

namespace kq::visibility {
namespace {

constexpr size_t kShownPathBytes = 512;
constexpr size_t kShownValueBytes = 64;
constexpr size_t kShownRequestBytes = 4 << 10;  // nothing here takes a body
constexpr size_t kShownAnswerBytes = 256 << 10;
constexpr char kHidden[] = "<hidden>";

// Nobody should send us credentials but in a header, and headers are not shown; but some do.
std::string WithoutSecrets(std::string text) {
  // "Bearer x", and what JSON Web Tokens begin with, wherever it stands.
  static const RE2 kBare(R"((?i:bearer(?:\s|\+|%20)+)[^\s"'&,;}]+|eyJ[A-Za-z0-9_.=-]{8,})");
  // token=x, "token": "x"
  static const RE2 kNamed(R"((?i)((?:token|password|secret)[a-z_-]*\\?["']?\s*[:=]\s*\\?["']?)[^\s"'&,;}\\]+)");
  RE2::GlobalReplace(&text, kBare, kHidden);
  RE2::GlobalReplace(&text, kNamed, absl::StrCat("\\1", kHidden));
  return text;
}

}  // namespace

std::string ShownTarget(absl::string_view target) {
  std::string shown(TargetPath(target).substr(0, kShownPathBytes));
  char separator = '?';
  for (const auto& [name, value] : TargetQuery(target)) {
    if (!IsKnownParameter(name)) continue;
    if (shown.size() > 2 * kShownPathBytes) break;
    shown += separator;
    absl::StrAppend(&shown, name, "=", PercentEncode(absl::string_view(value).substr(0, kShownValueBytes)));
    separator = '&';
  }
  return WithoutSecrets(std::move(shown));
}

std::string ShownBody(absl::string_view body, size_t limit) {
  return WithoutSecrets(std::string(body.substr(0, limit)));
}

void LogRefused(absl::string_view what, int code) { KQ_LOG(Info, "Request refused", {{"what", what}, {"code", code}}); }

HttpResponse LogAnswered(const HttpRequest& request, HttpResponse response) {
  const std::string target = ShownTarget(request.target);
  KQ_LOG(Info, "Request",
         {{"method", request.method.substr(0, kShownValueBytes)},
          {"target", target},
          {"body", ShownBody(request.body, kShownRequestBytes)},
          {"bytes", request.body.size()}});
  KQ_LOG(Info, "Response",
         {{"target", target},
          {"code", response.code},
          {"body", ShownBody(response.body, kShownAnswerBytes)},
          {"bytes", response.body.size()}});
  if (!response.more) return response;
  response.more = [more = std::move(response.more), target, total = response.body.size()]() mutable {
    std::optional<std::string> piece = more();
    if (!piece.has_value()) {
      KQ_LOG(Info, "Response ended", {{"target", target}, {"bytes", total}});
    } else if (!piece->empty()) {
      const size_t room = kShownAnswerBytes - std::min(kShownAnswerBytes, total);
      total += piece->size();
      if (room > 0) {
        KQ_LOG(Info, "Response continued",
               {{"target", target}, {"body", ShownBody(*piece, room)}, {"bytes", piece->size()}});
      }
    }
    return piece;
  };
  return response;
}

}  // namespace kq::visibility
