#include "services/scheduler/server.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/log.h"
#include "libs/common/metrics.h"
#include "libs/common/process_metrics.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/http/health.h"
#include "libs/http/http_server.h"
#include "libs/http/listen_address.h"
#include "libs/http/router.h"
#include "libs/kube/events.h"
#include "libs/kube/lease.h"
#include "libs/kube/rest_client_metrics.h"
#include "libs/kube/write_queue.h"
#include "libs/process/api_clients.h"
#include "libs/process/certificate_metrics.h"
#include "libs/process/serving.h"
#include "services/scheduler/core_settings.h"
#include "services/scheduler/rpc/grpc_server.h"
#include "services/scheduler/rpc/snapshot_service.h"
#include "services/scheduler/runtime/cluster_watch.h"
#include "services/scheduler/runtime/decision_log.h"
#include "services/scheduler/runtime/decision_ring.h"
#include "services/scheduler/runtime/event_mailbox.h"
#include "services/scheduler/runtime/leader_label.h"
#include "services/scheduler/runtime/leadership.h"
#include "services/scheduler/runtime/process_parts_metrics.h"
#include "services/scheduler/runtime/queue_items_writer.h"
#include "services/scheduler/runtime/queue_writer.h"
#include "services/scheduler/runtime/scheduler_loop.h"
#include "services/scheduler/runtime/scheduler_metrics.h"
#include "services/scheduler/runtime/snapshot_publisher.h"
#include "services/scheduler/runtime/status_writer.h"
#include "services/scheduler/runtime/turn_log.h"
#include "services/scheduler/runtime/write_fence.h"

namespace kq::scheduler {
namespace {

constexpr size_t kMailboxLimit = 200'000;
// A loop that did not turn for so long hangs.
constexpr absl::Duration kLoopPatience = absl::Minutes(1);
// Threads that write Queues: a first start may have to create hundreds before anybody is admitted.
constexpr int kQueueWriters = 4;
// So large a part of the decision thread's time goes into pictures at most.
constexpr double kSnapshotShare = 0.1;
constexpr absl::Duration kServingGrace = absl::Seconds(1);
// For the label and the lease, at the end.
constexpr absl::Duration kFarewell = absl::Seconds(2);

// The decisions in memory, for the RPC.
class RingSource : public DecisionSource {
 public:
  explicit RingSource(const DecisionRing* ring) : ring_(ring) {}
  std::vector<DecidedTurn> Turns() const override {
    std::vector<DecidedTurn> turns;
    for (DecisionRing::Entry& entry : ring_->Entries())
      turns.push_back({entry.first, entry.now, std::move(entry.decisions)});
    return turns;
  }

 private:
  const DecisionRing* const ring_;
};

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
  int metrics_port() const override { return http_->port(); }
  int grpc_port() const override { return grpc_->port(); }
  std::string MetricsText() const override { return registry_.Text(); }
  bool Leads() const override { return leadership_ != nullptr && leadership_->Leads(); }

 private:
  absl::Status MakeApi();
  absl::Status MakeDecisionLog();
  void MakeWatchAndLease();
  void MakeWriters();
  absl::Status MakeLoop();
  void AddHealthChecks();
  void AddCollectors();
  absl::Status Serve();
  void RunThreads();

  // Whether the cluster has been listed. Says what is waited for, or does not
  // work any more, when that changes. Called at each step of the lease.
  bool ClusterSynced();
  void TookLeadership() const;
  // The first picture of this leadership can be read.
  void ShowsPictures();

  const Config config_;
  const Surroundings surroundings_;
  const Clock* const clock_;

  MetricRegistry registry_;
  RestClientMetrics requests_{&registry_};
  SnapshotPublisher publisher_;
  SchedulerMetrics metrics_{&registry_, &publisher_, [this] { return Leads(); }};
  EventMailbox mailbox_{kMailboxLimit};

  ApiClients own_clients_;
  KubeApi* api_;
  KubeApi* lease_api_;
  std::unique_ptr<ClusterWatch> watch_;
  std::unique_ptr<Lease> lease_;  // null without election
  std::unique_ptr<Leadership> leadership_;
  std::unique_ptr<WriteFence> fence_;
  std::unique_ptr<WriteQueue> writes_;
  std::unique_ptr<QueueWriter> queues_;
  std::unique_ptr<EventRecorder> events_;
  std::unique_ptr<StatusWriter> writer_;
  std::unique_ptr<QueueItemsWriter> queue_items_;  // null without --queue-items-limit
  std::unique_ptr<LeaderLabel> label_;

  std::unique_ptr<DecisionRing> ring_;
  std::unique_ptr<RingSource> ring_source_;
  TurnLog turn_log_;
  std::unique_ptr<DecisionLog> log_;  // null without a log
  CoreWithPolicies core_;
  std::unique_ptr<SchedulerLoop> loop_;

  Health health_;
  std::unique_ptr<SnapshotService> service_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;

  std::thread decision_thread_, lease_thread_, label_thread_, log_thread_;
  std::vector<std::thread> writing_threads_;
  std::string trouble_;  // with the cluster, as last said; of the lease's thread
  std::once_flag stopped_;
};

absl::Status WiredServer::Begin() {
  KQ_RETURN_IF_ERROR(MakeApi());
  KQ_RETURN_IF_ERROR(MakeDecisionLog());
  MakeWatchAndLease();
  MakeWriters();
  KQ_RETURN_IF_ERROR(MakeLoop());
  AddHealthChecks();
  AddCollectors();
  KQ_RETURN_IF_ERROR(Serve());
  RunThreads();
  return absl::OkStatus();
}

absl::Status WiredServer::MakeApi() {
  if (api_ != nullptr) return absl::OkStatus();
  ApiClientsOptions options;
  options.program = "koord-queue";
  options.connections = config_.write_concurrency + 16;
  options.renew_deadline = config_.lease.renew_deadline;
  options.observe = [this](absl::string_view verb, absl::string_view host, int code, absl::Duration took) {
    requests_.Observe(verb, host, code, took);
  };
  KQ_ASSIGN_OR_RETURN(own_clients_, NewApiClients(config_.api, config_.environment, options));
  api_ = own_clients_.api.get();
  lease_api_ = own_clients_.lease_api.get();
  return absl::OkStatus();
}

absl::Status WiredServer::MakeDecisionLog() {
  ring_ = std::make_unique<DecisionRing>(static_cast<size_t>(config_.decisions_kept));
  ring_source_ = std::make_unique<RingSource>(ring_.get());
  if (config_.decision_log_dir.empty()) return absl::OkStatus();
  DecisionLogOptions options;
  options.folder = config_.decision_log_dir;
  options.max_file_bytes = config_.decision_log_max_bytes;
  options.max_files = config_.decision_log_max_files;
  options.config = EncodeSettings(config_.core);
  options.version = std::string(kVersion);
  KQ_ASSIGN_OR_RETURN(log_, DecisionLog::Open(std::move(options), clock_));
  return absl::OkStatus();
}

void WiredServer::MakeWatchAndLease() {
  watch_ = std::make_unique<ClusterWatch>(ClusterWatchOptions(), api_, &mailbox_, clock_);
  if (config_.lease.election) {
    lease_ = std::make_unique<Lease>(config_.lease.OptionsFor(config_.environment.Name()), lease_api_, clock_);
  }
  LeadershipParts parts;
  parts.lease = lease_.get();
  parts.mailbox = &mailbox_;
  parts.clock = clock_;
  parts.synced = [this] { return ClusterSynced(); };
  parts.on_taken = [this] { TookLeadership(); };
  parts.on_lost = [this] { surroundings_.on_lease_lost(); };
  leadership_ = std::make_unique<Leadership>(std::move(parts));
}

void WiredServer::MakeWriters() {
  fence_ = std::make_unique<WriteFence>(api_, [this] { return leadership_->WriteStatus(); });
  WriteQueueOptions writes;
  writes.advisory_per_second = config_.advisory_writes_per_second;
  writes_ = std::make_unique<WriteQueue>(writes, fence_.get(), clock_);
  queues_ = std::make_unique<QueueWriter>(fence_.get(), &mailbox_, clock_);
  const Environment& environment = config_.environment;
  EventOptions events;
  events.component = "koord-queue-controller";  // the name that the original's events carry
  events.host = environment.Name();
  events.per_second = config_.api.events_per_second;
  events_ = std::make_unique<EventRecorder>(std::move(events), api_, clock_);
  StatusWriterParts parts;
  parts.writes = writes_.get();
  parts.queues = queues_.get();
  parts.events = events_.get();
  parts.mailbox = &mailbox_;
  parts.may_write = [this] { return leadership_->MayWrite(); };
  parts.with_conditions = config_.gates.On("QueueUnitConditions");
  writer_ = std::make_unique<StatusWriter>(std::move(parts));
  if (config_.queue_items.limit > 0) {
    const auto picture = [this] { return Leads() ? publisher_.Latest() : nullptr; };
    queue_items_ = std::make_unique<QueueItemsWriter>(config_.queue_items,
                                                      QueueItemsParts{fence_.get(), events_.get(), clock_, picture});
  }
  label_ = std::make_unique<LeaderLabel>(LeaderLabelOptions{environment.pod_namespace, environment.pod_name, {}}, api_,
                                         clock_);
}

absl::Status WiredServer::MakeLoop() {
  KQ_ASSIGN_OR_RETURN(core_, MakeCore(config_.core));
  SchedulerLoopOptions options;
  options.check_invariants = config_.check_invariants;
  options.snapshot_share = kSnapshotShare;
  options.on_leading = [this] { ShowsPictures(); };
  SchedulerLoopParts parts{core_.core.get(),         &mailbox_, &publisher_, writer_.get(), clock_, &metrics_,
                           {ring_.get(), &turn_log_}};
  if (log_ != nullptr) parts.recorders.push_back(log_.get());
  loop_ = std::make_unique<SchedulerLoop>(std::move(options), std::move(parts));
  KQ_VLOG(1, "Plugins",
          {{"plugins", absl::StrJoin(config_.core.plugins, ",")}, {"oversell", absl::StrCat(config_.core.oversell)}});
  return absl::OkStatus();
}

void WiredServer::AddHealthChecks() {
  health_.AddLive("decision-loop", [this] {
    const absl::Duration since = clock_->TimeNow() - loop_->LastTurn();
    if (since < kLoopPatience) return HealthState{absl::OkStatus(), ""};
    return HealthState{absl::UnavailableError(absl::StrCat("no turn for ", absl::FormatDuration(since))), ""};
  });
  health_.AddReady("cluster", [this] { return HealthState{watch_->Ready(), ""}; });
  health_.AddReady("leadership", [this] { return leadership_->State(); });
  health_.AddReady("leader-label", [this] { return HealthState{absl::OkStatus(), label_->Note()}; });
  if (log_ == nullptr) return;
  health_.AddReady("decision-log", [this] {
    const int64_t lost = log_->Now().lost;
    return HealthState{absl::OkStatus(), lost == 0 ? "" : absl::StrCat(lost, " turns are missing")};
  });
}

void WiredServer::AddCollectors() {
  registry_.AddBuildInfo("koord_queue", "koord-queue");
  AddProcessMetrics(&registry_);
  AddCertificateMetrics(&registry_, "https", config_.tls_certificate_file);
  AddCertificateMetrics(&registry_, "grpc", config_.grpc.certificate_file);
  const ProcessParts parts{&mailbox_,          loop_.get(),  watch_.get(),  writes_.get(), queues_.get(),
                           queue_items_.get(), fence_.get(), events_.get(), log_.get()};
  registry_.AddCollector([parts](MetricSink& sink) { CollectParts(parts, &sink); });
  registry_.AddCollector([this](MetricSink& sink) {
    sink.Gauge("koord_queue_leader", "1 while this replica holds the lease.", {}, Leads() ? 1 : 0);
    if (lease_ != nullptr) {
      sink.Gauge("koord_queue_lease_healthy", "1 if the last attempt to take or renew the lease was answered.", {},
                 lease_->Health().ok() ? 1 : 0);
    }
    sink.Gauge("koord_queue_grpc_watchers", "Visibilities, debug APIs and people who follow the pictures.", {},
               static_cast<double>(service_->watchers()));
    sink.Counter("koord_queue_grpc_watches_refused_total", "Watches of pictures over the limit.", {},
                 static_cast<double>(service_->watches_refused()));
    const std::string unknown = leadership_->UnknownHolder();
    if (unknown.empty()) return;
    sink.Gauge("koord_queue_lease_unknown_holder", "1 while the lease is held by something that is not koord-queue.",
               {{"holder", unknown}}, 1);
  });
}

absl::Status WiredServer::Serve() {
  SnapshotServiceOptions options;
  options.explain.oversell = config_.core.oversell;
  const auto view = [this] { return LeaderView{leadership_->Leads(), leadership_->Leader()}; };
  service_ = std::make_unique<SnapshotService>(SnapshotServiceParts{&publisher_, ring_source_.get(), view}, options);
  KQ_ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(config_.grpc, {service_.get()}));

  KQ_ASSIGN_OR_RETURN(HttpServerOptions http, ListenOn(config_.metrics_address));
  http.certificate_file = config_.tls_certificate_file;
  http.key_file = config_.tls_key_file;
  std::vector<Route> routes = MetricsRoutes(&registry_);
  for (Route& route : HealthRoutes(&health_)) routes.push_back(std::move(route));
  KQ_ASSIGN_OR_RETURN(const Router router, Router::Build(std::move(routes)));
  KQ_ASSIGN_OR_RETURN(http_, StartHttpServer(http, router));
  AddHttpServerMetrics(&registry_, "metrics", http_.get());
  KQ_LOG(Info, "Serving",
         {{"metrics", absl::StrCat(http.address, ":", http_->port())},
          {"protocol", config_.tls_certificate_file.empty() ? "plain HTTP" : "HTTPS"},
          {"grpc", config_.grpc.address},
          {"grpc_port", grpc_->port()}});
  return absl::OkStatus();
}

void WiredServer::RunThreads() {
  decision_thread_ = std::thread([this] { loop_->Run(); });
  if (log_ != nullptr) log_thread_ = std::thread([this] { log_->Run(); });
  for (int i = 0; i < config_.write_concurrency; ++i) writing_threads_.emplace_back([this] { writes_->Run(); });
  for (int i = 0; i < kQueueWriters; ++i) writing_threads_.emplace_back([this] { queues_->Run(); });
  writing_threads_.emplace_back([this] { events_->Run(); });
  if (queue_items_ != nullptr) writing_threads_.emplace_back([this] { queue_items_->Run(); });
  watch_->Start();
  lease_thread_ = std::thread([this] { leadership_->Run(); });
  label_thread_ = std::thread([this] { label_->Run(); });
}

bool WiredServer::ClusterSynced() {
  const std::string trouble(watch_->Ready().message());
  if (trouble != trouble_) {
    if (trouble.empty()) {
      KQ_LOG(Info, "The cluster is listed and watched");
    } else {
      KQ_LOG(Warning, "Not ready", {{"reason", trouble}});
    }
    trouble_ = trouble;
  }
  return watch_->Synced();
}

void WiredServer::TookLeadership() const {
  // The words that operators look for, in lower case as the original wrote them.
  KQ_LOG(Info, "became leader, start to do job queuing", {{"identity", leadership_->Leader()}});
}

void WiredServer::ShowsPictures() {
  grpc_->SetServing(true);
  label_->Want();
}

void WiredServer::Stop() {
  std::call_once(stopped_, [this] {
    if (http_ == nullptr) return;  // Begin did not get far enough to start a thread
    grpc_->SetServing(false);
    loop_->Stop();
    decision_thread_.join();
    watch_->Stop();
    const absl::Time deadline = clock_->TimeNow() + config_.drain_timeout;
    if (queue_items_ != nullptr) queue_items_->Stop();
    queues_->Drain(deadline);
    writes_->Drain(deadline);
    label_->Stop();
    label_thread_.join();
    if (const absl::Status off = label_->TakeOff(clock_->TimeNow() + kFarewell); !off.ok()) {
      KQ_LOG(Warning, "The leader's label stays on this pod", {{"err", off}});
    }
    // The next leader need not wait for events.
    leadership_->Stop();
    lease_thread_.join();
    if (const absl::Status released = leadership_->Release(); !released.ok()) {
      KQ_LOG(Warning, "The lease was not given back", {{"err", released}});
    }
    events_->Drain(std::min(deadline, clock_->TimeNow() + kFarewell));
    for (std::thread& thread : writing_threads_) thread.join();
    service_->Stop();
    grpc_->Stop(kServingGrace);
    http_->Stop(kServingGrace);
    if (log_ != nullptr) {
      log_->Drain();
      log_thread_.join();
    }
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Config config, Surroundings surroundings) {
  auto server = std::make_unique<WiredServer>(std::move(config), std::move(surroundings));
  KQ_RETURN_IF_ERROR(server->Begin());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace kq::scheduler
