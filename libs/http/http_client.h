#ifndef LIBS_HTTP_HTTP_CLIENT_H_
#define LIBS_HTTP_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/http/http.h"

namespace kq {

struct HttpClientOptions {
  std::string url;          // "https://host:port" or "http://host:port"
  std::string ca_pem;       // empty: the system's authorities
  std::string server_name;  // SNI and certificate check; empty: the host
  bool skip_tls_verify = false;
  std::string client_certificate_pem;
  std::string client_key_pem;
  int connections = 32;  // kept alive at most; more are opened when needed and closed after
  absl::Duration connect_timeout = absl::Seconds(10);
  size_t header_limit_bytes = 64 << 10;
  size_t response_limit_bytes = 256 << 20;
};

// A response whose body arrives piece by piece. Not thread-safe, except Cancel.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual int code() const = 0;
  virtual const HttpHeaders& headers() const = 0;
  // The next bytes of the body; empty if none came within `timeout`.
  // kOutOfRange: the body has ended. kUnavailable: the connection broke.
  // kCancelled: Cancel was called, before or during the call.
  virtual absl::StatusOr<std::string> Read(absl::Duration timeout) = 0;
  // From any thread, while the stream lives; a Read that waits returns at once.
  virtual void Cancel() = 0;
};

// HTTP/1.1 to one server, with a pool of kept-alive connections. Blocking.
// Thread-safe.
//
// Errors: kUnavailable: nothing was sent (refused, TLS failed, name unknown), so
// the same call may be made again. kDeadlineExceeded, kUnknown: the request was
// sent, at least in part, and no whole answer came. kInvalidArgument: bad URL,
// certificate or a limit. A kept-alive connection that the server closed before
// a request reached it is opened anew once for idempotent methods (GET, HEAD). A
// response over a limit is kInvalidArgument for these and kUnknown for others.
// Fields Content-Length, Transfer-Encoding and Connection of a request are left
// out: the client writes its own.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  virtual absl::StatusOr<HttpResponse> Call(const HttpRequest& request, absl::Duration timeout) = 0;
  // Sends the request, waits up to `timeout` for the header, and leaves the body to the stream.
  virtual absl::StatusOr<std::unique_ptr<HttpStream>> Open(const HttpRequest& request, absl::Duration timeout) = 0;
  // How many connections were made so far; shows whether keep-alive works.
  virtual int64_t ConnectionsOpened() const = 0;
};

absl::StatusOr<std::unique_ptr<HttpClient>> NewHttpClient(HttpClientOptions options);

}  // namespace kq

#endif  // LIBS_HTTP_HTTP_CLIENT_H_
