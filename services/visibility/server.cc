#include "services/visibility/server.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/metrics.h"
#include "libs/common/mutex.h"
#include "libs/common/process_metrics.h"
#include "libs/common/status_macros.h"
#include "libs/common/stop_signal.h"
#include "libs/common/time_format.h"
#include "libs/http/health.h"
#include "libs/http/http_server.h"
#include "libs/http/listen_address.h"
#include "libs/http/router.h"
#include "libs/kube/rest_client_metrics.h"
#include "libs/process/api_clients.h"
#include "libs/process/certificate_metrics.h"
#include "libs/process/serving.h"
#include "libs/scheduler_client/snapshot_follower.h"
#include "services/visibility/api.h"
#include "services/visibility/authentication.h"
#include "services/visibility/authorization.h"
#include "services/visibility/outcome.h"
#include "services/visibility/proxy_authority.h"
#include "services/visibility/serving_certificate.h"

namespace kq::visibility {
namespace {

constexpr absl::Duration kServingGrace = absl::Seconds(5);
// When what is not in order is looked at again.
constexpr absl::Duration kRetry = absl::Seconds(2);
// Names in a subject of a client, and headers that name groups, may be long.
constexpr size_t kHeaderLimit = 64 << 10;

// The folder for keys, removed at the end if it is ours.
class StateFolder {
 public:
  ~StateFolder() {
    std::error_code ignored;  // it lies among the temporary files
    if (temporary_) std::filesystem::remove_all(path_, ignored);
  }
  absl::Status Open(const std::string& wanted) {
    std::error_code error;
    path_ = wanted;
    if (!wanted.empty()) {
      std::filesystem::create_directories(path_, error);
      return error ? absl::UnavailableError(absl::StrCat("--state-dir: ", path_, ": ", error.message()))
                   : absl::OkStatus();
    }
    path_ = absl::StrCat(std::filesystem::temp_directory_path(error).string(), "/koord-queue-visibility-XXXXXX");
    if (error || ::mkdtemp(path_.data()) == nullptr)
      return absl::UnavailableError("no folder for temporary files: give --state-dir");
    temporary_ = true;
    return absl::OkStatus();
  }
  std::string Path(const char* name) const { return absl::StrCat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool temporary_ = false;
};

// The parts, declared in the order in which they depend on each other, so that
// none is destroyed before those that use it.
class WiredServer : public Server {
 public:
  WiredServer(Config config, Surroundings surroundings)
      : config_(std::move(config)),
        clock_(surroundings.clock),
        api_(surroundings.api),
        pictures_(surroundings.pictures),
        certificate_period_(surroundings.certificate_period) {}
  ~WiredServer() override { Stop(); }

  absl::Status Begin();
  void Stop() override;
  int port() const override { return https_->port(); }
  int metrics_port() const override { return metrics_http_->port(); }

 private:
  absl::Status MakeClients();
  absl::Status MakeAccess();
  absl::Status MakeCertificate();
  void MakeApi();
  std::string CertificateFile() const {
    return certificate_ == nullptr ? config_.tls_certificate_file : certificate_->certificate_file();
  }
  void AddCollectors();
  absl::Status Serve();
  void RunThreads();
  void KeepInOrder();
  HealthState CertificateState() const;
  // What may fail, and how its last try went.
  std::vector<const Outcome*> Outcomes() const;

  const Config config_;
  const Clock* const clock_;

  MetricRegistry registry_;
  RestClientMetrics api_requests_{&registry_};
  HistogramFamily& latency_ = registry_.AddHistogram("koord_queue_visibility_request_duration_seconds",
                                                     "Time to the first byte of an answer, by what was asked for.",
                                                     ExponentialBounds(0.0005, 2, 14), {"what"});
  CounterFamily& requests_ =
      registry_.AddCounter("koord_queue_visibility_requests_total",
                           "Requests, by what was asked for and the answer's code.", {"what", "code"});
  StateFolder folder_;
  ApiClients own_clients_;
  KubeApi* api_;
  std::unique_ptr<SnapshotFollower> follower_;
  const PictureSource* pictures_;
  const absl::Duration certificate_period_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<Authorizer> authorizer_;
  std::unique_ptr<ProxyAuthority> proxies_;
  std::unique_ptr<ServingCertificate> certificate_;  // null with files
  Health health_;
  std::unique_ptr<Api> visibility_;
  std::unique_ptr<HttpServer> https_, metrics_http_;

  StopSignal stop_;
  mutable Mutex mu_;
  std::optional<absl::Time> certificate_end_ ABSL_GUARDED_BY(mu_);  // of one of our own, in use
  Outcome certificate_state_{"certificate", clock_}, proxy_state_{"front-proxy", clock_};
  std::vector<std::thread> threads_;
  std::once_flag stopped_;
};

absl::Status WiredServer::Begin() {
  KQ_RETURN_IF_ERROR(folder_.Open(config_.state_folder));
  KQ_RETURN_IF_ERROR(MakeClients());
  KQ_RETURN_IF_ERROR(MakeAccess());
  KQ_RETURN_IF_ERROR(MakeCertificate());
  MakeApi();
  AddCollectors();
  KQ_RETURN_IF_ERROR(Serve());
  RunThreads();
  return absl::OkStatus();
}

absl::Status WiredServer::MakeClients() {
  if (api_ == nullptr) {
    ApiClientsOptions options;
    options.program = "koord-queue-visibility";
    options.connections = config_.threads + 4;
    options.observe = [this](absl::string_view verb, absl::string_view host, int code, absl::Duration took) {
      api_requests_.Observe(verb, host, code, took);
    };
    KQ_ASSIGN_OR_RETURN(own_clients_, NewApiClients(config_.api, config_.environment, options));
    api_ = own_clients_.api.get();
  }
  if (pictures_ == nullptr) {
    follower_ = std::make_unique<SnapshotFollower>(config_.scheduler, clock_);
    pictures_ = follower_.get();
  }
  return absl::OkStatus();
}

absl::Status WiredServer::MakeAccess() {
  authenticator_ =
      std::make_unique<Authenticator>(Authenticator::Options{.remember = config_.remember_reviews}, api_, clock_);
  authorizer_ = std::make_unique<Authorizer>(Authorizer::Options{.remember = config_.remember_reviews}, api_, clock_);
  proxies_ = std::make_unique<ProxyAuthority>(folder_.Path("front-proxy-ca.crt"), api_, clock_, authenticator_.get());
  return proxies_->WriteProvisional();
}

absl::Status WiredServer::MakeCertificate() {
  if (!config_.IssuesCertificate()) return absl::OkStatus();
  ServingCertificateOptions options;
  options.secret = {config_.ServiceNamespace(), config_.ca_secret};
  options.service = {config_.ServiceNamespace(), config_.service_name};
  options.api_service = config_.api_service;
  options.names = config_.certificate_names;
  options.folder = folder_.path();
  certificate_ = std::make_unique<ServingCertificate>(std::move(options), api_, clock_);
  return certificate_->WriteProvisional();
}

void WiredServer::MakeApi() {
  health_.AddReady("snapshot", [this] {
    const Following following = pictures_->Look();
    if (following.picture == nullptr) return HealthState{following.connection, ""};
    return HealthState{absl::OkStatus(), std::string(following.connection.message())};
  });
  health_.AddReady("front-proxy", [this] {
    return HealthState{proxies_->Health(), std::string(proxies_->Trouble().message())};
  });
  if (certificate_ != nullptr) health_.AddReady("certificate", [this] { return CertificateState(); });
  for (const Outcome* reviews : {&authenticator_->reviews(), &authorizer_->reviews()}) {
    health_.AddReady(reviews->part(), [reviews] {
      return HealthState{absl::OkStatus(), std::string(reviews->Last().message())};
    });
  }
  ApiOptions options;
  options.max_picture_age = config_.max_picture_age;
  options.long_answers = config_.long_answers;
  options.log_bodies = [] { return LogVerbosityAtLeast(4); };
  options.observe = [this](absl::string_view what, int code, absl::Duration took) {
    latency_.Observe({what}, absl::ToDoubleSeconds(took));
    requests_.Increment({what, absl::StrCat(code)});
  };
  visibility_ = std::make_unique<Api>(std::move(options),
                                      ApiParts{pictures_, authenticator_.get(), authorizer_.get(), &health_, clock_});
}

HealthState WiredServer::CertificateState() const {
  const absl::Status last = certificate_state_.Last();
  const MutexLock lock(&mu_);
  if (!certificate_end_.has_value()) return {last.ok() ? absl::UnavailableError("not issued yet") : last, ""};
  const std::string end = TimeText(*certificate_end_);
  if (*certificate_end_ <= clock_->TimeNow())
    return {absl::UnavailableError(absl::StrCat("the one in use ended at ", end, ": ", last.message())), ""};
  return {absl::OkStatus(), last.ok() ? "" : absl::StrCat("the one in use is good until ", end, "; ", last.message())};
}

std::vector<const Outcome*> WiredServer::Outcomes() const {
  std::vector<const Outcome*> outcomes = {&proxy_state_, &authenticator_->reviews(), &authorizer_->reviews()};
  if (certificate_ != nullptr) outcomes.push_back(&certificate_state_);
  return outcomes;
}

void WiredServer::AddCollectors() {
  registry_.AddBuildInfo("koord_queue_visibility", "koord-queue-visibility");
  AddProcessMetrics(&registry_);
  AddCertificateMetrics(&registry_, "https", CertificateFile());
  AddCertificateMetrics(&registry_, "grpc-client", config_.scheduler.certificate_file);
  registry_.AddCollector([this](MetricSink& sink) {
    for (const Outcome* outcome : Outcomes()) {
      sink.Gauge("koord_queue_visibility_in_order", "0 while what is tried again and again fails.",
                 {{"part", outcome->part()}}, outcome->Last().ok() ? 1 : 0);
    }
    const Following following = pictures_->Look();
    sink.Gauge("koord_queue_visibility_connected", "1 while a leading scheduler is followed.", {},
               following.connection.ok() ? 1 : 0);
    if (following.picture == nullptr) return;
    sink.Gauge("koord_queue_visibility_snapshot_age_seconds",
               "Time since the leader last said that this is how things are.", {},
               absl::ToDoubleSeconds(clock_->TimeNow() - following.heard));
  });
}

absl::Status WiredServer::Serve() {
  KQ_ASSIGN_OR_RETURN(HttpServerOptions https, ListenOn(config_.address));
  https.certificate_file = CertificateFile();
  https.key_file = certificate_ == nullptr ? config_.tls_key_file : certificate_->key_file();
  https.client_ca_file = folder_.Path("front-proxy-ca.crt");
  https.connection_limit = config_.connection_limit;
  https.threads = config_.threads;
  https.header_limit_bytes = kHeaderLimit;
  KQ_ASSIGN_OR_RETURN(https_, StartHttpServer(https, [this](const HttpRequest& request, const HttpPeer& peer) {
                        return visibility_->Handle(request, peer);
                      }));
  AddHttpServerMetrics(&registry_, "api", https_.get());
  KQ_ASSIGN_OR_RETURN(const HttpServerOptions metrics, ListenOn(config_.metrics_address));
  std::vector<Route> routes = MetricsRoutes(&registry_);
  for (Route& route : HealthRoutes(&health_)) routes.push_back(std::move(route));
  KQ_ASSIGN_OR_RETURN(const Router router, Router::Build(std::move(routes)));
  KQ_ASSIGN_OR_RETURN(metrics_http_, StartHttpServer(metrics, router));
  KQ_LOG(Info, "Serving", {{"https", absl::StrCat(https.address, ":", port())}, {"metrics_port", metrics_port()}});
  return absl::OkStatus();
}

void WiredServer::RunThreads() {
  threads_.emplace_back([this] { proxies_->Run(); });
  if (follower_ != nullptr) threads_.emplace_back([this] { follower_->Run(); });
  threads_.emplace_back([this] { KeepInOrder(); });
}

void WiredServer::KeepInOrder() {
  for (;;) {
    absl::Status certificate;
    if (certificate_ != nullptr) {
      certificate = certificate_->Step();
      const MutexLock lock(&mu_);
      certificate_end_ = certificate_->End();
    }
    certificate_state_.Set(certificate);
    const absl::Status proxies = proxies_->Trouble();
    proxy_state_.Set(proxies);
    const bool in_order = certificate.ok() && proxies.ok();
    if (!stop_.WaitFor(in_order ? certificate_period_ : std::min(kRetry, certificate_period_))) return;
  }
}

void WiredServer::Stop() {
  std::call_once(stopped_, [this] {
    if (https_ != nullptr) https_->Stop(kServingGrace);
    if (threads_.empty()) return;  // Begin did not get far enough to start one
    stop_.Stop();
    proxies_->Stop();
    if (follower_ != nullptr) follower_->Stop();
    for (std::thread& thread : threads_) thread.join();
    if (metrics_http_ != nullptr) metrics_http_->Stop(kServingGrace);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Config config, Surroundings surroundings) {
  auto server = std::make_unique<WiredServer>(std::move(config), surroundings);
  KQ_RETURN_IF_ERROR(server->Begin());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace kq::visibility
