#ifndef LIBS_HTTP_HTTP_H_
#define LIBS_HTTP_HTTP_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace kq {

// A request and a response, as plain values; used by client and server alike.
struct HttpHeaders {
  std::vector<std::pair<std::string, std::string>> fields;

  void Add(absl::string_view name, absl::string_view value) {
    fields.emplace_back(std::string(name), std::string(value));
  }
  // The first value of a field, names compared without case; null if absent.
  const std::string* Find(absl::string_view name) const;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, percent-encoded
  HttpHeaders headers;
  std::string body;
};

struct HttpResponse {
  int code = 200;  // 0, server only: closes the connection without an answer
  HttpHeaders headers;
  std::string body;
  // Server only. If set, the answer goes out chunked: `body` first, then what
  // each call returns, until nullopt. Called from the server's threads, one call
  // at a time; may block for a short while (a second), and returns an empty text
  // when it has nothing to send yet. The server asks no more, and destroys the
  // function, when the peer has gone, or will send nothing more. If it throws, the connection is closed
  // without the end of the body, so that the peer knows.
  std::function<std::optional<std::string>()> more;
};

// The path of a target, without its query; still percent-encoded.
absl::string_view TargetPath(absl::string_view target);
// The decoded key=value pairs of its query, in order.
std::vector<std::pair<std::string, std::string>> TargetQuery(absl::string_view target);
// Percent-encodes everything but unreserved characters, for one path segment or query value.
std::string PercentEncode(absl::string_view text);
// The reverse; nullopt if a % is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(absl::string_view text);

// "Not Found" for 404; "Unknown" for a code without a name.
absl::string_view ReasonPhrase(int code);
// Whether the text may stand on the wire as a method or field name (a token of
// RFC 9110), or as a field value. No line breaks, so that nothing can be injected.
bool IsHttpToken(absl::string_view text);
bool IsHttpFieldValue(absl::string_view text);
// A short answer in plain text: the code and its phrase, or `text`.
HttpResponse TextResponse(int code, absl::string_view text = "");

}  // namespace kq

#endif  // LIBS_HTTP_HTTP_H_
