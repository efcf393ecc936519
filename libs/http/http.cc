#include "libs/http/http.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace kq {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A part of a query: '+' is a space, and a broken escape stands for itself.
std::string QueryText(absl::string_view text) {
  std::string spaced(text);
  for (char& c : spaced) {
    if (c == '+') c = ' ';
  }
  return PercentDecode(spaced).value_or(spaced);
}

}  // namespace

const std::string* HttpHeaders::Find(absl::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (absl::EqualsIgnoreCase(key, name)) return &value;
  }
  return nullptr;
}

absl::string_view TargetPath(absl::string_view target) { return target.substr(0, target.find_first_of("?#")); }

std::vector<std::pair<std::string, std::string>> TargetQuery(absl::string_view target) {
  std::vector<std::pair<std::string, std::string>> pairs;
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  if (question == absl::string_view::npos) return pairs;
  for (absl::string_view part : absl::StrSplit(target.substr(question + 1), '&', absl::SkipEmpty())) {
    const size_t equal = part.find('=');
    const absl::string_view value = equal == absl::string_view::npos ? "" : part.substr(equal + 1);
    pairs.emplace_back(QueryText(part.substr(0, equal)), QueryText(value));
  }
  return pairs;
}

std::string PercentEncode(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._~", absl::string_view(&c, 1))) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

std::optional<std::string> PercentDecode(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

absl::string_view ReasonPhrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

bool IsHttpToken(absl::string_view text) {
  for (char c : text) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("!#$%&'*+-.^_`|~", absl::string_view(&c, 1))) return false;
  }
  return !text.empty();
}

bool IsHttpFieldValue(absl::string_view text) {
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return false;
  }
  return true;
}

HttpResponse TextResponse(int code, absl::string_view text) {
  HttpResponse response;
  response.code = code;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = text.empty() ? absl::StrCat(code, " ", ReasonPhrase(code), "\n") : std::string(text);
  return response;
}

}  // namespace kq
