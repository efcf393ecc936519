#ifndef SERVICES_SCHEDULER_CONFIG_H_
#define SERVICES_SCHEDULER_CONFIG_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/http/http_server.h"
#include "libs/kube/lease.h"
#include "services/scheduler/core_settings.h"
#include "services/scheduler/rpc/grpc_server.h"

namespace kq::scheduler {

// What surrounds the process, read by main alone.
struct Environment {
  std::string pod_name;       // POD_NAME
  std::string pod_namespace;  // POD_NAMESPACE
  std::string host;           // HOSTNAME, or the machine's name
  std::string kubeconfig;     // KUBECONFIG; counts where no flag is given
  // KUBERNETES_SERVICE_HOST and _PORT, inside a pod.
  std::string service_host;
  std::string service_port;
};

// Everything that can be configured, from flags, the --config file and the
// environment; its values are the defaults.
struct Config {
  Environment environment;

  // The API server.
  std::string kubeconfig;  // empty: the environment's, else in-cluster
  std::string context;
  double kube_api_qps = 0;  // 0: no limit of ours
  int kube_api_burst = 0;
  int write_concurrency = 16;
  double advisory_writes_per_second = 200;
  double events_per_second = 50;

  // Decisions.
  std::string config_file;
  CoreSettings core;
  std::map<std::string, bool> feature_gates = DefaultGates();
  std::string decision_log_dir;  // empty: no log
  int64_t decision_log_max_bytes = 64 << 20;
  int decision_log_max_files = 8;
  int64_t decisions_kept = 10000;  // in memory, for the Decisions RPC
  bool check_invariants = false;

  // Leadership.
  bool leader_election = true;
  std::string lease_name = "example-lease";
  std::string lease_namespace = "default";
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);
  absl::Duration drain_timeout = absl::Seconds(5);  // for writes on their way, at the end

  // Addresses.
  std::string metrics_address = ":10259";
  std::string tls_certificate_file;  // of the metrics port; empty: plain HTTP
  std::string tls_key_file;
  GrpcServerOptions grpc;

  // Log.
  int verbosity = 0;
  std::string log_format = "text";

  // What was accepted but has no effect, one line each.
  std::vector<std::string> warnings;

  static std::map<std::string, bool> DefaultGates();
  bool Gate(const std::string& name) const { return feature_gates.at(name); }
  // As the lease wants it; the identity is new with each call.
  LeaseOptions LeaseOf() const;
};

// Reads the command line and the file that --config names. Returns the exit code
// if the process is to end: 0 after --help and --version, 2 after errors, all of
// which are printed at once.
std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config);

// The flags, filling `config`; for ParseConfig and tests. `flags.Parse` then gives
// every error.
void RegisterFlags(FlagSet* flags, Config* config);

// A KoordQueueConfiguration (scheduling.k8s.io/v1) in YAML or JSON: `plugins`,
// `pluginConfigs`, `defaultReclaimProtectTime`. kInvalidArgument lists everything
// that is wrong with it.
absl::Status ApplyConfigFile(absl::string_view text, Config* config);

// "host:port" with an optional host (none: all addresses of the machine); IPv6
// hosts in brackets.
absl::StatusOr<HttpServerOptions> ListenOn(const std::string& address);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CONFIG_H_
