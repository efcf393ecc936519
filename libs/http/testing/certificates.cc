#include "libs/http/testing/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kq::testing {
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

// Tests have no use for a Status here: what fails ends them.
void Require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(absl::StrCat("test certificate: ", what));
}

std::string Text(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);  // NOLINT: OpenSSL's type
  return std::string(bytes, static_cast<size_t>(size));
}

Bio Reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

void AddName(X509_NAME* subject, const char* field, const std::string& value) {
  Require(
      X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) == 1,
      "name");
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  Require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "extension");
}

std::string AlternativeNames(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ",", [](std::string* out, const std::string& name) {
    in6_addr space;
    const bool address =
        inet_pton(AF_INET, name.c_str(), &space) == 1 || inet_pton(AF_INET6, name.c_str(), &space) == 1;
    absl::StrAppend(out, address ? "IP:" : "DNS:", name);
  });
}

enum class Role { kAuthority, kServer, kClient };

// `issuer` is null for an authority, which signs itself.
TestCertificate Make(const TestCertificateOptions& options, Role role, const TestCertificate* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  Require(key != nullptr && certificate != nullptr, "key");
  X509* x = certificate.get();
  X509_set_version(x, X509_VERSION_3);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(x), absl::ToInt64Seconds(options.valid_from));
  X509_gmtime_adj(X509_getm_notAfter(x), absl::ToInt64Seconds(options.valid_until));
  X509_set_pubkey(x, key.get());
  for (const std::string& organization : options.organizations) AddName(X509_get_subject_name(x), "O", organization);
  AddName(X509_get_subject_name(x), "CN", options.common_name);

  Certificate issuer_certificate;
  Key issuer_key;
  if (issuer != nullptr) {
    issuer_certificate.reset(PEM_read_bio_X509(Reader(issuer->certificate_pem).get(), nullptr, nullptr, nullptr));
    issuer_key.reset(PEM_read_bio_PrivateKey(Reader(issuer->key_pem).get(), nullptr, nullptr, nullptr));
    Require(issuer_certificate != nullptr && issuer_key != nullptr, "issuer");
  }
  X509* signer = issuer != nullptr ? issuer_certificate.get() : x;
  X509_set_issuer_name(x, X509_get_subject_name(signer));
  AddExtension(x, signer, NID_subject_key_identifier, "hash");
  if (role == Role::kAuthority) {
    AddExtension(x, signer, NID_basic_constraints, "critical,CA:TRUE");
    AddExtension(x, signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    AddExtension(x, signer, NID_authority_key_identifier, "keyid");
    AddExtension(x, signer, NID_ext_key_usage, role == Role::kServer ? "serverAuth" : "clientAuth");
  }
  if (!options.names.empty()) AddExtension(x, signer, NID_subject_alt_name, AlternativeNames(options.names));
  Require(X509_sign(x, issuer != nullptr ? issuer_key.get() : key.get(), EVP_sha256()) > 0, "signature");

  const Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(certificate_text.get(), x) == 1, "PEM");
  Require(PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "PEM");
  return {Text(certificate_text.get()), Text(key_text.get())};
}

}  // namespace

TestAuthority::TestAuthority(absl::string_view common_name) {
  TestCertificateOptions options;
  options.common_name = std::string(common_name);
  own_ = Make(options, Role::kAuthority, nullptr);
}

TestCertificate TestAuthority::IssueServer(const TestCertificateOptions& options) const {
  return Make(options, Role::kServer, &own_);
}

TestCertificate TestAuthority::IssueClient(const TestCertificateOptions& options) const {
  return Make(options, Role::kClient, &own_);
}

TestCertificate LocalhostCertificate(const TestAuthority& authority) {
  TestCertificateOptions options;
  options.common_name = "test server";
  options.names = {"localhost", "127.0.0.1", "::1"};
  return authority.IssueServer(options);
}

TestFolder::TestFolder() {
  const char* parent = std::getenv("TEST_TMPDIR");
  path_ = absl::StrCat(parent != nullptr ? parent : std::filesystem::temp_directory_path().string(), "/kq-XXXXXX");
  Require(mkdtemp(path_.data()) != nullptr, "folder");
}

TestFolder::~TestFolder() {
  std::error_code ignored;  // what stays lies in the test's temporary folder
  std::filesystem::remove_all(path_, ignored);
}

std::string TestFolder::Path(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

std::string TestFolder::Write(absl::string_view name, absl::string_view text) const {
  const std::string path = Path(name), fresh = path + ".new";
  {
    std::ofstream out(fresh, std::ios::binary);
    out << std::string(text);
    Require(out.flush().good(), "file");
  }
  std::filesystem::rename(fresh, path);
  return path;
}

}  // namespace kq::testing
