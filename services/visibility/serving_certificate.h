#ifndef SERVICES_VISIBILITY_SERVING_CERTIFICATE_H_
#define SERVICES_VISIBILITY_SERVING_CERTIFICATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"
#include "libs/pki/certificate.h"

namespace kq::visibility {

struct ServingCertificateOptions {
  ObjectKey secret{"koord-queue", "koord-queue-visibility-ca"};
  // The Service that the API server calls. If it is there it owns the Secret, which
  // then goes when it goes.
  ObjectKey service{"koord-queue", "koord-queue-visibility-server"};
  std::string api_service = "v1alpha1.visibility.koord-queue.x-k8s.io";  // empty: its caBundle is left alone
  std::vector<std::string> names;                                        // in the certificate, besides the Service's
  std::string folder;  // where the files for the HTTP server are written; ours alone
  absl::Duration authority_validity = absl::Hours(24 * 365 * 5);
  absl::Duration certificate_validity = absl::Hours(24 * 30);
};

// The certificate that the visibility server shows, and the authority behind it,
// which all replicas share through a Secret:
//
//   no Secret yet                 the first replica makes an authority; the others,
//                                 who come too late to create it, read that one
//   a third of its time is left   one replica makes a new authority; the old one stays
//                                 in the bundle until its end, so that certificates of
//                                 both are trusted meanwhile
//   the bundle changed            it is put into the APIService's caBundle, by whichever
//                                 replica sees it first; a certificate of the new
//                                 authority is shown from the Step after the one that
//                                 found it there, when the API server has had time to
//                                 learn of it
//   insecureSkipTLSVerify         it is taken off the APIService, which has our caBundle
//   the Secret is spoiled         it is left alone, and so is the APIService
//
// Each replica issues itself a certificate and renews it when a third of its time is
// left. One that is trusted is not given up, whatever else fails, for one that may not
// be; a replica that has none takes what there is.
// Keys lie in the Secret and in files of mode 0600, nowhere else.
// Not thread-safe.
class ServingCertificate {
 public:
  // `api` and `clock` must outlive it.
  ServingCertificate(ServingCertificateOptions options, KubeApi* api, const Clock* clock);

  // Files that a server can be started with before the first Step: a certificate of
  // an authority that nobody knows.
  absl::Status WriteProvisional();

  // Does what is due. Errors are for the log and /readyz; call again soon.
  absl::Status Step();

  std::string certificate_file() const;
  std::string key_file() const;
  // When the certificate in use ends; nullopt before the first Step that worked.
  std::optional<absl::Time> End() const { return end_; }

 private:
  struct Authorities {
    CertificateAndKey newest;
    std::string bundle_pem;  // the newest first
  };

  absl::StatusOr<Authorities> ReadOrMake();
  absl::StatusOr<Authorities> Decode(const Json& secret) const;
  absl::StatusOr<CertificateAndKey> NewAuthority() const;
  absl::StatusOr<Json> SecretOf(const Authorities& authorities);
  absl::StatusOr<Authorities> Renewed(const Json& secret, const Authorities& old);
  absl::Status IssueIfDue(const Authorities& authorities);
  // Whether the APIService has the bundle, now or already.
  absl::Status Publish(const std::string& bundle_pem);
  // One is in use, and its time is not over.
  bool InUse() const;
  bool IssuedByOneOf(const std::string& bundle_pem) const;
  absl::Status WriteFiles(const CertificateAndKey& made) const;

  const ServingCertificateOptions options_;
  KubeApi* const api_;
  const Clock* const clock_;
  std::string issuer_pem_;     // of the certificate in use
  std::string published_pem_;  // what the APIService had at the last Step at which we could see it
  std::optional<absl::Time> end_;
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_SERVING_CERTIFICATE_H_
