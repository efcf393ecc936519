#include "e2e/support/services.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/common/grpc_status.h"
#include "libs/http/http_client.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq::e2e {
namespace {

namespace pb = kq::queueing::v1;

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr int kLargestAnswer = 256 << 20;

std::string Loopback(int port) { return absl::StrCat("127.0.0.1:", port); }

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(const std::string& tls) {
  if (tls.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({TextOf(tls + "/ca.crt"), TextOf(tls + "/client.key"), TextOf(tls + "/client.crt")});
}

// The flags of a server, and those of a client.
std::vector<std::string> WithGrpcTls(const ServiceOptions& options, std::vector<std::string> flags) {
  if (options.grpc_tls.empty()) return flags;
  flags.push_back(absl::StrCat("--grpc-tls-cert-file=", options.grpc_tls, "/server.crt"));
  flags.push_back(absl::StrCat("--grpc-tls-key-file=", options.grpc_tls, "/server.key"));
  flags.push_back(absl::StrCat("--grpc-client-ca-file=", options.grpc_tls, "/ca.crt"));
  return flags;
}
std::vector<std::string> WithServer(const ServiceOptions& options, const std::string& server,
                                    std::vector<std::string> flags) {
  flags.push_back(absl::StrCat("--server=", server));
  if (options.grpc_tls.empty()) return flags;
  flags.push_back(absl::StrCat("--ca-file=", options.grpc_tls, "/ca.crt"));
  flags.push_back(absl::StrCat("--cert-file=", options.grpc_tls, "/client.crt"));
  flags.push_back(absl::StrCat("--key-file=", options.grpc_tls, "/client.key"));
  return flags;
}

std::unique_ptr<pb::Scheduler::Stub> StubFor(int port, const std::string& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  // Channels to one address share a connection, and its backoff after a process has gone.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return pb::Scheduler::NewStub(grpc::CreateCustomChannel(Loopback(port), Credentials(tls), arguments));
}

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(Clock::Real().TimeNow() + kCallTimeout));
}

// The flags of a process that holds a lease.
std::vector<std::string> WithLease(const ServiceOptions& options, std::vector<std::string> flags) {
  flags.push_back(absl::StrCat("--lease-namespace=", options.lease_namespace));
  flags.insert(flags.end(), options.lease_times.begin(), options.lease_times.end());
  return flags;
}

}  // namespace

Service::Service(const ServiceOptions& options, const std::string& program, std::vector<std::string> flags) {
  if (!options.environment.empty()) {
    command_.push_back("/usr/bin/env");
    command_.insert(command_.end(), options.environment.begin(), options.environment.end());
  }
  const std::string name = program.substr(program.rfind('/') + 1);
  command_.push_back(DataFile(program));
  command_.push_back(absl::StrCat("--kubeconfig=", options.accounts->Kubeconfig(name, options.through)));
  command_.insert(command_.end(), flags.begin(), flags.end());
  command_.insert(command_.end(), options.flags.begin(), options.flags.end());
  log_ = LogFile(options.log.empty() ? absl::StrCat(name, "-", getpid(), ".log") : options.log);
}

void Service::Start() {
  auto child = ChildProcess::Start(command_, log_);
  if (!child.ok()) throw std::runtime_error(child.status().ToString());
  child_ = std::make_unique<ChildProcess>(*std::move(child));
}

void Service::Kill() { child_ = nullptr; }

void Service::Signal(int signal) const {
  if (child_ != nullptr) child_->Signal(signal);
}

bool Service::Running() { return child_ != nullptr && child_->Running(); }

absl::StatusOr<int> Service::Wait(absl::Duration timeout) {
  if (child_ == nullptr) return absl::FailedPreconditionError("not started");
  return child_->Wait(timeout);
}

int64_t Service::ResidentKib() const {
  if (child_ == nullptr) return 0;
  std::ifstream in(absl::StrCat("/proc/", child_->pid(), "/status"));
  for (std::string line; std::getline(in, line);) {
    if (!absl::StartsWith(line, "VmRSS:")) continue;
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(": \t"), absl::SkipEmpty());
    int64_t kib = 0;
    if (words.size() > 1 && absl::SimpleAtoi(words[1], &kib)) return kib;
  }
  return 0;
}

std::pair<int, std::string> Service::Fetch(int port, const std::string& path) const {
  HttpClientOptions options;
  options.url = absl::StrCat("http://", Loopback(port));
  const auto client = NewHttpClient(options);
  if (!client.ok()) throw std::runtime_error(client.status().ToString());
  HttpRequest request;
  request.target = path;
  const absl::StatusOr<HttpResponse> answer = (*client)->Call(request, kCallTimeout);
  if (!answer.ok()) return {0, answer.status().ToString()};
  return {answer->code, answer->body};
}

std::string Service::Metrics() const {
  const auto [code, text] = Fetch(metrics_port(), "/metrics");
  return code == 200 ? text : "";
}

Visibility::Visibility(const ServiceOptions& options, const std::string& scheduler)
    : Visibility(options, scheduler, FreePort(), FreePort()) {}

Visibility::Visibility(const ServiceOptions& options, const std::string& scheduler, int port, int metrics_port)
    : Service(options, "services/visibility/koord-queue-visibility",
              WithServer(options, scheduler,
                         {absl::StrCat("--bind-address=", Loopback(port)),
                          absl::StrCat("--metrics-bind-address=", Loopback(metrics_port))})),
      port_(port) {
  health_port_ = metrics_port;
}

Scheduler::Scheduler(const ServiceOptions& options) : Scheduler(options, FreePort(), FreePort()) {}

Scheduler::Scheduler(const ServiceOptions& options, int metrics_port, int grpc_port)
    : Service(
          options, "services/scheduler/koord-queue",
          WithGrpcTls(
              options,
              WithLease(options, {"--lease-name=koord-queue", absl::StrCat("--grpc-bind-address=", Loopback(grpc_port)),
                                  absl::StrCat("--metrics-bind-address=", Loopback(metrics_port)),
                                  absl::StrCat("--check-invariants=", options.check_invariants ? "true" : "false")}))),
      grpc_port_(grpc_port),
      grpc_tls_(options.grpc_tls) {
  health_port_ = metrics_port;
}

std::string Scheduler::grpc_address() const { return Loopback(grpc_port_); }

absl::StatusOr<pb::Snapshot> Scheduler::Snapshot(bool without_units) const {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::GetSnapshotRequest request;
  request.set_without_units(without_units);
  pb::Snapshot snapshot;
  const grpc::Status status = StubFor(grpc_port_, grpc_tls_)->GetSnapshot(&context, request, &snapshot);
  if (!status.ok()) return FromGrpcStatus(status);
  return snapshot;
}

std::string Scheduler::LeaderInTrailer() const {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::Snapshot snapshot;
  if (StubFor(grpc_port_, grpc_tls_)->GetSnapshot(&context, pb::GetSnapshotRequest(), &snapshot).ok()) return "";
  const auto& trailer = context.GetServerTrailingMetadata();
  const auto leader = trailer.find("koord-queue-leader");
  return leader == trailer.end() ? "" : std::string(leader->second.data(), leader->second.size());
}

std::map<std::string, int64_t> Scheduler::Books() const {
  const absl::StatusOr<pb::Snapshot> snapshot = Snapshot();
  std::map<std::string, int64_t> used;
  if (!snapshot.ok()) return used;
  for (const pb::QuotaSnapshot& quota : snapshot->quotas()) {
    used[quota.name()] = 0;
    for (const pb::Amount& amount : quota.used()) {
      if (amount.resource() == "cpu") used[quota.name()] = amount.amount();
    }
  }
  return used;
}

absl::StatusOr<pb::UnitSnapshot> Scheduler::Explain(const std::string& ns, const std::string& name) const {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::ExplainRequest request;
  request.set_namespace_(ns);
  request.set_name(name);
  pb::Explanation explanation;
  const grpc::Status status = StubFor(grpc_port_, grpc_tls_)->Explain(&context, request, &explanation);
  if (!status.ok()) return FromGrpcStatus(status);
  return explanation.unit();
}

double Scheduler::Metric(const std::string& series) const {
  const std::string metrics = Metrics();
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    double value = 0;
    if (absl::StartsWith(line, absl::StrCat(series, " ")) && absl::SimpleAtod(line.substr(series.size() + 1), &value)) {
      return value;
    }
  }
  return 0;
}

Controllers::Controllers(const ServiceOptions& options) : Controllers(options, FreePort(), FreePort()) {}

Controllers::Controllers(const ServiceOptions& options, int health_port, int metrics_port)
    : Service(options, "services/controllers/koord-queue-controllers",
              WithLease(options, {"--leader-elect", "--lease-name=koord-queue-controllers",
                                  absl::StrCat("--metrics-bind-address=", Loopback(metrics_port)),
                                  absl::StrCat("--health-probe-bind-address=", Loopback(health_port))})) {
  health_port_ = health_port;
  metrics_port_ = metrics_port;
}

DebugApi::DebugApi(const ServiceOptions& options, const std::string& scheduler)
    : DebugApi(options, scheduler, FreePort()) {}

DebugApi::DebugApi(const ServiceOptions& options, const std::string& scheduler, int port)
    : Service(options, "services/debug-api/koord-queue-debug-api",
              WithServer(options, scheduler, {absl::StrCat("--bind-address=", Loopback(port))})) {
  health_port_ = port;
}

}  // namespace kq::e2e
