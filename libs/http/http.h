#ifndef LIBS_HTTP_HTTP_H_
#define LIBS_HTTP_HTTP_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace kq {

// A request and a response, as plain values; used by client and server alike.
struct HttpHeaders {
  std::vector<std::pair<std::string, std::string>> fields;

  void Add(absl::string_view name, absl::string_view value) { fields.emplace_back(std::string(name), std::string(value)); }
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
  int code = 200;
  HttpHeaders headers;
  std::string body;
};

// The path of a target, without its query; still percent-encoded.
absl::string_view TargetPath(absl::string_view target);
// The decoded key=value pairs of its query, in order.
std::vector<std::pair<std::string, std::string>> TargetQuery(absl::string_view target);
// Percent-encodes everything but unreserved characters, for one path segment or query value.
std::string PercentEncode(absl::string_view text);

}  // namespace kq

#endif  // LIBS_HTTP_HTTP_H_
