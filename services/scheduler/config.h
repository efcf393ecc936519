#ifndef SERVICES_SCHEDULER_CONFIG_H_
#define SERVICES_SCHEDULER_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/process/environment.h"
#include "libs/process/settings.h"
#include "services/scheduler/core_settings.h"
#include "services/scheduler/rpc/grpc_server.h"
#include "services/scheduler/runtime/queue_items_writer.h"

namespace kq::scheduler {

// Everything that can be configured, from flags, the --config file and the
// environment; its values are the defaults.
struct Config {
  Environment environment;

  // The API server.
  ApiServerSettings api;
  int write_concurrency = 16;
  double advisory_writes_per_second = 200;
  QueueItemsOptions queue_items;  // limit 0: Queue.status is left alone

  // Decisions.
  std::string config_file;
  CoreSettings core;
  FeatureGates gates;
  std::string decision_log_dir;  // empty: no log
  int64_t decision_log_max_bytes = 64 << 20;
  int decision_log_max_files = 8;
  int64_t decisions_kept = 10000;  // in memory, for the Decisions RPC
  bool check_invariants = false;

  // Leadership.
  LeaseSettings lease{.name = "example-lease", .ns = "default"};
  absl::Duration drain_timeout = absl::Seconds(5);  // for writes on their way, at the end

  // Addresses.
  std::string metrics_address = ":10259";
  std::string tls_certificate_file;  // of the metrics port; empty: plain HTTP
  std::string tls_key_file;
  GrpcServerOptions grpc;

  LogSettings log;

  // What was accepted but has no effect, one line each.
  std::vector<std::string> warnings;
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

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CONFIG_H_
