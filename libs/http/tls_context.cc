#include "libs/http/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Certificate = std::unique_ptr<X509, Free>;

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", TakeTlsError()));
}

// OpenSSL's default would ask on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

std::unique_ptr<BIO, Free> Reader(absl::string_view text) {
  return std::unique_ptr<BIO, Free>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::StatusOr<std::vector<Certificate>> ParseCertificates(absl::string_view pem, absl::string_view what) {
  std::vector<Certificate> certificates;
  const auto bio = Reader(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // The end of the text shows as "no start line"; anything else is damage.
  if (certificates.empty() || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return Invalid(absl::StrCat(what, ": not certificates in PEM"));
  }
  ERR_clear_error();
  return certificates;
}

absl::Status UseOwnCertificate(SSL_CTX* ctx, absl::string_view certificate_pem, absl::string_view key_pem) {
  KQ_ASSIGN_OR_RETURN(const std::vector<Certificate> chain, ParseCertificates(certificate_pem, "certificate"));
  if (SSL_CTX_use_certificate(ctx, chain[0].get()) != 1) return Invalid("certificate");
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(ctx, chain[i].get()) != 1) return Invalid("certificate chain");
  }
  const std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(Reader(key_pem).get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return Invalid("key: not a private key in PEM without a passphrase");
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    return Invalid("key: does not belong to the certificate");
  }
  return absl::OkStatus();
}

absl::Status Trust(SSL_CTX* ctx, absl::string_view ca_pem, absl::string_view what) {
  KQ_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities, ParseCertificates(ca_pem, what));
  // An intermediate authority may be the one that is trusted.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(ctx), X509_V_FLAG_PARTIAL_CHAIN);
  for (const Certificate& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), authority.get()) != 1) return Invalid(what);
  }
  return absl::OkStatus();
}

absl::StatusOr<TlsContext> NewContext(const SSL_METHOD* method) {
  TlsContext ctx(SSL_CTX_new(method), SSL_CTX_free);
  if (ctx == nullptr) return Invalid("TLS");
  SSL_CTX_set_min_proto_version(ctx.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(ctx.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(ctx.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return ctx;
}

int OnNewSession(SSL* ssl, SSL_SESSION* session) {
  const auto* keep = static_cast<const KeepTlsSession*>(SSL_get_app_data(ssl));
  if (keep == nullptr || !*keep) return 0;
  (*keep)(TlsSession(session, SSL_SESSION_free));
  return 1;  // the reference is ours now
}

}  // namespace

absl::StatusOr<TlsContext> NewClientTls(const ClientTlsOptions& options) {
  KQ_ASSIGN_OR_RETURN(TlsContext ctx, NewContext(TLS_client_method()));
  if (!options.ca_pem.empty()) {
    KQ_RETURN_IF_ERROR(Trust(ctx.get(), options.ca_pem, "authority"));
  } else if (SSL_CTX_set_default_verify_paths(ctx.get()) != 1) {
    return Invalid("the system's authorities");
  }
  if (!options.certificate_pem.empty() || !options.key_pem.empty()) {
    KQ_RETURN_IF_ERROR(UseOwnCertificate(ctx.get(), options.certificate_pem, options.key_pem));
  }
  SSL_CTX_set_verify(ctx.get(), options.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  // What has arrived is taken in one call, instead of the head of a record and its rest.
  SSL_CTX_set_read_ahead(ctx.get(), 1);
  SSL_CTX_set_session_cache_mode(ctx.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ctx.get(), OnNewSession);
  return ctx;
}

absl::StatusOr<TlsContext> NewServerTls(const ServerTlsOptions& options) {
  KQ_ASSIGN_OR_RETURN(TlsContext ctx, NewContext(TLS_server_method()));
  // A server may have many connections, of which most are idle: their buffers (34 kB
  // each) are given back. A client has few, and would get them anew for each answer.
  SSL_CTX_set_mode(ctx.get(), SSL_MODE_RELEASE_BUFFERS);
  KQ_RETURN_IF_ERROR(UseOwnCertificate(ctx.get(), options.certificate_pem, options.key_pem));
  // Without it OpenSSL refuses to resume sessions of clients with certificates.
  constexpr unsigned char kSessionContext[] = "kq";
  SSL_CTX_set_session_id_context(ctx.get(), kSessionContext, sizeof kSessionContext);
  if (!options.client_ca_pem.empty()) {
    KQ_RETURN_IF_ERROR(Trust(ctx.get(), options.client_ca_pem, "client authority"));
    KQ_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                        ParseCertificates(options.client_ca_pem, "client authority"));
    for (const Certificate& authority : authorities) SSL_CTX_add_client_CA(ctx.get(), authority.get());
    SSL_CTX_set_verify(ctx.get(), SSL_VERIFY_PEER, nullptr);
  }
  return ctx;
}

std::string PeerCommonName(SSL* ssl) {
  const Certificate certificate(SSL_get1_peer_certificate(ssl));
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return "";
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  // A name with a NUL inside wants to be mistaken for a shorter one.
  return name.find('\0') == std::string::npos ? name : "";
}

std::string TakeTlsError() {
  const unsigned long error = ERR_get_error();  // NOLINT: OpenSSL's type
  ERR_clear_error();
  if (error == 0) return "no details";
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : absl::StrCat("error ", error);
}

}  // namespace kq
