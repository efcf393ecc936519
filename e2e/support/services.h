#ifndef E2E_SUPPORT_SERVICES_H_
#define E2E_SUPPORT_SERVICES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/child_process.h"
#include "proto/queueing/v1/scheduler.pb.h"

// The processes under test, as a test starts, kills and asks them. The test's data
// must hold the program.
namespace kq::e2e {

struct ServiceOptions {
  // Who it is: the account that is named as its program is, and outlives it.
  const ChartAccounts* accounts;
  std::string through = {};  // a kubeconfig of a proxy before the API server; empty: straight to it
  std::string lease_namespace = {};
  std::vector<std::string> flags = {};        // on top of the addresses, the lease and its times
  std::vector<std::string> environment = {};  // POD_NAME=..., and so on
  std::string log = "";                       // in the folder of the logs; empty: the program's name
  bool check_invariants = true;               // of the scheduler, after every turn
  // gRPC by mTLS: a folder with ca.crt, server.crt, server.key, client.crt and client.key; empty: clear text.
  std::string grpc_tls = "";
  // Times of the lease; short, so that a test need not wait for them.
  std::vector<std::string> lease_times = {"--lease-duration=2s", "--renew-deadline=1500ms", "--retry-period=250ms"};
};

// One process that may be started again, on the same ports. Not thread-safe, except
// the questions.
class Service {
 public:
  void Start();
  // kill -9, and waits.
  void Kill();
  void Signal(int signal) const;
  bool Running();
  // The exit code.
  absl::StatusOr<int> Wait(absl::Duration timeout);
  // Resident memory in KiB, while it runs.
  int64_t ResidentKib() const;

  // A GET of its own HTTP server: code and body; 0 if there is no answer.
  std::pair<int, std::string> Fetch(int port, const std::string& path) const;
  // /readyz?verbose
  std::pair<int, std::string> Readyz() const { return Fetch(health_port_, "/readyz?verbose"); }
  bool Ready() const { return Readyz().first == 200; }
  // What /metrics shows; empty if there is no answer.
  std::string Metrics() const;
  int metrics_port() const { return metrics_port_ == 0 ? health_port_ : metrics_port_; }
  const std::string& log() const { return log_; }

 protected:
  Service(const ServiceOptions& options, const std::string& program, std::vector<std::string> flags);

  int health_port_ = 0;
  int metrics_port_ = 0;  // 0: that of health

 private:
  std::vector<std::string> command_;
  std::string log_;
  std::unique_ptr<ChildProcess> child_;
};

// koord-queue.
class Scheduler : public Service {
 public:
  explicit Scheduler(const ServiceOptions& options);

  absl::StatusOr<queueing::v1::Snapshot> Snapshot(bool without_units = true) const;
  // Who leads, as a replica that does not says beside its UNAVAILABLE.
  std::string LeaderInTrailer() const;
  std::string grpc_address() const;
  // What the books say is used, cpu in milli by quota; empty while it does not lead.
  std::map<std::string, int64_t> Books() const;
  // Why it waits and where, as the snapshot says; kNotFound if it does not know the unit.
  absl::StatusOr<queueing::v1::UnitSnapshot> Explain(const std::string& ns, const std::string& name) const;
  // The value of one series of /metrics ("koord_queue_leader"); 0 if it is not there.
  double Metric(const std::string& series) const;

 private:
  explicit Scheduler(const ServiceOptions& options, int metrics_port, int grpc_port);

  const int grpc_port_;
  const std::string grpc_tls_;
};

// koord-queue-visibility, which follows one scheduler. The options of the lease are not its.
class Visibility : public Service {
 public:
  Visibility(const ServiceOptions& options, const std::string& scheduler);

  // Where the API server is to call it.
  int port() const { return port_; }

 private:
  Visibility(const ServiceOptions& options, const std::string& scheduler, int port, int metrics_port);

  const int port_;
};

// koord-queue-controllers.
class Controllers : public Service {
 public:
  explicit Controllers(const ServiceOptions& options);

 private:
  Controllers(const ServiceOptions& options, int health_port, int metrics_port);
};

// koord-queue-debug-api, which follows one scheduler. Nor are they its.
class DebugApi : public Service {
 public:
  DebugApi(const ServiceOptions& options, const std::string& scheduler);

 private:
  DebugApi(const ServiceOptions& options, const std::string& scheduler, int port);
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_SERVICES_H_
