#ifndef LIBS_HTTP_EXCHANGE_H_
#define LIBS_HTTP_EXCHANGE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/http/connection.h"
#include "libs/http/deadline.h"
#include "libs/http/http.h"

namespace kq {

// The header of `request` as it goes over the wire to `host` ("name:port").
// Content-Length, Transfer-Encoding and Connection of the request are left out:
// they are the client's own. kInvalidArgument for what would break the protocol.
absl::StatusOr<std::string> RequestHeader(const HttpRequest& request, absl::string_view host);

struct ExchangeLimits {
  size_t header_bytes = 0;
  size_t body_bytes = 0;  // 0: none, for a body that is read piece by piece
};

// One request and its response on one connection. Not thread-safe.
//
// Errors of Start: kUnavailable when nothing of the request was sent, or the
// server refused the TLS handshake; else kDeadlineExceeded, kUnknown, or
// kResourceExhausted when the response is over a limit.
class Exchange {
 public:
  Exchange(std::unique_ptr<Connection> connection, ExchangeLimits limits);
  ~Exchange();

  // Sends the request and reads the header of its response.
  absl::Status Start(const HttpRequest& request, absl::string_view header, Deadline deadline);
  // Whether Start failed because the connection was gone before any answer came.
  // A kept-alive connection is lost like this when the server's patience ended
  // just before the request.
  bool dropped() const;

  int code() const;
  const HttpHeaders& headers() const;

  // The rest of the body. kResourceExhausted: over the limit; kDeadlineExceeded;
  // kUnknown: it broke off, or is malformed.
  absl::StatusOr<std::string> ReadAll(Deadline deadline);
  // Some more of the body, empty if none came in time. kOutOfRange: it has ended;
  // kCancelled; kUnavailable: it broke off, or is malformed.
  absl::StatusOr<std::string> ReadSome(Deadline deadline);

  // The connection, if the whole response was read and both sides keep it; else null.
  std::unique_ptr<Connection> TakeReusable();
  Connection* connection();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kq

#endif  // LIBS_HTTP_EXCHANGE_H_
