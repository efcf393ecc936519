#include "services/visibility/proxy_authority.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "libs/common/mutex.h"
#include "libs/common/status_macros.h"
#include "libs/kube/reflector.h"
#include "libs/pki/certificate.h"
#include "services/visibility/private_file.h"
#include "services/visibility/request_header.h"

namespace kq::visibility {
namespace {

constexpr char kName[] = "extension-apiserver-authentication";
constexpr char kWhere[] = "configmap kube-system/extension-apiserver-authentication";

ReflectorOptions OneConfigMap() {
  ReflectorOptions options;
  options.resource = {"", "v1", "configmaps"};
  options.ns = "kube-system";
  options.field_selector = std::string("metadata.name=") + kName;
  return options;
}

}  // namespace

// Takes the ConfigMap apart.
class ProxyAuthority::Sink : public ReflectorSink {
 public:
  Sink(std::string file, Authenticator* authenticator) : file_(std::move(file)), authenticator_(authenticator) {}

  bool Upserted(const Json& object) override {
    if (KeyOf(object).name == kName) Set(Take(object));
    return true;
  }
  bool Removed(const ObjectKey&, absl::string_view, uint64_t) override {
    Set(absl::NotFoundError("it is gone"));
    return true;
  }
  void Listed(uint64_t) override {}
  void Broken(const absl::Status& why) override { Set(why); }

  // Of the last one that was seen.
  absl::Status Last() const {
    const MutexLock lock(&mu_);
    return last_;
  }
  bool Known() const {
    const MutexLock lock(&mu_);
    return known_;
  }

 private:
  absl::Status Take(const Json& object) {
    KQ_ASSIGN_OR_RETURN(RequestHeaderConfig config, ParseRequestHeaderConfig(object));
    if (SplitCertificates(config.ca_pem).empty())
      return absl::InvalidArgumentError("requestheader-client-ca-file: no certificate in it");
    if (config.ca_pem != written_) KQ_RETURN_IF_ERROR(WritePrivateFile(file_, config.ca_pem));
    written_ = config.ca_pem;
    authenticator_->SetRequestHeader(std::move(config));
    return absl::OkStatus();
  }
  void Set(const absl::Status& state) {
    const MutexLock lock(&mu_);
    last_ = state;
    known_ = known_ || state.ok();
  }

  const std::string file_;
  Authenticator* const authenticator_;
  std::string written_;  // of the reflector's thread
  mutable Mutex mu_;
  absl::Status last_ ABSL_GUARDED_BY(mu_);
  bool known_ ABSL_GUARDED_BY(mu_) = false;  // a good one is in force
};

struct ProxyAuthority::Watch {
  Watch(KubeApi* api, const Clock* clock, ReflectorSink* sink) : reflector(OneConfigMap(), api, clock, sink) {}
  Reflector reflector;
};

ProxyAuthority::ProxyAuthority(std::string file, KubeApi* api, const Clock* clock, Authenticator* authenticator)
    : file_(std::move(file)),
      clock_(clock),
      sink_(std::make_unique<Sink>(file_, authenticator)),
      watch_(std::make_unique<Watch>(api, clock, sink_.get())) {}

ProxyAuthority::~ProxyAuthority() = default;

absl::Status ProxyAuthority::WriteProvisional() const {
  CertificateRequest request;
  request.common_name = "nobody yet";
  request.not_before = clock_->TimeNow();
  request.not_after = clock_->TimeNow() + absl::Hours(1);
  KQ_ASSIGN_OR_RETURN(const CertificateAndKey authority, MakeAuthority(request));
  return WritePrivateFile(file_, authority.certificate_pem);
}

void ProxyAuthority::Run() { watch_->reflector.Run(); }
void ProxyAuthority::Stop() { watch_->reflector.Stop(); }

absl::Status ProxyAuthority::Health() const {
  if (sink_->Known()) return absl::OkStatus();
  const absl::Status trouble = Trouble();
  return trouble.ok() ? WithContext(absl::UnavailableError("not read yet"), kWhere) : trouble;
}

absl::Status ProxyAuthority::Trouble() const {
  const absl::Status watch = watch_->reflector.Health();
  return WithContext(watch.ok() ? sink_->Last() : watch, kWhere);
}

}  // namespace kq::visibility
