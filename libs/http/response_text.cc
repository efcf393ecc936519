#include "libs/http/response_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace kq {
namespace {

bool ServerField(absl::string_view name) {
  return absl::EqualsIgnoreCase(name, "Content-Length") || absl::EqualsIgnoreCase(name, "Transfer-Encoding") ||
         absl::EqualsIgnoreCase(name, "Connection") || absl::EqualsIgnoreCase(name, "Date");
}

}  // namespace

bool CodeHasBody(int code) { return code >= 200 && code != 204 && code != 304; }

absl::StatusOr<std::string> ResponseHeader(const HttpResponse& response, BodyFraming framing, AfterAnswer after,
                                           absl::Time now) {
  if (response.code < 200 || response.code > 599) {
    return absl::InvalidArgumentError(absl::StrCat("code ", response.code, ": not from 200 to 599"));
  }
  std::string text =
      absl::StrCat("HTTP/1.1 ", response.code, " ", ReasonPhrase(response.code),
                   "\r\nDate: ", absl::FormatTime("%a, %d %b %E4Y %H:%M:%S GMT", now, absl::UTCTimeZone()), "\r\n");
  for (const auto& [name, value] : response.headers.fields) {
    if (ServerField(name)) continue;
    if (!IsHttpToken(name) || !IsHttpFieldValue(value)) {
      return absl::InvalidArgumentError(absl::StrCat("field ", name, ": has characters that are not allowed"));
    }
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  if (CodeHasBody(response.code)) {
    switch (framing) {
      case BodyFraming::kLength:
        absl::StrAppend(&text, "Content-Length: ", response.body.size(), "\r\n");
        break;
      case BodyFraming::kChunks:
        absl::StrAppend(&text, "Transfer-Encoding: chunked\r\n");
        break;
      case BodyFraming::kClose:
        break;
    }
  }
  absl::StrAppend(&text, after == AfterAnswer::kKeep ? "\r\n" : "Connection: close\r\n\r\n");
  return text;
}

std::string Chunk(absl::string_view piece) { return absl::StrCat(absl::Hex(piece.size()), "\r\n", piece, "\r\n"); }

}  // namespace kq
