#ifndef LIBS_PKI_CERTIFICATE_H_
#define LIBS_PKI_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Makes X.509 certificates with OpenSSL: an authority of one's own, and what it
// issues. P-256 keys, SHA-256 signatures. Free functions, thread-safe.
namespace kq {

// A certificate and its key, in PEM. The key is a secret: it is never logged.
struct CertificateAndKey {
  std::string certificate_pem;
  std::string key_pem;
};

enum class CertificateUse { kServer, kClient };

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  // Subject alternative names: DNS names, and IP addresses in their usual spelling.
  std::vector<std::string> names;
  absl::Time not_before;  // whole seconds
  absl::Time not_after;
};

// An authority, which signs itself.
absl::StatusOr<CertificateAndKey> MakeAuthority(const CertificateRequest& request);
// Whether it can issue certificates: kInvalidArgument if its texts are no certificate
// of an authority and the key that belongs to it.
absl::Status CheckAuthority(const CertificateAndKey& authority);
// Errors: those of CheckAuthority.
absl::StatusOr<CertificateAndKey> IssueCertificate(const CertificateAndKey& authority, CertificateUse use,
                                                   const CertificateRequest& request);

// When the first certificate of the text ends.
absl::StatusOr<absl::Time> CertificateEnd(absl::string_view certificate_pem);
// The certificates of a bundle, each as a text of its own; what is no certificate
// is left out.
std::vector<std::string> SplitCertificates(absl::string_view bundle_pem);

}  // namespace kq

#endif  // LIBS_PKI_CERTIFICATE_H_
