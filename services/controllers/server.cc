#include "services/controllers/server.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/metrics.h"
#include "libs/common/mutex.h"
#include "libs/common/process_metrics.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/http/http_server.h"
#include "libs/http/router.h"
#include "libs/kube/events.h"
#include "libs/kube/http_kube_api.h"
#include "libs/kube/kubeconfig.h"
#include "libs/kube/lease.h"
#include "services/controllers/adapters/batch_job.h"
#include "services/controllers/controller_metrics.h"
#include "services/controllers/job_controller.h"

namespace kq::controllers {
namespace {

constexpr absl::Duration kServingGrace = absl::Seconds(1);
constexpr absl::Duration kSyncPoll = absl::Milliseconds(50);
constexpr absl::Duration kFarewell = absl::Seconds(2);  // for events, at the end

// The kinds of jobs that there are, by the name of their extension.
std::unique_ptr<JobAdapter> NewAdapter(const std::string& extension) {
  if (extension == "job") return NewBatchJobAdapter();
  return nullptr;
}

absl::StatusOr<KubeConnection> ConnectionOf(const Config& config) {
  if (!config.kubeconfig.empty()) return LoadKubeconfig(config.kubeconfig, config.context);
  if (config.environment.service_host.empty()) {
    return absl::InvalidArgumentError("no API server: give --kubeconfig, set KUBECONFIG, or run in a pod");
  }
  return InClusterConnection(config.environment.service_host, config.environment.service_port);
}

HttpResponse TextAnswer(int code, std::string body) {
  HttpResponse response;
  response.code = code;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.body = std::move(body);
  return response;
}

// The parts, declared in the order in which they depend on each other, so that
// none is destroyed before those that use it.
class WiredServer : public Server {
 public:
  WiredServer(Config config, Surroundings surroundings)
      : config_(std::move(config)),
        surroundings_(std::move(surroundings)),
        clock_(surroundings_.clock),
        api_(surroundings_.api),
        lease_api_(surroundings_.api) {}
  ~WiredServer() override { Stop(); }

  // Makes every part, then starts the threads.
  absl::Status Begin();
  void Stop() override;
  int metrics_port() const override { return metrics_http_ == nullptr ? 0 : metrics_http_->port(); }
  int health_port() const override { return health_http_ == nullptr ? 0 : health_http_->port(); }
  std::string MetricsText() const override { return registry_.Text(); }
  bool Works() const override { return works_; }

 private:
  absl::Status MakeApi();
  void MakeEvents();
  absl::Status MakeControllers();
  absl::Status Serve();
  void RunThreads();

  // Waits for the lists, then leads if need be, then lets the workers work.
  void Control();
  absl::Status Ready() const;
  void LogWhenItChanges(const absl::Status& ready);
  // False once Stop was called.
  bool Wait(absl::Duration duration);
  bool MayWrite() const { return lease_ == nullptr || lease_->MayWrite(); }
  HttpResponse Readyz(bool verbose) const;

  const Config config_;
  const Surroundings surroundings_;
  const Clock* const clock_;

  MetricRegistry registry_;
  ControllerMetrics metrics_{&registry_};
  std::unique_ptr<KubeApi> own_api_, own_lease_api_;
  KubeApi* api_;
  KubeApi* lease_api_;
  std::unique_ptr<Lease> lease_;  // null without election
  std::unique_ptr<EventRecorder> events_;
  std::vector<std::unique_ptr<JobController>> controllers_;
  std::unique_ptr<HttpServer> metrics_http_, health_http_;

  std::atomic<bool> works_{false};
  std::string last_reason_;  // of the control thread
  Mutex mu_;
  CondVar stop_called_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread control_thread_, events_thread_;
  std::once_flag stopped_;
};

absl::Status WiredServer::Begin() {
  KQ_RETURN_IF_ERROR(MakeApi());
  MakeEvents();
  if (config_.leader_election) lease_ = std::make_unique<Lease>(config_.LeaseOf(), lease_api_, clock_);
  KQ_RETURN_IF_ERROR(MakeControllers());
  KQ_RETURN_IF_ERROR(Serve());
  RunThreads();
  return absl::OkStatus();
}

absl::Status WiredServer::MakeApi() {
  if (api_ != nullptr) return absl::OkStatus();
  KQ_ASSIGN_OR_RETURN(const KubeConnection connection, ConnectionOf(config_));
  HttpKubeApiOptions options;
  options.user_agent = absl::StrCat("koord-queue-controllers/", kVersion);
  options.connections = config_.workers + 16;
  options.qps = config_.kube_api_qps;
  options.burst = config_.kube_api_burst;
  options.observe = [this](absl::string_view verb, absl::string_view host, int code, absl::Duration took) {
    metrics_.OnRequest(verb, host, code, took);
  };
  KQ_ASSIGN_OR_RETURN(own_api_, NewHttpKubeApi(connection, options));
  // The lease has a connection of its own: it must not wait behind other
  // requests, nor longer for an answer than it may for a renewal.
  options.connections = 1;
  options.qps = 0;
  options.timeout = std::max(config_.renew_deadline / 2, absl::Seconds(1));
  KQ_ASSIGN_OR_RETURN(own_lease_api_, NewHttpKubeApi(connection, options));
  api_ = own_api_.get();
  lease_api_ = own_lease_api_.get();
  KQ_LOG(Info, "API server", {{"server", connection.server}, {"context", connection.context}});
  return absl::OkStatus();
}

void WiredServer::MakeEvents() {
  EventOptions events;
  events.component = "koord-queue-controllers";
  events.host = config_.environment.pod_name.empty() ? config_.environment.host : config_.environment.pod_name;
  events.per_second = config_.events_per_second;
  events_ = std::make_unique<EventRecorder>(std::move(events), api_, clock_);
}

absl::Status WiredServer::MakeControllers() {
  registry_.AddBuildInfo("koord_queue_controllers", "koord-queue-controllers");
  AddProcessMetrics(&registry_);
  for (const std::string& extension : config_.extensions) {
    std::unique_ptr<JobAdapter> adapter = NewAdapter(extension);
    if (adapter == nullptr) return absl::InvalidArgumentError(absl::StrCat("no such extension: ", extension));
    JobControllerOptions options;
    options.reconciler.rules.all_jobs = config_.manage_all_jobs;
    options.reconciler.pacing.interval = config_.report_interval;
    options.reconciler.pacing.quiet_interval = 10 * config_.report_interval;
    options.reconciler.with_conditions = config_.feature_gates.at("QueueUnitConditions");
    options.reconciler.may_write = [this] { return MayWrite(); };
    options.queue.retries_per_second = config_.retries_per_second;
    options.namespaces = config_.namespaces;
    options.workers = config_.workers;
    options.observe = [this, extension](const absl::Status& result, absl::Duration took) {
      metrics_.OnReconcile(extension, result, took);
    };
    controllers_.push_back(std::make_unique<JobController>(
        std::move(options), std::move(adapter), api_, clock_,
        [this](const ObjectReference& object, EventType type, absl::string_view reason, absl::string_view message) {
          events_->Record(object, type, reason, message);
        }));
    registry_.AddCollector(
        [controller = controllers_.back().get()](MetricSink& sink) { CollectController(*controller, &sink); });
  }
  registry_.AddCollector([this](MetricSink& sink) {
    const EventRecorder::Totals events = events_->Now();
    const auto count = [&](const char* result, int64_t value) {
      sink.Counter("koord_queue_controllers_events_total", "Kubernetes Events, by what became of them",
                   {{"result", result}}, static_cast<double>(value));
    };
    count("written", events.written);
    count("aggregated", events.aggregated);
    count("dropped", events.dropped);
    count("failed", events.failed);
    sink.Gauge("koord_queue_controllers_working", "1 while this replica looks at jobs.", {}, works_ ? 1 : 0);
  });
  return absl::OkStatus();
}

absl::Status WiredServer::Serve() {
  const auto metrics = [this](const HttpRequest&, const HttpPeer&, const PathCaptures&) {
    HttpResponse response;
    response.headers.Add("Content-Type", MetricRegistry::kContentType);
    response.body = registry_.Text();
    return response;
  };
  const auto alive = [](const HttpRequest&, const HttpPeer&, const PathCaptures&) { return TextAnswer(200, "ok\n"); };
  const auto ready = [this](const HttpRequest& request, const HttpPeer&, const PathCaptures&) {
    const auto query = TargetQuery(request.target);
    return Readyz(std::any_of(query.begin(), query.end(), [](const auto& pair) { return pair.first == "verbose"; }));
  };
  KQ_ASSIGN_OR_RETURN(const Router metrics_router, Router::Build({{"GET", "/metrics", metrics}}));
  KQ_ASSIGN_OR_RETURN(const Router health_router,
                      Router::Build({{"GET", "/healthz", alive}, {"GET", "/livez", alive}, {"GET", "/readyz", ready}}));
  KQ_ASSIGN_OR_RETURN(const auto metrics_address, ListenOn(config_.metrics_address));
  KQ_ASSIGN_OR_RETURN(const auto health_address, ListenOn(config_.health_address));
  if (metrics_address.has_value()) {
    KQ_ASSIGN_OR_RETURN(metrics_http_, StartHttpServer(*metrics_address, metrics_router));
  }
  if (health_address.has_value()) {
    KQ_ASSIGN_OR_RETURN(health_http_, StartHttpServer(*health_address, health_router));
  }
  KQ_LOG(Info, "Serving", {{"metrics_port", metrics_port()}, {"health_port", health_port()}});
  return absl::OkStatus();
}

void WiredServer::RunThreads() {
  for (const auto& controller : controllers_) controller->StartWatches();
  events_thread_ = std::thread([this] { events_->Run(); });
  control_thread_ = std::thread([this] { Control(); });
}

absl::Status WiredServer::Ready() const {
  for (const auto& controller : controllers_) {
    KQ_RETURN_IF_ERROR(controller->Health());
    if (!controller->Synced()) return absl::UnavailableError("the cluster is being listed");
  }
  return absl::OkStatus();
}

void WiredServer::LogWhenItChanges(const absl::Status& ready) {
  const std::string reason = ready.ok() ? "" : std::string(ready.message());
  if (reason != last_reason_ && !reason.empty()) KQ_LOG(Info, "Not ready", {{"reason", reason}});
  last_reason_ = reason;
}

bool WiredServer::Wait(absl::Duration duration) {
  MutexLock lock(&mu_);
  const absl::Time until = clock_->TimeNow() + duration;
  while (!stopping_ && clock_->TimeNow() < until) stop_called_.WaitFor(&mu_, until - clock_->TimeNow());
  return !stopping_;
}

void WiredServer::Control() {
  const auto synced = [this] {
    return std::all_of(controllers_.begin(), controllers_.end(), [](const auto& one) { return one->Synced(); });
  };
  while (!synced()) {
    LogWhenItChanges(Ready());
    if (!Wait(kSyncPoll)) return;
  }
  KQ_LOG(Info, "The cluster has been listed");
  while (lease_ != nullptr && lease_->role() == Lease::Role::kFollower) {
    const absl::Duration rest = lease_->Step();
    if (lease_->role() == Lease::Role::kFollower && !Wait(rest)) return;
  }
  if (lease_ != nullptr) KQ_LOG(Info, "Leads", {{"identity", lease_->identity()}});
  for (const auto& controller : controllers_) controller->StartWorkers();
  works_ = true;
  while (lease_ != nullptr) {
    const absl::Duration rest = lease_->Step();
    if (lease_->role() == Lease::Role::kLost) {
      works_ = false;
      surroundings_.on_exit(ExitReason::kLeaseLost);
      return;
    }
    if (!Wait(rest)) return;
  }
}

HttpResponse WiredServer::Readyz(bool verbose) const {
  const absl::Status ready = Ready();
  std::string text;
  const auto line = [&text](bool good, absl::string_view name, absl::string_view note) {
    absl::StrAppend(&text, good ? "[+]" : "[-]", name,
                    note.empty() ? (good ? " ok" : " failed") : absl::StrCat(" ", note), "\n");
  };
  line(ready.ok(), "cluster", ready.ok() ? "" : ready.message());
  if (lease_ != nullptr) {
    const std::string holder = lease_->Holder();
    line(true, "lease", works_ ? "held by this replica" : absl::StrCat("held by ", holder.empty() ? "nobody" : holder));
    if (!lease_->Health().ok()) line(true, "lease-renewal", lease_->Health().message());
  }
  if (!verbose && ready.ok()) return TextAnswer(200, "ok\n");
  absl::StrAppend(&text, ready.ok() ? "readyz check passed\n" : "readyz check failed\n");
  return TextAnswer(ready.ok() ? 200 : 503, text);
}

void WiredServer::Stop() {
  std::call_once(stopped_, [this] {
    if (!events_thread_.joinable()) return;  // Begin did not get far enough to start a thread
    const absl::Time deadline = clock_->TimeNow() + config_.drain_timeout;
    {
      MutexLock lock(&mu_);
      stopping_ = true;
      stop_called_.SignalAll();
    }
    control_thread_.join();
    works_ = false;
    for (const auto& controller : controllers_) controller->Stop(deadline);
    if (lease_ != nullptr && lease_->role() == Lease::Role::kLeader) {
      if (const absl::Status released = lease_->Release(); !released.ok()) {
        KQ_LOG(Warning, "The lease was not given back", {{"err", released}});
      }
    }
    events_->Drain(std::min(deadline, clock_->TimeNow() + kFarewell));
    events_thread_.join();
    if (metrics_http_ != nullptr) metrics_http_->Stop(kServingGrace);
    if (health_http_ != nullptr) health_http_->Stop(kServingGrace);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Config config, Surroundings surroundings) {
  auto server = std::make_unique<WiredServer>(std::move(config), std::move(surroundings));
  KQ_RETURN_IF_ERROR(server->Begin());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace kq::controllers
