#ifndef SERVICES_CONTROLLERS_CONFIG_H_
#define SERVICES_CONTROLLERS_CONFIG_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/http/http_server.h"
#include "libs/kube/lease.h"

namespace kq::controllers {

// What surrounds the process, read by main alone.
struct Environment {
  std::string pod_name;    // POD_NAME
  std::string host;        // HOSTNAME, or the machine's name
  std::string kubeconfig;  // KUBECONFIG; counts where no flag is given
  // KUBERNETES_SERVICE_HOST and _PORT, inside a pod.
  std::string service_host;
  std::string service_port;
};

// Everything that can be configured, from flags and the environment; its values
// are the defaults.
struct Config {
  Environment environment;

  // The API server.
  std::string kubeconfig;  // empty: the environment's, else in-cluster
  std::string context;
  double kube_api_qps = 0;  // 0: no limit of ours
  int kube_api_burst = 0;
  double events_per_second = 50;

  // Jobs.
  bool job_extensions = true;
  std::vector<std::string> extensions = {"job"};
  bool manage_all_jobs = false;
  std::vector<std::string> namespaces;  // empty: all
  int workers = 20;
  double retries_per_second = 100;  // --wqqps
  absl::Duration report_interval = absl::Seconds(1);
  std::map<std::string, bool> feature_gates = DefaultGates();

  // Leadership.
  bool leader_election = false;
  std::string lease_namespace = "koord-queue";
  std::string lease_name;  // empty: "koord-queue-controllers-" and the extensions, joined by "-"
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);
  absl::Duration drain_timeout = absl::Seconds(5);  // for writes on their way, at the end

  // Addresses; "0" serves nothing.
  std::string metrics_address = ":8080";
  std::string health_address = ":8081";

  // Log.
  int verbosity = 0;
  std::string log_format = "text";

  // What was accepted but has no effect, one line each.
  std::vector<std::string> warnings;

  static std::map<std::string, bool> DefaultGates();
  // As the lease wants it; the identity is new with each call.
  LeaseOptions LeaseOf() const;
};

// Reads the command line. Returns the exit code if the process is to end: 0 after
// --help and --version, 2 after errors, all of which are printed at once.
std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config);

// The flags, filling `config`; for ParseConfig and tests. `flags.Parse` then gives
// every error.
void RegisterFlags(FlagSet* flags, Config* config);

// "host:port" with an optional host (none: all addresses of the machine); IPv6
// hosts in brackets. "0": nullopt.
absl::StatusOr<std::optional<HttpServerOptions>> ListenOn(const std::string& address);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_CONFIG_H_
