#include "libs/pki/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Bio = std::unique_ptr<BIO, Free>;

absl::Status Require(bool ok, absl::string_view what) {
  return ok ? absl::OkStatus() : absl::InternalError(absl::StrCat("cannot make a certificate: ", what));
}

std::string Text(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);  // NOLINT: OpenSSL's type
  return std::string(bytes, static_cast<size_t>(size));
}

Bio Reader(absl::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

absl::Status AddName(X509_NAME* subject, const char* field, const std::string& value) {
  return Require(
      X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) == 1,
      absl::StrCat("the name ", value));
}

absl::Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return Require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, value);
}

bool IsAddress(const std::string& name) {
  in6_addr space;
  return inet_pton(AF_INET, name.c_str(), &space) == 1 || inet_pton(AF_INET6, name.c_str(), &space) == 1;
}

// OpenSSL's form of a list of names. Its separators have no place in a name.
absl::StatusOr<std::string> AlternativeNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(",;\n\"") != std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no host name"));
  }
  return absl::StrJoin(names, ",", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, IsAddress(name) ? "IP:" : "DNS:", name);
  });
}

absl::Status Describe(X509* x, const CertificateRequest& request) {
  X509_set_version(x, X509_VERSION_3);
  uint64_t serial = 0;
  KQ_RETURN_IF_ERROR(
      Require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "no randomness"));
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1);
  KQ_RETURN_IF_ERROR(Require(ASN1_TIME_set(X509_getm_notBefore(x), absl::ToTimeT(request.not_before)) != nullptr &&
                                 ASN1_TIME_set(X509_getm_notAfter(x), absl::ToTimeT(request.not_after)) != nullptr,
                             "its times"));
  for (const std::string& organization : request.organizations) {
    KQ_RETURN_IF_ERROR(AddName(X509_get_subject_name(x), "O", organization));
  }
  return AddName(X509_get_subject_name(x), "CN", request.common_name);
}

enum class Role { kAuthority, kServer, kClient };

absl::Status AddExtensions(X509* x, X509* signer, Role role, const std::vector<std::string>& names) {
  KQ_RETURN_IF_ERROR(AddExtension(x, signer, NID_subject_key_identifier, "hash"));
  if (role == Role::kAuthority) {
    KQ_RETURN_IF_ERROR(AddExtension(x, signer, NID_basic_constraints, "critical,CA:TRUE"));
    KQ_RETURN_IF_ERROR(AddExtension(x, signer, NID_key_usage, "critical,keyCertSign,cRLSign"));
  } else {
    KQ_RETURN_IF_ERROR(AddExtension(x, signer, NID_authority_key_identifier, "keyid"));
    KQ_RETURN_IF_ERROR(AddExtension(x, signer, NID_ext_key_usage, role == Role::kServer ? "serverAuth" : "clientAuth"));
  }
  if (names.empty()) return absl::OkStatus();
  KQ_ASSIGN_OR_RETURN(const std::string alternative, AlternativeNames(names));
  return AddExtension(x, signer, NID_subject_alt_name, alternative);
}

struct Issuer {
  Certificate certificate;
  Key key;
};

absl::StatusOr<Issuer> ReadIssuer(const CertificateAndKey& authority) {
  Issuer issuer{Certificate(PEM_read_bio_X509(Reader(authority.certificate_pem).get(), nullptr, nullptr, nullptr)),
                Key(PEM_read_bio_PrivateKey(Reader(authority.key_pem).get(), nullptr, nullptr, nullptr))};
  if (issuer.certificate == nullptr || issuer.key == nullptr)
    return absl::InvalidArgumentError("the authority's certificate or key is not PEM");
  if (X509_check_ca(issuer.certificate.get()) == 0)
    return absl::InvalidArgumentError("the authority's certificate is not one of an authority");
  if (X509_check_private_key(issuer.certificate.get(), issuer.key.get()) != 1)
    return absl::InvalidArgumentError("the authority's key does not belong to its certificate");
  return issuer;
}

// `issuer` is null for an authority.
absl::StatusOr<CertificateAndKey> Make(const CertificateRequest& request, Role role, const CertificateAndKey* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  KQ_RETURN_IF_ERROR(Require(key != nullptr && certificate != nullptr, "no key"));
  X509* x = certificate.get();
  KQ_RETURN_IF_ERROR(Describe(x, request));
  X509_set_pubkey(x, key.get());

  Issuer read;
  if (issuer != nullptr) {
    KQ_ASSIGN_OR_RETURN(read, ReadIssuer(*issuer));
  }
  X509* signer = issuer != nullptr ? read.certificate.get() : x;
  X509_set_issuer_name(x, X509_get_subject_name(signer));
  KQ_RETURN_IF_ERROR(AddExtensions(x, signer, role, request.names));
  KQ_RETURN_IF_ERROR(
      Require(X509_sign(x, issuer != nullptr ? read.key.get() : key.get(), EVP_sha256()) > 0, "its signature"));

  const Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  KQ_RETURN_IF_ERROR(Require(PEM_write_bio_X509(certificate_text.get(), x) == 1, "its text"));
  KQ_RETURN_IF_ERROR(Require(
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "its key"));
  return CertificateAndKey{Text(certificate_text.get()), Text(key_text.get())};
}

}  // namespace

absl::StatusOr<CertificateAndKey> MakeAuthority(const CertificateRequest& request) {
  return Make(request, Role::kAuthority, nullptr);
}

absl::Status CheckAuthority(const CertificateAndKey& authority) { return ReadIssuer(authority).status(); }

absl::StatusOr<CertificateAndKey> IssueCertificate(const CertificateAndKey& authority, CertificateUse use,
                                                   const CertificateRequest& request) {
  return Make(request, use == CertificateUse::kServer ? Role::kServer : Role::kClient, &authority);
}

absl::StatusOr<absl::Time> CertificateEnd(absl::string_view certificate_pem) {
  const Certificate certificate(PEM_read_bio_X509(Reader(certificate_pem).get(), nullptr, nullptr, nullptr));
  std::tm end = {};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
    return absl::InvalidArgumentError("not a certificate in PEM");
  return absl::FromTM(end, absl::UTCTimeZone());
}

std::vector<std::string> SplitCertificates(absl::string_view bundle_pem) {
  std::vector<std::string> certificates;
  const Bio reader = Reader(bundle_pem);
  while (const Certificate certificate{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    const Bio text(BIO_new(BIO_s_mem()));
    if (PEM_write_bio_X509(text.get(), certificate.get()) == 1) certificates.push_back(Text(text.get()));
  }
  return certificates;
}

}  // namespace kq
