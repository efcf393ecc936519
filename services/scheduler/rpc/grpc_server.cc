#include "services/scheduler/rpc/grpc_server.h"

#include <arpa/inet.h>
#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace kq::scheduler {
namespace {

constexpr char kServiceName[] = "kq.queueing.v1.Scheduler";

struct HostPort {
  std::string host;  // empty: all interfaces
  int port = 0;
};

absl::StatusOr<HostPort> ParseAddress(const std::string& address) {
  const auto wrong = [&address] {
    return absl::InvalidArgumentError(absl::StrCat("address \"", address, "\": expected HOST:PORT"));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return wrong();
  HostPort out;
  if (!absl::SimpleAtoi(address.substr(colon + 1), &out.port) || out.port < 0 || out.port > 65535) return wrong();
  absl::string_view host = absl::string_view(address).substr(0, colon);
  if (absl::StartsWith(host, "[")) {
    if (!absl::ConsumePrefix(&host, "[") || !absl::ConsumeSuffix(&host, "]")) return wrong();
  } else if (absl::StrContains(host, ":")) {
    return wrong();  // an IPv6 address without brackets
  }
  out.host = std::string(host);
  return out;
}

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

bool HasTls(const GrpcServerOptions& options) {
  return !options.certificate_file.empty() || !options.key_file.empty() || !options.client_ca_file.empty();
}

void CheckFile(absl::string_view what, const std::string& path, std::vector<std::string>* problems) {
  if (path.empty()) {
    problems->push_back(absl::StrCat("TLS needs a ", what, " too"));
  } else if (std::ifstream file(path); !file || file.peek() == std::ifstream::traits_type::eof()) {
    problems->push_back(absl::StrCat(what, " ", path, " is empty or cannot be read"));
  }
}

std::shared_ptr<grpc::ServerCredentials> Credentials(const GrpcServerOptions& options) {
  if (!HasTls(options)) return grpc::InsecureServerCredentials();
  auto files = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      options.key_file, options.certificate_file, options.client_ca_file,
      static_cast<unsigned>(std::max<int64_t>(absl::ToInt64Seconds(options.certificate_check), 1)));
  grpc::experimental::TlsServerCredentialsOptions tls(std::move(files));
  tls.watch_root_certs();
  tls.watch_identity_key_cert_pairs();
  tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(tls);
}

}  // namespace

absl::Status ValidateGrpcServerOptions(const GrpcServerOptions& options) {
  std::vector<std::string> problems;
  const absl::StatusOr<HostPort> address = ParseAddress(options.address);
  if (!address.ok()) {
    problems.emplace_back(address.status().message());
  } else if (!HasTls(options) && !IsLoopback(address->host)) {
    problems.push_back(absl::StrCat("address ", options.address,
                                    " is not loopback: that needs TLS with client certificates (a certificate, its "
                                    "key and a CA of the clients)"));
  }
  if (HasTls(options)) {
    CheckFile("certificate", options.certificate_file, &problems);
    CheckFile("key", options.key_file, &problems);
    CheckFile("client CA", options.client_ca_file, &problems);
  }
  return problems.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              const std::vector<grpc::Service*>& services) {
  if (absl::Status valid = ValidateGrpcServerOptions(options); !valid.ok()) return valid;
  const HostPort address = *ParseAddress(options.address);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  grpc::ServerBuilder builder;
  int port = 0;
  const std::string host = address.host.empty()                   ? "[::]"
                           : absl::StrContains(address.host, ":") ? absl::StrCat("[", address.host, "]")
                                                                  : address.host;
  builder.AddListeningPort(absl::StrCat(host, ":", address.port), Credentials(options), &port);
  // Without it two processes could share the port and each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_calls_per_connection);
  const int keepalive_ms = static_cast<int>(absl::ToInt64Milliseconds(options.keepalive));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Clients may ask for signs of life too, every 10 s at most.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.SetMaxReceiveMessageSize(options.max_request_bytes);
  for (grpc::Service* service : services) builder.RegisterService(service);

  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.address, ": is it in use?"));
  }
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(server), port));
}

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, int port) : server_(std::move(server)), port_(port) {
  SetServing(false);
}

GrpcServer::~GrpcServer() { Stop(absl::ZeroDuration()); }

void GrpcServer::SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(kServiceName, serving); }

void GrpcServer::Stop(absl::Duration grace) {
  const int64_t millis = absl::ToInt64Milliseconds(std::min(grace, absl::Hours(1)));
  server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(millis, GPR_TIMESPAN)));
}

}  // namespace kq::scheduler
