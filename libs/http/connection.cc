#include "libs/http/connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

constexpr char kRefusedPayload[] = "kq/tls-handshake-refused";

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, and a closed peer would
// end the process by SIGPIPE. This one does not. The descriptor is its data.
int Descriptor(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

int BioWrite(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(Descriptor(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int BioRead(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = recv(Descriptor(bio), bytes, static_cast<size_t>(size), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long BioControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }  // NOLINT

BIO* NewSocketBio(int fd) {
  static BIO_METHOD* const method = [] {  // never changed after
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kq socket");
    BIO_meth_set_write(m, BioWrite);
    BIO_meth_set_read(m, BioRead);
    BIO_meth_set_ctrl(m, BioControl);
    return m;
  }();
  BIO* bio = BIO_new(method);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

absl::Status Broken(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// Small requests leave at once, and a peer that vanished without a word is
// noticed within a minute even where nobody writes, as on a watch.
void SetSocketOptions(int fd) {
  const int on = 1, idle = 30, interval = 10, count = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

// Alerts by which a server turns a client away before it reads a request.
bool RefusesHandshake(int reason) {
  switch (reason) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool HandshakeRefused(const absl::Status& status) { return status.GetPayload(kRefusedPayload).has_value(); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::vector<SocketAddress>& addresses,
                                                             const TlsTarget& tls, Deadline deadline) {
  absl::Status last = absl::UnavailableError("connect: no address");
  for (size_t i = 0; i < addresses.size(); ++i) {
    const int fd = socket(addresses[i].family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return Broken("socket", errno);
    std::unique_ptr<Connection> connection(new Connection(fd));
    SetSocketOptions(fd);
    const auto* address = reinterpret_cast<const sockaddr*>(addresses[i].bytes.data());
    if (connect(fd, address, static_cast<socklen_t>(addresses[i].bytes.size())) != 0) {
      if (errno != EINPROGRESS) {
        last = Broken("connect", errno);
        continue;
      }
      // One address that swallows everything leaves time for the others.
      const Deadline mine = deadline.ButWithin(deadline.Left() / static_cast<double>(addresses.size() - i));
      if (!connection->WaitFor(Wait::kWritable, mine).ok()) {
        last = absl::UnavailableError("connect: timed out");
        continue;
      }
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        last = Broken("connect", error);
        continue;
      }
    }
    if (tls.context != nullptr) KQ_RETURN_IF_ERROR(connection->Handshake(tls, deadline));
    return connection;
  }
  return last;
}

Connection::~Connection() {
  // OpenSSL would forbid to resume the session of a connection that was just dropped.
  if (ssl_ != nullptr) SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  ssl_.reset();
  close(fd_);
  if (cancel_fd_ >= 0) close(cancel_fd_);
}

absl::Status Connection::WaitFor(Wait what, Deadline deadline) const {
  for (;;) {
    pollfd fds[2] = {{fd_, static_cast<short>(what == Wait::kReadable ? POLLIN : POLLOUT), 0},  // NOLINT: poll's type
                     {cancel_fd_, POLLIN, 0}};
    const absl::Duration left = deadline.Left();
    const timespec timeout = absl::ToTimespec(left);
    const int ready = ppoll(fds, cancel_fd_ >= 0 ? 2 : 1, &timeout, nullptr);
    if (ready < 0 && errno != EINTR) return Broken("poll", errno);
    if (cancel_fd_ >= 0 && fds[1].revents != 0) return absl::CancelledError("cancelled");
    if (ready > 0) return absl::OkStatus();
    if (left == absl::ZeroDuration()) return absl::DeadlineExceededError("timed out");
  }
}

absl::Status Connection::TlsFailure(absl::string_view reason) const {
  return absl::UnavailableError(absl::StrCat("TLS: ", reason));
}

absl::Status Connection::WaitForTls(int result, Deadline deadline) {
  const int error = SSL_get_error(ssl_.get(), result);
  const int system_error = errno;
  switch (error) {
    case SSL_ERROR_WANT_READ:
      return WaitFor(Wait::kReadable, deadline);
    case SSL_ERROR_WANT_WRITE:
      return WaitFor(Wait::kWritable, deadline);
    case SSL_ERROR_SYSCALL:
      return TlsFailure(system_error == 0 ? "connection closed" : std::strerror(system_error));
    default:
      break;
  }
  const bool refused = RefusesHandshake(ERR_GET_REASON(ERR_peek_error()));
  absl::Status status = TlsFailure(TakeTlsError());
  if (refused) status.SetPayload(kRefusedPayload, absl::Cord("alert"));
  return status;
}

absl::Status Connection::Handshake(const TlsTarget& tls, Deadline deadline) {
  ssl_ = {SSL_new(tls.context.get()), SSL_free};
  if (ssl_ == nullptr) return TlsFailure(TakeTlsError());
  BIO* bio = NewSocketBio(fd_);
  SSL_set_bio(ssl_.get(), bio, bio);
  keep_session_ = tls.keep_session;
  SSL_set_app_data(ssl_.get(), &keep_session_);
  if (tls.session != nullptr) SSL_set_session(ssl_.get(), tls.session.get());
  const bool by_address = IsIpAddress(tls.name);
  if (!by_address) SSL_set_tlsext_host_name(ssl_.get(), tls.name.c_str());
  if (tls.verify) {
    X509_VERIFY_PARAM* param = SSL_get0_param(ssl_.get());
    // The subject's common name has not counted as a host name for decades.
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const int set = by_address ? X509_VERIFY_PARAM_set1_ip_asc(param, tls.name.c_str())
                               : X509_VERIFY_PARAM_set1_host(param, tls.name.c_str(), tls.name.size());
    if (set != 1) return TlsFailure(absl::StrCat("not a server name: ", tls.name));
  }
  for (;;) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_connect(ssl_.get());
    if (result == 1) return absl::OkStatus();
    absl::Status status = WaitForTls(result, deadline);
    if (status.ok()) continue;
    if (absl::IsDeadlineExceeded(status)) return TlsFailure("handshake timed out");
    if (const auto verdict = SSL_get_verify_result(ssl_.get()); tls.verify && verdict != X509_V_OK) {
      return TlsFailure(absl::StrCat("the server's certificate: ", X509_verify_cert_error_string(verdict)));
    }
    return status;
  }
}

Connection::Sent Connection::Send(absl::string_view bytes, Deadline deadline) {
  Sent sent;
  while (sent.bytes < bytes.size()) {
    const char* from = bytes.data() + sent.bytes;
    const size_t size = bytes.size() - sent.bytes;
    if (ssl_ != nullptr) {
      ERR_clear_error();
      errno = 0;
      const int result = SSL_write(ssl_.get(), from, static_cast<int>(std::min(size, size_t{1} << 30)));
      if (result > 0) {
        sent.bytes += static_cast<size_t>(result);
        continue;
      }
      sent.status = WaitForTls(result, deadline);
    } else {
      const ssize_t result = send(fd_, from, size, MSG_NOSIGNAL);
      if (result >= 0) {
        sent.bytes += static_cast<size_t>(result);
        continue;
      }
      if (errno == EINTR) continue;
      sent.status = errno == EAGAIN ? WaitFor(Wait::kWritable, deadline) : Broken("send", errno);
    }
    if (!sent.status.ok()) return sent;
  }
  return sent;
}

absl::StatusOr<size_t> Connection::Receive(Deadline deadline) {
  if (ended_) return 0;
  for (;;) {
    // Not only when there is nothing to read: a busy stream is cancelled too.
    if (cancelled_.load()) return absl::CancelledError("cancelled");
    const auto [to, size] = buffer_.Space();
    absl::Status status;
    if (ssl_ != nullptr) {
      ERR_clear_error();
      errno = 0;
      const int result = SSL_read(ssl_.get(), to, static_cast<int>(size));
      if (result > 0) return buffer_.Commit(static_cast<size_t>(result));
      ended_ = SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN;
      if (ended_) return 0;
      status = WaitForTls(result, deadline);
    } else {
      const ssize_t result = recv(fd_, to, size, 0);
      if (result > 0) return buffer_.Commit(static_cast<size_t>(result));
      ended_ = result == 0;
      if (ended_) return 0;
      if (errno == EINTR) continue;
      status = errno == EAGAIN ? WaitFor(Wait::kReadable, deadline) : Broken("receive", errno);
    }
    if (!status.ok()) return status;
  }
}

bool Connection::Fresh() const {
  if (ended_ || !Received().empty() || (ssl_ != nullptr && SSL_has_pending(ssl_.get()) == 1)) return false;
  char byte;
  const ssize_t result = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return result < 0 && (errno == EAGAIN || errno == EINTR);
}

bool Connection::Resumed() const { return ssl_ != nullptr && SSL_session_reused(ssl_.get()) == 1; }

absl::Status Connection::EnableCancel() {
  if (cancel_fd_ < 0) cancel_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return cancel_fd_ >= 0 ? absl::OkStatus() : Broken("eventfd", errno);
}

void Connection::Cancel() {
  cancelled_.store(true);
  eventfd_write(cancel_fd_, 1);
}

}  // namespace kq
