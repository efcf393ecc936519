#include "services/visibility/serving_certificate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"
#include "services/visibility/private_file.h"

namespace kq::visibility {
namespace {

const KubeResource kSecrets{"", "v1", "secrets"};
const KubeResource kServices{"", "v1", "services"};
const KubeResource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};

constexpr int kPublishAttempts = 5;
// A peer's clock may be behind ours.
constexpr absl::Duration kClockSkew = absl::Minutes(5);

bool IsDue(absl::Time end, absl::Duration validity, absl::Time now) { return now >= end - validity / 3; }

// As an APIService may be that was registered by hand, or is left of the original.
bool SkipsVerification(const Json& api_service) {
  const Json* skip = Find(api_service, {"spec", "insecureSkipTLSVerify"});
  return skip != nullptr && skip->is_bool() && skip->get_bool();
}

std::string DataAt(const Json& secret, const char* key) {
  std::string text;
  return absl::Base64Unescape(StringAt(secret, {"data", key}), &text) ? text : "";
}

}  // namespace

ServingCertificate::ServingCertificate(ServingCertificateOptions options, KubeApi* api, const Clock* clock)
    : options_(std::move(options)), api_(api), clock_(clock) {}

std::string ServingCertificate::certificate_file() const { return absl::StrCat(options_.folder, "/tls.crt"); }
std::string ServingCertificate::key_file() const { return absl::StrCat(options_.folder, "/tls.key"); }

absl::Status ServingCertificate::WriteFiles(const CertificateAndKey& made) const {
  KQ_RETURN_IF_ERROR(WritePrivateFile(key_file(), made.key_pem));
  return WritePrivateFile(certificate_file(), made.certificate_pem);
}

absl::StatusOr<CertificateAndKey> ServingCertificate::NewAuthority() const {
  CertificateRequest request;
  request.common_name = absl::StrCat("koord-queue-visibility-ca@", absl::ToUnixSeconds(clock_->TimeNow()));
  request.not_before = clock_->TimeNow() - kClockSkew;
  request.not_after = clock_->TimeNow() + options_.authority_validity;
  return MakeAuthority(request);
}

absl::Status ServingCertificate::WriteProvisional() {
  KQ_ASSIGN_OR_RETURN(const CertificateAndKey authority, NewAuthority());
  CertificateRequest request;
  request.common_name = "koord-queue-visibility, not ready yet";
  request.not_before = clock_->TimeNow() - kClockSkew;
  request.not_after = clock_->TimeNow() + options_.certificate_validity;
  request.names = {"localhost"};
  KQ_ASSIGN_OR_RETURN(const CertificateAndKey made, IssueCertificate(authority, CertificateUse::kServer, request));
  return WriteFiles(made);
}

absl::Status ServingCertificate::Step() {
  KQ_ASSIGN_OR_RETURN(const Authorities authorities, ReadOrMake());
  absl::Status published = Publish(authorities.bundle_pem);
  const bool known = published.ok() && published_pem_ == authorities.bundle_pem;  // since the Step before
  if (published.ok()) published_pem_ = authorities.bundle_pem;
  const bool same_issuer = issuer_pem_ == authorities.newest.certificate_pem;
  // Whoever cannot be told of the new authority still trusts the old one.
  const bool trusted = InUse() && (!published.ok() || IssuedByOneOf(authorities.bundle_pem));
  if (known || same_issuer || !trusted) KQ_RETURN_IF_ERROR(IssueIfDue(authorities));
  return published;
}

bool ServingCertificate::InUse() const { return end_.has_value() && *end_ > clock_->TimeNow(); }

bool ServingCertificate::IssuedByOneOf(const std::string& bundle_pem) const {
  const std::vector<std::string> trusted = SplitCertificates(bundle_pem);
  return std::find(trusted.begin(), trusted.end(), issuer_pem_) != trusted.end();
}

absl::StatusOr<ServingCertificate::Authorities> ServingCertificate::Decode(const Json& secret) const {
  Authorities authorities;
  authorities.bundle_pem = DataAt(secret, "ca.crt");
  const std::vector<std::string> certificates = SplitCertificates(authorities.bundle_pem);
  if (certificates.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("secret ", options_.secret.ToString(), ": no certificate in ca.crt"));
  authorities.newest = {certificates.front(), DataAt(secret, "ca.key")};
  return authorities;
}

absl::StatusOr<Json> ServingCertificate::SecretOf(const Authorities& authorities) {
  JsonObject metadata = {{"name", options_.secret.name},
                         {"namespace", options_.secret.ns},
                         {"labels", {{"app.kubernetes.io/part-of", "koord-queue"}}}};
  const absl::StatusOr<Json> service = api_->Get(kServices, options_.service);
  if (service.ok()) {
    const JsonObject owner = {
        {"apiVersion", "v1"}, {"kind", "Service"}, {"name", options_.service.name}, {"uid", UidOf(*service)}};
    metadata["ownerReferences"] = JsonArray{owner};
  } else if (!absl::IsNotFound(service.status())) {
    return WithContext(service.status(), absl::StrCat("get service ", options_.service.ToString()));
  }
  return Json{{"apiVersion", "v1"},
              {"kind", "Secret"},
              {"metadata", std::move(metadata)},
              {"type", "Opaque"},
              {"data",
               {{"ca.crt", absl::Base64Escape(authorities.bundle_pem)},
                {"ca.key", absl::Base64Escape(authorities.newest.key_pem)}}}};
}

absl::StatusOr<ServingCertificate::Authorities> ServingCertificate::ReadOrMake() {
  absl::StatusOr<Json> secret = api_->Get(kSecrets, options_.secret);
  if (absl::IsNotFound(secret.status())) {
    KQ_ASSIGN_OR_RETURN(const CertificateAndKey authority, NewAuthority());
    KQ_ASSIGN_OR_RETURN(const Json wanted, SecretOf({authority, authority.certificate_pem}));
    secret = api_->Create(kSecrets, options_.secret.ns, wanted);
    if (absl::IsAlreadyExists(secret.status())) secret = api_->Get(kSecrets, options_.secret);  // another was first
  }
  if (!secret.ok()) return WithContext(secret.status(), absl::StrCat("secret ", options_.secret.ToString()));
  KQ_ASSIGN_OR_RETURN(const Authorities authorities, Decode(*secret));
  KQ_ASSIGN_OR_RETURN(const absl::Time end, CertificateEnd(authorities.newest.certificate_pem));
  if (IsDue(end, options_.authority_validity, clock_->TimeNow())) return Renewed(*secret, authorities);
  // Before anybody is told to trust it: of an authority that can issue nothing there would be no certificate.
  KQ_RETURN_IF_ERROR(
      WithContext(CheckAuthority(authorities.newest), absl::StrCat("secret ", options_.secret.ToString())));
  return authorities;
}

absl::StatusOr<ServingCertificate::Authorities> ServingCertificate::Renewed(const Json& secret,
                                                                            const Authorities& old) {
  KQ_ASSIGN_OR_RETURN(const CertificateAndKey authority, NewAuthority());
  Authorities renewed{authority, authority.certificate_pem};
  for (const std::string& certificate : SplitCertificates(old.bundle_pem)) {
    const absl::StatusOr<absl::Time> end = CertificateEnd(certificate);
    if (end.ok() && *end > clock_->TimeNow()) renewed.bundle_pem += certificate;
  }
  Json wanted = secret;
  wanted.as_object()["data"] = {{"ca.crt", absl::Base64Escape(renewed.bundle_pem)},
                                {"ca.key", absl::Base64Escape(authority.key_pem)}};
  const absl::StatusOr<Json> written = api_->Update(kSecrets, Subresource::kNone, wanted);
  if (absl::IsAborted(written.status())) {  // another renewed it at the same time
    KQ_ASSIGN_OR_RETURN(const Json now, api_->Get(kSecrets, options_.secret));
    return Decode(now);
  }
  if (!written.ok()) return WithContext(written.status(), absl::StrCat("renew secret ", options_.secret.ToString()));
  KQ_LOG(Info, "The authority of the serving certificates was renewed", {{"secret", options_.secret.ToString()}});
  return renewed;
}

absl::Status ServingCertificate::IssueIfDue(const Authorities& authorities) {
  const absl::Time now = clock_->TimeNow();
  const bool current = end_.has_value() && issuer_pem_ == authorities.newest.certificate_pem &&
                       !IsDue(*end_, options_.certificate_validity, now);
  if (current) return absl::OkStatus();
  KQ_ASSIGN_OR_RETURN(const absl::Time authority_end, CertificateEnd(authorities.newest.certificate_pem));
  const std::string host = absl::StrCat(options_.service.name, ".", options_.service.ns, ".svc");
  CertificateRequest request;
  request.common_name = host;
  request.names = options_.names;
  request.names.push_back(host);
  request.names.push_back(absl::StrCat(host, ".cluster.local"));
  request.not_before = now - kClockSkew;
  request.not_after = std::min(now + options_.certificate_validity, authority_end);
  KQ_ASSIGN_OR_RETURN(const CertificateAndKey made,
                      IssueCertificate(authorities.newest, CertificateUse::kServer, request));
  KQ_RETURN_IF_ERROR(WriteFiles(made));
  issuer_pem_ = authorities.newest.certificate_pem;
  end_ = request.not_after;
  KQ_LOG(Info, "A serving certificate was issued", {{"host", host}, {"until", absl::FormatTime(*end_)}});
  return absl::OkStatus();
}

absl::Status ServingCertificate::Publish(const std::string& bundle_pem) {
  if (options_.api_service.empty()) return absl::OkStatus();
  const ObjectKey key{"", options_.api_service};
  const std::string wanted = absl::Base64Escape(bundle_pem);
  absl::Status conflict;
  for (int attempt = 0; attempt < kPublishAttempts; ++attempt) {
    const absl::StatusOr<Json> registered = api_->Get(kApiServices, key);
    if (!registered.ok()) return WithContext(registered.status(), absl::StrCat("get apiservice ", key.name));
    const bool told = StringAt(*registered, {"spec", "caBundle"}) == wanted && !SkipsVerification(*registered);
    if (told) return absl::OkStatus();
    PatchRequest patch;
    patch.resource = kApiServices;
    patch.key = key;
    patch.patch = {{"metadata", {{"resourceVersion", StringAt(*registered, {"metadata", "resourceVersion"})}}},
                   // The API server takes no caBundle beside a true one.
                   {"spec", {{"caBundle", wanted}, {"insecureSkipTLSVerify", nullptr}}}};
    const absl::StatusOr<Json> patched = api_->Patch(patch);
    if (patched.ok()) {
      KQ_LOG(Info, "The authority was put into the APIService", {{"apiservice", key.name}});
      return absl::OkStatus();
    }
    conflict = WithContext(patched.status(), absl::StrCat("patch apiservice ", key.name));
    // The API server writes its status whenever it has looked for us.
    if (!absl::IsAborted(conflict)) break;
  }
  return conflict;
}

}  // namespace kq::visibility
