#ifndef LIBS_HTTP_TLS_CONTEXT_H_
#define LIBS_HTTP_TLS_CONTEXT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

// What both sides need to speak TLS 1.2 or newer, built from certificates. The
// OpenSSL types appear by their forward names alone.
namespace kq {

// Immutable once built, so it may be shared by threads.
using TlsContext = std::shared_ptr<ssl_ctx_st>;

// What a client remembers of one connection to make the next handshake short.
using TlsSession = std::shared_ptr<ssl_session_st>;
// Told each new session, by the thread that reads the connection.
using KeepTlsSession = std::function<void(TlsSession)>;

struct ClientTlsOptions {
  std::string ca_pem;  // empty: the system's authorities
  bool skip_verify = false;
  std::string certificate_pem;  // with the chain after it; empty: none
  std::string key_pem;
};

struct ServerTlsOptions {
  std::string certificate_pem;  // with the chain after it
  std::string key_pem;
  std::string client_ca_pem;  // empty: clients are not asked for a certificate
};

// Both fail with kInvalidArgument and say which part is bad. A key that needs a
// passphrase is bad too; nobody is asked for one.
// The application data of a client's SSL is a KeepTlsSession*, or null.
absl::StatusOr<TlsContext> NewClientTls(const ClientTlsOptions& options);
absl::StatusOr<TlsContext> NewServerTls(const ServerTlsOptions& options);

// The common name of the verified certificate of the peer; empty if it has none.
std::string PeerCommonName(ssl_st* ssl);

// The oldest error that OpenSSL keeps for this thread, as text; clears all of them.
std::string TakeTlsError();

}  // namespace kq

#endif  // LIBS_HTTP_TLS_CONTEXT_H_
