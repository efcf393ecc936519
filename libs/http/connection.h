#ifndef LIBS_HTTP_CONNECTION_H_
#define LIBS_HTTP_CONNECTION_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/http/byte_buffer.h"
#include "libs/http/deadline.h"
#include "libs/http/resolver.h"
#include "libs/http/tls_context.h"

namespace kq {

// How to speak TLS with one server.
struct TlsTarget {
  TlsContext context;  // null: plain TCP
  std::string name;    // what the certificate must be for: a DNS name or an IP address
  bool verify = true;
  TlsSession session;  // of an earlier connection, to resume; may be null
  KeepTlsSession keep_session;
};

// One connection of a client, plain or TLS, with a buffer for what was received.
// Every call blocks until its deadline at most. Not thread-safe, except Cancel.
//
// Errors: kDeadlineExceeded; kCancelled; kUnavailable when the connection is
// broken. The caller knows what was sent and decides what the error means.
class Connection {
 public:
  // Tries the addresses in turn. kUnavailable, also when the time is over.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::vector<SocketAddress>& addresses,
                                                          const TlsTarget& tls, Deadline deadline);
  // Closes the socket, without waiting.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  struct Sent {
    absl::Status status;
    // Of the bytes given, how many were handed over to the system. After an error
    // nothing beyond these has any meaning to the peer.
    size_t bytes = 0;
  };
  Sent Send(absl::string_view bytes, Deadline deadline);

  // Waits for more bytes and appends them to Received; how many, 0 at the end.
  absl::StatusOr<size_t> Receive(Deadline deadline);
  // What came and was not consumed yet. Valid until the next Receive.
  absl::string_view Received() const { return buffer_.View(); }
  void Consume(size_t bytes) { buffer_.Consume(bytes); }

  // Whether an unused connection can take a request: not closed by the peer, and
  // nothing came that was not asked for.
  bool Fresh() const;

  // Whether the TLS handshake was a short one, by an earlier session.
  bool Resumed() const;

  // Lets calls in other threads, and all later ones, fail with kCancelled.
  // REQUIRES: EnableCancel was called before the connection was shared.
  void Cancel();
  absl::Status EnableCancel();

 private:
  explicit Connection(int fd) : fd_(fd) {}

  enum class Wait { kReadable, kWritable };
  absl::Status WaitFor(Wait what, Deadline deadline) const;
  absl::Status Handshake(const TlsTarget& tls, Deadline deadline);
  // After a TLS call that returned `result`: OK once it is worth another try.
  absl::Status WaitForTls(int result, Deadline deadline);
  absl::Status TlsFailure(absl::string_view reason) const;

  const int fd_;
  int cancel_fd_ = -1;  // wakes who waits; what counts is cancelled_
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_{nullptr, nullptr};
  KeepTlsSession keep_session_;
  bool ended_ = false;
  ByteBuffer buffer_;
};

// Whether `status`, of a call on a connection, says that the server refused the
// TLS handshake: it then has not looked at anything that was sent. With TLS 1.3
// a client learns only after its first request that its certificate is unwanted.
bool HandshakeRefused(const absl::Status& status);

}  // namespace kq

#endif  // LIBS_HTTP_CONNECTION_H_
