#include "libs/http/listen_address.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kq {

absl::StatusOr<HttpServerOptions> ListenOn(const std::string& address) {
  const size_t colon = address.rfind(':');
  HttpServerOptions options;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &options.port) || options.port < 0 ||
      options.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is not HOST:PORT"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  options.address = host.empty() ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : host;
  return options;
}

}  // namespace kq
