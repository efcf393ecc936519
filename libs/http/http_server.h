#ifndef LIBS_HTTP_HTTP_SERVER_H_
#define LIBS_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/http/http.h"
#include "libs/http/server_counts.h"

namespace kq {

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6 address; "::" and "0.0.0.0" are all of the machine
  int port = 0;                       // 0: any free one; see HttpServer::port
  // TLS if a certificate is given. The files are read again when they change.
  std::string certificate_file;
  std::string key_file;
  // Asks clients for a certificate of this authority. Whether one without it may
  // pass is for the handler: HttpPeer says who came.
  std::string client_ca_file;
  int threads = 2;  // that run `handle`; one more moves the bytes
  // One more gets the place of the one that has had nothing to answer for longest; while all have, it is answered
  // 503 and closed. So nobody can fill the places with connections that say nothing.
  int connection_limit = 256;
  size_t header_limit_bytes = 16 << 10;
  size_t body_limit_bytes = 1 << 20;
  absl::Duration header_timeout = absl::Seconds(10);  // the TLS handshake; a header from its first byte on
  absl::Duration body_timeout = absl::Seconds(30);
  absl::Duration idle_timeout = absl::Minutes(2);
  absl::Duration write_timeout = absl::Seconds(30);  // of an answer, or of each part of a chunked one
};

// Who is at the other end.
struct HttpPeer {
  std::string address;      // "127.0.0.1:51234"
  std::string common_name;  // of a verified client certificate; empty without one
};

using HttpHandle = std::function<HttpResponse(const HttpRequest&, const HttpPeer&)>;

// HTTP/1.1, keep-alive. Calls `handle` from its own threads, several at once.
// Answers by itself: 400 malformed, 413 body over the limit, 431 header over the
// limit, 408 too slow, 500 when `handle` throws or gives an answer that cannot be
// sent, 501 a transfer encoding other than chunked, 503 too many connections.
// Answers to HEAD go out without their body. Thread-safe.
//
// A changed certificate or authority counts from the next connection on; one that is
// open gets one more answer, which ends it. Files that do not fit each other (half of them written) are
// logged, and the last good ones stay in use.
class HttpServer {
 public:
  virtual ~HttpServer() = default;  // as Stop(zero)
  virtual int port() const = 0;
  // Also after Stop.
  virtual HttpServerCounts counts() const = 0;
  // Stops accepting, closes idle connections, lets running requests finish until
  // `grace` has passed, closes the rest. Returns when no thread runs `handle` any
  // more, so what it uses may be destroyed after.
  virtual void Stop(absl::Duration grace) = 0;
};

// kInvalidArgument: bad certificate files, address or limit; kUnavailable: the
// address is in use.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(HttpServerOptions options, HttpHandle handle);

}  // namespace kq

#endif  // LIBS_HTTP_HTTP_SERVER_H_
