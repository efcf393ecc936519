#include "services/debug-api/server.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/metrics.h"
#include "libs/common/process_metrics.h"
#include "libs/common/status_macros.h"
#include "libs/http/health.h"
#include "libs/http/http_server.h"
#include "libs/http/listen_address.h"
#include "libs/http/router.h"
#include "libs/kube/rest_client_metrics.h"
#include "libs/process/api_clients.h"
#include "libs/process/certificate_metrics.h"
#include "libs/process/serving.h"
#include "libs/scheduler_client/client.h"
#include "libs/scheduler_client/snapshot_follower.h"
#include "services/debug-api/pages.h"

namespace kq::debug_api {
namespace {

constexpr char kProgram[] = "koord-queue-debug-api";
constexpr absl::Duration kServingGrace = absl::Seconds(1);
constexpr int kApiConnections = 2;
constexpr absl::Duration kPatienceWithLeader = absl::Seconds(3);
constexpr int64_t kDecisionsShown = 20;

LeaderAnswers AskLeader(SchedulerConnectionOptions options, const std::string& server, const ObjectKey& unit) {
  options.servers = {server};
  options.timeout = std::min(options.timeout, kPatienceWithLeader);
  absl::StatusOr<std::unique_ptr<SchedulerClient>> client = SchedulerClient::Connect(options);
  LeaderAnswers answers;
  if (!client.ok()) {
    answers.explanation = client.status();
    answers.decisions = client.status();
    return answers;
  }
  queueing::v1::ExplainRequest explain;
  explain.set_namespace_(unit.ns);
  explain.set_name(unit.name);
  answers.explanation = (*client)->Explain(explain);
  queueing::v1::DecisionsRequest decisions;
  decisions.set_namespace_(unit.ns);
  decisions.set_name(unit.name);
  decisions.set_limit(kDecisionsShown);
  answers.decisions = (*client)->Decisions(decisions);
  return answers;
}

// The parts, declared in the order in which they depend on each other, so that
// none is destroyed before those that use it.
class WiredServer : public Server {
 public:
  WiredServer(Config config, Surroundings surroundings)
      : config_(std::move(config)),
        surroundings_(surroundings),
        api_(surroundings.api),
        pictures_(surroundings.pictures) {}
  ~WiredServer() override { Stop(); }

  absl::Status Begin();
  void Stop() override;
  int port() const override { return http_->port(); }
  int health_port() const override { return health_http_ == nullptr ? 0 : health_http_->port(); }

 private:
  absl::Status MakeSources();
  void MakeMetrics();
  absl::Status Serve();
  HealthState PictureState() const;
  // Who may ask, and the answer.
  HttpResponse Answer(const HttpRequest& request, const HttpPeer& peer) const;

  const Config config_;
  const Surroundings surroundings_;

  MetricRegistry registry_;
  RestClientMetrics api_requests_{&registry_};
  CounterFamily& requests_ = registry_.AddCounter(
      "koord_queue_debug_api_requests_total", "Requests of the debug API, by page and HTTP code.", {"page", "code"});
  ApiClients own_clients_;
  KubeApi* api_;
  std::unique_ptr<SnapshotFollower> follower_;  // null if pictures come from elsewhere
  const PictureSource* pictures_;
  std::unique_ptr<Pages> pages_;
  Health health_;
  std::unique_ptr<const Router> router_;
  std::unique_ptr<HttpServer> http_, health_http_;
  std::thread follower_thread_;
  std::once_flag stopped_;
};

absl::Status WiredServer::Begin() {
  KQ_RETURN_IF_ERROR(MakeSources());
  PagesParts parts;
  parts.pictures = pictures_;
  parts.api = api_;
  parts.clock = surroundings_.clock;
  parts.ask_leader = [this](const std::string& server, const ObjectKey& unit) {
    return AskLeader(config_.scheduler, server, unit);
  };
  pages_ = std::make_unique<Pages>(std::move(parts), config_.pages);
  MakeMetrics();
  KQ_RETURN_IF_ERROR(Serve());
  if (follower_ != nullptr) follower_thread_ = std::thread([this] { follower_->Run(); });
  return absl::OkStatus();
}

absl::Status WiredServer::MakeSources() {
  if (api_ == nullptr) {
    ApiClientsOptions options;
    options.program = kProgram;
    options.connections = kApiConnections;
    options.observe = [this](absl::string_view verb, absl::string_view host, int code, absl::Duration took) {
      api_requests_.Observe(verb, host, code, took);
    };
    KQ_ASSIGN_OR_RETURN(own_clients_, NewApiClients(config_.api, config_.environment, options));
    api_ = own_clients_.api.get();
  }
  if (pictures_ == nullptr) {
    follower_ = std::make_unique<SnapshotFollower>(config_.scheduler, surroundings_.clock);
    pictures_ = follower_.get();
  }
  return absl::OkStatus();
}

void WiredServer::MakeMetrics() {
  registry_.AddBuildInfo("koord_queue_debug_api", kProgram);
  AddProcessMetrics(&registry_);
  AddCertificateMetrics(&registry_, "https", config_.certificate_file);
  AddCertificateMetrics(&registry_, "grpc-client", config_.scheduler.certificate_file);
  registry_.AddCollector([this](MetricSink& sink) {
    const Following following = pictures_->Look();
    sink.Gauge("koord_queue_debug_api_follows_leader", "1 while the leading scheduler is followed.", {},
               following.connection.ok() ? 1 : 0);
    if (following.picture == nullptr) return;
    sink.Gauge("koord_queue_debug_api_snapshot_age_seconds", "Since the scheduler was last heard of.", {},
               absl::ToDoubleSeconds(surroundings_.clock->TimeNow() - following.heard));
  });
}

HttpResponse WiredServer::Answer(const HttpRequest& request, const HttpPeer& peer) const {
  if (!config_.client_ca_file.empty() && peer.common_name.empty())
    return ErrorReply(401, "a client certificate of the configured authority is needed");
  return WithStatusBody((*router_)(request, peer));
}

absl::Status WiredServer::Serve() {
  health_.AddReady("picture", [this] { return PictureState(); });
  const auto common = [this] {
    std::vector<Route> routes = MetricsRoutes(&registry_);
    for (Route& route : HealthRoutes(&health_)) routes.push_back(std::move(route));
    return routes;
  };
  std::vector<Route> routes = common();
  for (Route& route : pages_->Routes()) routes.push_back(std::move(route));
  KQ_ASSIGN_OR_RETURN(Router router, Router::Build(std::move(routes)));
  router_ = std::make_unique<const Router>(std::move(router));
  KQ_ASSIGN_OR_RETURN(const HttpServerOptions options, config_.Listen());
  KQ_ASSIGN_OR_RETURN(http_, StartHttpServer(options, [this](const HttpRequest& request, const HttpPeer& peer) {
                        HttpResponse response = Answer(request, peer);
                        const absl::string_view page = router_->PatternOf(request);
                        requests_.Increment({page.empty() ? "other" : page, absl::StrCat(response.code)});
                        return response;
                      }));
  AddHttpServerMetrics(&registry_, "api", http_.get());
  if (config_.health_address != kNowhere) {
    KQ_ASSIGN_OR_RETURN(const HttpServerOptions health_options, ListenOn(config_.health_address));
    KQ_ASSIGN_OR_RETURN(const Router health_router, Router::Build(common()));
    KQ_ASSIGN_OR_RETURN(health_http_, StartHttpServer(health_options, health_router));
  }
  KQ_LOG(Info, "Serving", {{"port", port()}, {"health_port", health_port()}});
  return absl::OkStatus();
}

HealthState WiredServer::PictureState() const {
  const Following following = pictures_->Look();
  if (following.picture == nullptr) return {following.connection, ""};
  if (following.connection.ok()) return {absl::OkStatus(), absl::StrCat("follows ", following.server)};
  return {absl::OkStatus(), absl::StrCat("the last one is kept: ", std::string(following.connection.message()))};
}

void WiredServer::Stop() {
  std::call_once(stopped_, [this] {
    if (follower_ != nullptr) follower_->Stop();
    if (follower_thread_.joinable()) follower_thread_.join();
    if (http_ != nullptr) http_->Stop(kServingGrace);
    if (health_http_ != nullptr) health_http_->Stop(kServingGrace);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Config config, Surroundings surroundings) {
  auto server = std::make_unique<WiredServer>(std::move(config), surroundings);
  KQ_RETURN_IF_ERROR(server->Begin());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace kq::debug_api
