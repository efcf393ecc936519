#ifndef SERVICES_SCHEDULER_RPC_GRPC_SERVER_H_
#define SERVICES_SCHEDULER_RPC_GRPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace kq::scheduler {

struct GrpcServerOptions {
  // HOST:PORT; "[::1]:10260", ":10260" (all interfaces) and port 0 (any free one) too.
  std::string address = "127.0.0.1:10260";

  // TLS with client certificates: all three files or none. They are looked at
  // again after each `certificate_check`, so that rotated ones come into force.
  std::string certificate_file;  // with its chain
  std::string key_file;
  std::string client_ca_file;  // who may call
  absl::Duration certificate_check = absl::Minutes(1);

  int max_request_bytes = 1 << 20;
  int max_calls_per_connection = 100;
  // A connection is asked for a sign of life after this long without one.
  absl::Duration keepalive = absl::Minutes(1);
};

// Everything that is wrong with the options, in one kInvalidArgument: an address
// that is none, one other than loopback without TLS, TLS files that are missing or
// cannot be read. Whoever can reach the port sees every user's jobs.
absl::Status ValidateGrpcServerOptions(const GrpcServerOptions& options);

// A gRPC server with health service and reflection. Thread-safe.
class GrpcServer {
 public:
  // Listens. `services` must outlive the server. kInvalidArgument as above,
  // kUnavailable if the address cannot be listened on (also if another process
  // already does).
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           const std::vector<grpc::Service*>& services);
  ~GrpcServer();

  int port() const { return port_; }

  // What the health service says about kq.queueing.v1.Scheduler; at first not
  // serving. The empty service name is always serving: the process lives.
  void SetServing(bool serving);

  // Takes no new calls, waits up to `grace` for those that run, then cancels them.
  // Streams must be ended by their service before. May be called again.
  void Stop(absl::Duration grace);

 private:
  GrpcServer(std::unique_ptr<grpc::Server> server, int port);

  const std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_GRPC_SERVER_H_
