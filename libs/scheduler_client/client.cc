#include "libs/scheduler_client/client.h"

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/grpc_status.h"
#include "libs/common/status_macros.h"
#include "libs/common/time_format.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq {
namespace {

namespace v1 = queueing::v1;

constexpr int kMaxAnswerBytes = 1 << 30;
// A server that is asked for a sign of life after the one, and gives none within
// the other, is gone.
constexpr int kKeepaliveMillis = 5'000;
constexpr int kKeepaliveTimeoutMillis = 5'000;
// So is one that takes a connection and says nothing. gRPC would wait 20 s, while the
// Service that has led there may lead to the next leader by now.
constexpr int kConnectTimeoutMillis = 5'000;

absl::StatusOr<std::string> FileText(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " is empty or cannot be read"));
  return text;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Credentials(const SchedulerConnectionOptions& options) {
  if (!options.tls()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions tls;
  KQ_ASSIGN_OR_RETURN(tls.pem_root_certs, FileText(options.ca_file));
  KQ_ASSIGN_OR_RETURN(tls.pem_cert_chain, FileText(options.certificate_file));
  KQ_ASSIGN_OR_RETURN(tls.pem_private_key, FileText(options.key_file));
  return grpc::SslCredentials(tls);
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address, const SchedulerConnectionOptions& options,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMillis);  // the time for a connection too
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);                  // as many as it takes
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

void SetTimeout(absl::Duration timeout, grpc::ClientContext* context) {
  const int64_t millis = absl::ToInt64Milliseconds(std::min(timeout, absl::Hours(24)));
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(millis, GPR_TIMESPAN)));
}

// Whether the words are the server's, and not those of gRPC about the connection.
bool ServerSpoke(const grpc::ClientContext& context, const grpc::Status& status) {
  return context.GetServerTrailingMetadata().count("koord-queue-leader") > 0 ||
         absl::StartsWith(status.error_message(), "this replica ") ||
         absl::StartsWith(status.error_message(), "the server is ");
}

// Why there is no connection, in a few words.
std::string ConnectionProblem(absl::string_view message, const SchedulerConnectionOptions& options) {
  const std::pair<absl::string_view, absl::string_view> kCauses[] = {
      {"Connection refused", "connection refused"},
      {"DNS resolution failed", "the host name cannot be resolved"},
      {"Name or service not known", "the host name cannot be resolved"},
      {"Connection timed out", "connection timed out"},
      {"No route to host", "no route to the host"},
      {"Network is unreachable", "the network is unreachable"},
  };
  for (const auto& [text, cause] : kCauses) {
    if (absl::StrContains(message, text)) return std::string(cause);
  }
  if (options.tls()) return "no connection: does it speak TLS, and do the certificates fit?";
  return "no connection: does it speak plain gRPC there? (TLS needs --ca-file)";
}

// A call's outcome in words for people.
absl::Status ForPeople(const grpc::ClientContext& context, const grpc::Status& status,
                       const SchedulerConnectionOptions& options) {
  if (status.ok()) return absl::OkStatus();
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::DeadlineExceededError(absl::StrCat("no answer within ", DurationText(options.timeout)));
    case grpc::StatusCode::UNAVAILABLE:
      if (ServerSpoke(context, status)) return absl::UnavailableError(status.error_message());
      return absl::UnavailableError(ConnectionProblem(status.error_message(), options));
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::UnimplementedError("the server does not know this request: is it a koord-queue of this version?");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return absl::ResourceExhaustedError(status.error_message());
    default:
      return FromGrpcStatus(status);
  }
}

}  // namespace

bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// One server, and the calls to it.
struct SchedulerClient::Server {
  std::string address;
  std::unique_ptr<v1::Scheduler::Stub> stub;
  const SchedulerConnectionOptions* options;
  CallCanceller* canceller;

  template <typename Request, typename Response>
  using Method = grpc::Status (v1::Scheduler::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method, const Request& request) const {
    grpc::ClientContext context;
    return Call(method, request, &context);
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method, const Request& request,
                                grpc::ClientContext* context) const {
    SetTimeout(options->timeout, context);
    const CallCanceller::Scope scope(canceller, context);
    Response response;
    const absl::Status status = ForPeople(*context, (stub.get()->*method)(context, request, &response), *options);
    if (IsUnreachable(status)) return WithContext(status, address);
    if (!status.ok()) return status;
    return response;
  }
};

SchedulerClient::SchedulerClient(SchedulerConnectionOptions options, CallCanceller* canceller)
    : options_(std::move(options)), canceller_(canceller) {}
SchedulerClient::~SchedulerClient() = default;

const std::string& SchedulerClient::server() const { return leader_->address; }

absl::StatusOr<std::unique_ptr<SchedulerClient>> SchedulerClient::Connect(const SchedulerConnectionOptions& options,
                                                                          CallCanceller* canceller) {
  KQ_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials, Credentials(options));
  std::unique_ptr<SchedulerClient> client(new SchedulerClient(options, canceller));
  std::vector<std::unique_ptr<Server>> servers;
  for (const std::string& address : options.servers) {
    auto stub = v1::Scheduler::NewStub(NewChannel(address, options, credentials));
    servers.push_back(std::make_unique<Server>(Server{address, std::move(stub), &client->options_, canceller}));
  }
  size_t leader = 0;
  if (servers.size() > 1) {  // of a single one, the call itself will tell
    KQ_ASSIGN_OR_RETURN(leader, client->FindLeader(servers));
  }
  client->leader_ = std::move(servers[leader]);
  return client;
}

absl::StatusOr<size_t> SchedulerClient::FindLeader(const std::vector<std::unique_ptr<Server>>& servers) const {
  v1::DecisionsRequest probe;
  probe.set_limit(1);
  std::vector<absl::Status> answers(servers.size());
  std::vector<grpc::ClientContext> contexts(servers.size());
  std::atomic<bool> found = false;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < servers.size(); ++i) {
    threads.emplace_back([&, i] {
      answers[i] = servers[i]->Call(&v1::Scheduler::Stub::Decisions, probe, &contexts[i]).status();
      // Nobody waits for a server that is down when the leader has answered.
      if (!answers[i].ok() || found.exchange(true)) return;
      for (size_t other = 0; other < contexts.size(); ++other) {
        if (other != i) contexts[other].TryCancel();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> problems;
  for (size_t i = 0; i < servers.size(); ++i) {
    if (answers[i].ok()) return i;
    problems.emplace_back(answers[i].message());
  }
  return absl::UnavailableError(absl::StrCat("none of the servers leads: ", absl::StrJoin(problems, "; ")));
}

absl::StatusOr<v1::Snapshot> SchedulerClient::Snapshot(const v1::GetSnapshotRequest& request) {
  return leader_->Call(&v1::Scheduler::Stub::GetSnapshot, request);
}

absl::StatusOr<v1::ListUnitsResponse> SchedulerClient::ListUnits(const v1::ListUnitsRequest& request) {
  return leader_->Call(&v1::Scheduler::Stub::ListUnits, request);
}

absl::StatusOr<v1::Explanation> SchedulerClient::Explain(const v1::ExplainRequest& request) {
  return leader_->Call(&v1::Scheduler::Stub::Explain, request);
}

absl::StatusOr<v1::DecisionsResponse> SchedulerClient::Decisions(const v1::DecisionsRequest& request) {
  return leader_->Call(&v1::Scheduler::Stub::Decisions, request);
}

absl::Status SchedulerClient::Watch(const std::function<absl::Status()>& changed) {
  v1::WatchSnapshotsRequest request;
  request.set_without_units(true);
  std::optional<std::pair<std::string, uint64_t>> shown;
  return WatchChanges(request, [&](const v1::SnapshotChange& change) {
    std::pair<std::string, uint64_t> id(change.id().epoch(), change.id().revision());
    if (shown == id) return absl::OkStatus();  // a sign of life
    shown = std::move(id);
    return changed();
  });
}

absl::Status SchedulerClient::WatchChanges(const v1::WatchSnapshotsRequest& request, const Received& received) {
  grpc::ClientContext context;  // no deadline: it goes on until it is interrupted
  const CallCanceller::Scope scope(canceller_, &context);
  const auto reader = leader_->stub->WatchSnapshots(&context, request);
  bool connected = false;
  for (v1::SnapshotChange change; reader->Read(&change); connected = true) {
    if (absl::Status status = received(std::move(change)); !status.ok()) {
      context.TryCancel();
      while (reader->Read(&change)) {
      }
      (void)reader->Finish();  // cancelled: the reason is `status`
      return status;
    }
    change.Clear();
  }
  const grpc::Status end = reader->Finish();
  const bool lost = connected && end.error_code() == grpc::StatusCode::UNAVAILABLE && !ServerSpoke(context, end);
  absl::Status status = lost ? absl::UnavailableError("the connection was lost") : ForPeople(context, end, options_);
  if (status.ok()) status = absl::UnavailableError("the watch ended");
  return IsUnreachable(status) ? WithContext(status, server()) : status;
}

}  // namespace kq
