#include "services/scheduler/rpc/grpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/http/testing/certificates.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;
using ::kq::testing::LocalhostCertificate;
using ::kq::testing::TestAuthority;
using ::kq::testing::TestCertificate;
using ::kq::testing::TestFolder;

// Answers GetSnapshot.
class SmallService : public v1::Scheduler::Service {
 public:
  grpc::Status GetSnapshot(grpc::ServerContext*, const v1::GetSnapshotRequest*, v1::Snapshot* response) override {
    response->mutable_id()->set_epoch("here");
    return grpc::Status::OK;
  }
};

std::unique_ptr<grpc::ClientContext> Context(int seconds = 60) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(seconds, GPR_TIMESPAN)));
  return context;
}

grpc::Status Call(int port, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  // A channel of its own: gRPC shares connections between equal channels.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto stub =
      v1::Scheduler::NewStub(grpc::CreateCustomChannel(absl::StrCat("localhost:", port), credentials, arguments));
  v1::Snapshot snapshot;
  return stub->GetSnapshot(Context().get(), {}, &snapshot);
}

std::unique_ptr<GrpcServer> Started(const GrpcServerOptions& options, grpc::Service* service) {
  auto server = GrpcServer::Start(options, {service});
  INFO(server.status().message());
  REQUIRE(server.ok());
  return *std::move(server);
}

GrpcServerOptions AnyPort() {
  GrpcServerOptions options;
  options.address = "localhost:0";
  return options;
}

TEST_CASE("without TLS only loopback is listened on", "[grpc_server]") {
  const auto problem = [](const std::string& address) {
    GrpcServerOptions options;
    options.address = address;
    return std::string(ValidateGrpcServerOptions(options).message());
  };
  for (const std::string ok : {"127.0.0.1:10260", "127.8.9.10:0", "[::1]:1", "localhost:65535"}) {
    CAPTURE(ok);
    CHECK(problem(ok) == "");
  }
  for (const std::string open : {"0.0.0.0:1", ":10260", "[::]:1", "10.0.0.1:1", "example.com:1", "localhost.evil:1"}) {
    CAPTURE(open);
    CHECK_THAT(problem(open), Catch::StartsWith("address " + open + " is not loopback: that needs TLS"));
  }
  for (const std::string wrong : {"", "10260", "localhost", "localhost:", "localhost:x", "localhost:65536",
                                  "localhost:-1", "::1:10260", "[::1:10260"}) {
    CAPTURE(wrong);
    CHECK(problem(wrong) == "address \"" + wrong + "\": expected HOST:PORT");
  }
}

TEST_CASE("incomplete or missing TLS files are all told at once", "[grpc_server]") {
  const TestFolder folder;
  GrpcServerOptions options;
  options.address = "0.0.0.0:10260";
  options.certificate_file = folder.Path("missing.crt");
  options.key_file = folder.Write("empty.key", "");
  const std::string problem(ValidateGrpcServerOptions(options).message());
  CHECK(problem == absl::StrCat("certificate ", options.certificate_file, " is empty or cannot be read; key ",
                                options.key_file, " is empty or cannot be read; TLS needs a client CA too"));
  SmallService service;
  CHECK(GrpcServer::Start(options, {&service}).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("calls are answered on a free port, and after a stop no more", "[grpc_server]") {
  SmallService service;
  const auto server = Started(AnyPort(), &service);
  CHECK(server->port() > 0);
  CHECK(Call(server->port(), grpc::InsecureChannelCredentials()).ok());
  server->Stop(absl::Seconds(5));
  server->Stop(absl::Seconds(5));
  CHECK(Call(server->port(), grpc::InsecureChannelCredentials()).error_code() == grpc::StatusCode::UNAVAILABLE);
}

TEST_CASE("a port that is taken is not shared", "[grpc_server]") {
  SmallService service, other;
  const auto server = Started(AnyPort(), &service);
  GrpcServerOptions options;
  options.address = absl::StrCat("localhost:", server->port());
  const auto second = GrpcServer::Start(options, {&other});
  CHECK(second.status().code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(second.status().message()), Catch::StartsWith("cannot listen on " + options.address));
}

// One unary call by its name, with a message of raw bytes.
grpc::Status RawCall(int port, const std::string& method, const std::string& request, std::string* response) {
  grpc::GenericStub stub(grpc::CreateChannel(absl::StrCat("localhost:", port), grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  const auto context = Context();
  grpc::Slice slice(request);
  auto call = stub.PrepareUnaryCall(context.get(), method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (status.ok() && answer.Dump(&slices).ok()) {
    for (const grpc::Slice& part : slices) response->append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return status;
}

TEST_CASE("health tells the process from the service that leads", "[grpc_server]") {
  SmallService service;
  const auto server = Started(AnyPort(), &service);
  // HealthCheckRequest{service}, HealthCheckResponse{status}: SERVING is 1, NOT_SERVING 2.
  const std::string name = "kq.queueing.v1.Scheduler";
  const auto health = [&](const std::string& of) {
    std::string answer;
    const std::string request =
        of.empty() ? "" : absl::StrCat("\x0a", std::string(1, static_cast<char>(of.size())), of);
    const grpc::Status status = RawCall(server->port(), "/grpc.health.v1.Health/Check", request, &answer);
    return status.ok() ? answer : status.error_message();
  };
  CHECK(health("") == "\x08\x01");
  CHECK(health(name) == "\x08\x02");
  server->SetServing(true);
  CHECK(health(name) == "\x08\x01");
  server->SetServing(false);
  CHECK(health(name) == "\x08\x02");
}

TEST_CASE("a request that is too large is refused", "[grpc_server]") {
  SmallService service;
  GrpcServerOptions options = AnyPort();
  options.max_request_bytes = 1000;
  const auto server = Started(options, &service);
  std::string answer;
  const grpc::Status status =
      RawCall(server->port(), "/kq.queueing.v1.Scheduler/GetSnapshot", std::string(2000, '\0'), &answer);
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const std::string& ca, const TestCertificate& client) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ca;
  options.pem_cert_chain = client.certificate_pem;
  options.pem_private_key = client.key_pem;
  return grpc::SslCredentials(options);
}

TEST_CASE("with TLS only clients of the right authority are served", "[grpc_server]") {
  const TestFolder folder;
  const TestAuthority authority, stranger;
  const TestCertificate own = LocalhostCertificate(authority);
  const TestCertificate client = authority.IssueClient({.common_name = "visibility", .names = {}, .organizations = {}});
  const TestCertificate foreign = stranger.IssueClient({.common_name = "visibility", .names = {}, .organizations = {}});
  GrpcServerOptions options;
  options.address = "[::]:0";  // not loopback
  options.certificate_file = folder.Write("tls.crt", own.certificate_pem);
  options.key_file = folder.Write("tls.key", own.key_pem);
  options.client_ca_file = folder.Write("ca.crt", authority.certificate_pem());
  SmallService service;
  const auto server = Started(options, &service);

  const grpc::Status served = Call(server->port(), ClientCredentials(authority.certificate_pem(), client));
  INFO(served.error_message());
  CHECK(served.ok());
  const auto refused = [&](const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    return Call(server->port(), credentials).error_code() == grpc::StatusCode::UNAVAILABLE;
  };
  CHECK(refused(ClientCredentials(authority.certificate_pem(), foreign)));
  CHECK(refused(ClientCredentials(authority.certificate_pem(), {})));
  const TestCertificate expired = authority.IssueClient({.common_name = "visibility",
                                                         .names = {},
                                                         .organizations = {},
                                                         .valid_from = -absl::Hours(2),
                                                         .valid_until = -absl::Hours(1)});
  CHECK(refused(ClientCredentials(authority.certificate_pem(), expired)));
  CHECK(refused(ClientCredentials(stranger.certificate_pem(), client)));
  CHECK(refused(grpc::InsecureChannelCredentials()));
  CHECK(Call(server->port(), ClientCredentials(authority.certificate_pem(), client)).ok());
}

TEST_CASE("rotated certificates come into force without a restart", "[grpc_server]") {
  const TestFolder folder;
  const TestAuthority old_authority, new_authority;
  const auto write = [&folder](const TestAuthority& authority) {
    const TestCertificate own = LocalhostCertificate(authority);
    folder.Write("tls.crt", own.certificate_pem);
    folder.Write("tls.key", own.key_pem);
    folder.Write("ca.crt", authority.certificate_pem());
  };
  write(old_authority);
  GrpcServerOptions options = AnyPort();
  options.certificate_file = folder.Path("tls.crt");
  options.key_file = folder.Path("tls.key");
  options.client_ca_file = folder.Path("ca.crt");
  options.certificate_check = absl::Seconds(1);
  SmallService service;
  const auto server = Started(options, &service);
  const auto credentials = [](const TestAuthority& authority) {
    return ClientCredentials(authority.certificate_pem(),
                             authority.IssueClient({.common_name = "c", .names = {}, .organizations = {}}));
  };
  CHECK(Call(server->port(), credentials(old_authority)).ok());
  CHECK_FALSE(Call(server->port(), credentials(new_authority)).ok());

  write(new_authority);
  // gRPC looks at the files once a second; each call waits for a handshake.
  bool served = false;
  for (int tries = 0; tries < 600 && !served; ++tries) {
    served = Call(server->port(), credentials(new_authority)).ok();
    if (!served) gpr_sleep_until(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(100, GPR_TIMESPAN)));
  }
  CHECK(served);
  CHECK_FALSE(Call(server->port(), credentials(old_authority)).ok());
}

}  // namespace
}  // namespace kq::scheduler
