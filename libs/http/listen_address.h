#ifndef LIBS_HTTP_LISTEN_ADDRESS_H_
#define LIBS_HTTP_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/http/http_server.h"

namespace kq {

// The options of a server at "host:port" or ":port" (all addresses of the
// machine); IPv6 hosts in brackets. kInvalidArgument otherwise.
absl::StatusOr<HttpServerOptions> ListenOn(const std::string& address);

}  // namespace kq

#endif  // LIBS_HTTP_LISTEN_ADDRESS_H_
