#include "services/controllers/server.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/metrics.h"
#include "libs/common/process_metrics.h"
#include "libs/common/status_macros.h"
#include "libs/common/stop_signal.h"
#include "libs/http/health.h"
#include "libs/http/http_server.h"
#include "libs/http/listen_address.h"
#include "libs/http/router.h"
#include "libs/kube/events.h"
#include "libs/kube/lease.h"
#include "libs/kube/rest_client_metrics.h"
#include "libs/process/api_clients.h"
#include "libs/process/serving.h"
#include "services/controllers/adapters/batch_job.h"
#include "services/controllers/controller_metrics.h"
#include "services/controllers/job_controller.h"

namespace kq::controllers {
namespace {

constexpr absl::Duration kServingGrace = absl::Seconds(1);
constexpr absl::Duration kSyncPoll = absl::Milliseconds(50);
// Longer than any step of a job, or of the lease, that an API server without answers and a slow rate of ours
// can draw out.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr absl::Duration kFarewell = absl::Seconds(2);  // for events, at the end

// The kinds of jobs that there are, by the name of their extension.
std::unique_ptr<JobAdapter> NewAdapter(const std::string& extension) {
  if (extension == "job") return NewBatchJobAdapter();
  return nullptr;
}

// Null if the address says nowhere.
absl::StatusOr<std::unique_ptr<HttpServer>> ServeAt(const std::string& address, std::vector<Route> routes) {
  if (address == kNowhere) return nullptr;
  KQ_ASSIGN_OR_RETURN(const HttpServerOptions options, ListenOn(address));
  KQ_ASSIGN_OR_RETURN(const Router router, Router::Build(std::move(routes)));
  return StartHttpServer(options, router);
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
  // Whether the threads that must turn do: the control thread until the workers work, and with a lease for
  // ever; then the workers of every kind.
  absl::Status Live() const;
  void NoteControlTurn() { control_turn_nanos_ = absl::ToUnixNanos(clock_->TimeNow()); }
  void LogWhenItChanges(const absl::Status& ready);
  bool MayWrite() const { return lease_ == nullptr || lease_->MayWrite(); }
  HealthState LeaseState() const;

  const Config config_;
  const Surroundings surroundings_;
  const Clock* const clock_;

  MetricRegistry registry_;
  RestClientMetrics requests_{&registry_};
  ControllerMetrics metrics_{&registry_};
  ApiClients own_clients_;
  KubeApi* api_;
  KubeApi* lease_api_;
  std::unique_ptr<Lease> lease_;  // null without election
  std::unique_ptr<EventRecorder> events_;
  std::vector<std::unique_ptr<JobController>> controllers_;
  Health health_;
  std::unique_ptr<HttpServer> metrics_http_, health_http_;

  std::atomic<bool> works_{false};
  std::atomic<int64_t> control_turn_nanos_{0};
  std::string last_reason_;  // of the control thread
  StopSignal stop_;
  std::thread control_thread_, events_thread_;
  std::once_flag stopped_;
};

absl::Status WiredServer::Begin() {
  KQ_RETURN_IF_ERROR(MakeApi());
  MakeEvents();
  if (config_.lease.election) {
    lease_ = std::make_unique<Lease>(config_.Lease().OptionsFor(config_.environment.Name()), lease_api_, clock_);
  }
  KQ_RETURN_IF_ERROR(MakeControllers());
  NoteControlTurn();
  KQ_RETURN_IF_ERROR(Serve());
  RunThreads();
  return absl::OkStatus();
}

absl::Status WiredServer::MakeApi() {
  if (api_ != nullptr) return absl::OkStatus();
  ApiClientsOptions options;
  options.program = "koord-queue-controllers";
  options.connections = config_.workers + 16;
  options.renew_deadline = config_.lease.renew_deadline;
  options.observe = [this](absl::string_view verb, absl::string_view host, int code, absl::Duration took) {
    requests_.Observe(verb, host, code, took);
  };
  KQ_ASSIGN_OR_RETURN(own_clients_, NewApiClients(config_.api, config_.environment, options));
  api_ = own_clients_.api.get();
  lease_api_ = own_clients_.lease_api.get();
  return absl::OkStatus();
}

void WiredServer::MakeEvents() {
  EventOptions events;
  events.component = "koord-queue-controllers";
  events.host = config_.environment.Name();
  events.per_second = config_.api.events_per_second;
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
    options.reconciler.with_conditions = config_.gates.On("QueueUnitConditions");
    options.reconciler.may_write = [this] { return MayWrite(); };
    options.queue.retries_per_second = config_.retries_per_second;
    options.queue.observe_wait = [this, extension](absl::Duration waited) { metrics_.OnTaken(extension, waited); };
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
    if (lease_ == nullptr) return;
    sink.Gauge("leader_election_master_status",
               "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates "
               "master. 'name' is the string used to identify the lease. Please make sure to group by name.",
               {{"name", config_.Lease().name}}, lease_->role() == Lease::Role::kLeader ? 1 : 0);
  });
  return absl::OkStatus();
}

absl::Status WiredServer::Live() const {
  const absl::Time now = clock_->TimeNow();
  const auto check = [now](absl::string_view who, absl::Time last_turn) {
    if (now - last_turn < kPatience) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(who, ": no turn for ", absl::FormatDuration(now - last_turn)));
  };
  bool all_work = true;
  for (const auto& controller : controllers_) {
    const std::optional<absl::Time> last_turn = controller->LastTurn();
    all_work = all_work && last_turn.has_value();
    if (last_turn.has_value()) KQ_RETURN_IF_ERROR(check(controller->adapter().kind().extension, *last_turn));
  }
  if (lease_ != nullptr || !all_work) return check("control", absl::FromUnixNanos(control_turn_nanos_));
  return absl::OkStatus();
}

absl::Status WiredServer::Serve() {
  health_.AddLive("turns", [this] { return HealthState{Live(), ""}; });
  health_.AddReady("cluster", [this] { return HealthState{Ready(), ""}; });
  health_.AddReady("lease", [this] { return LeaseState(); });
  KQ_ASSIGN_OR_RETURN(metrics_http_, ServeAt(config_.metrics_address, MetricsRoutes(&registry_)));
  if (metrics_http_ != nullptr) AddHttpServerMetrics(&registry_, "metrics", metrics_http_.get());
  KQ_ASSIGN_OR_RETURN(health_http_, ServeAt(config_.health_address, HealthRoutes(&health_)));
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

void WiredServer::Control() {
  const auto synced = [this] {
    return std::all_of(controllers_.begin(), controllers_.end(), [](const auto& one) { return one->Synced(); });
  };
  while (!synced()) {
    NoteControlTurn();
    LogWhenItChanges(Ready());
    if (!stop_.WaitFor(kSyncPoll)) return;
  }
  KQ_LOG(Info, "The cluster has been listed");
  while (lease_ != nullptr && lease_->role() == Lease::Role::kFollower) {
    NoteControlTurn();
    const absl::Duration rest = lease_->Step();
    if (lease_->role() == Lease::Role::kFollower && !stop_.WaitFor(rest)) return;
  }
  if (lease_ != nullptr) KQ_LOG(Info, "Leads", {{"identity", lease_->identity()}});
  for (const auto& controller : controllers_) controller->StartWorkers();
  works_ = true;
  while (lease_ != nullptr) {
    NoteControlTurn();
    const absl::Duration rest = lease_->Step();
    if (lease_->role() == Lease::Role::kLost) {
      works_ = false;
      surroundings_.on_lease_lost();
      return;
    }
    if (!stop_.WaitFor(rest)) return;
  }
}

HealthState WiredServer::LeaseState() const {
  if (lease_ == nullptr) return {absl::OkStatus(), "no election"};
  const std::string holder = lease_->Holder();
  std::string note = works_ ? "held by this replica" : absl::StrCat("held by ", holder.empty() ? "nobody" : holder);
  if (!lease_->Health().ok()) absl::StrAppend(&note, "; ", std::string(lease_->Health().message()));
  return {absl::OkStatus(), note};
}

void WiredServer::Stop() {
  std::call_once(stopped_, [this] {
    if (!events_thread_.joinable()) return;  // Begin did not get far enough to start a thread
    const absl::Time deadline = clock_->TimeNow() + config_.drain_timeout;
    stop_.Stop();
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
