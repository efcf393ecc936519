#ifndef SERVICES_CONTROLLERS_CONFIG_H_
#define SERVICES_CONTROLLERS_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/process/environment.h"
#include "libs/process/settings.h"

namespace kq::controllers {

// The address that says: serve nothing.
inline constexpr char kNowhere[] = "0";

// Everything that can be configured, from flags and the environment; its values
// are the defaults.
struct Config {
  Environment environment;

  ApiServerSettings api;

  // Jobs.
  bool job_extensions = true;
  std::vector<std::string> extensions = {"job"};
  bool manage_all_jobs = false;
  std::vector<std::string> namespaces;  // empty: all
  int workers = 20;
  double retries_per_second = 100;  // --wqqps
  absl::Duration report_interval = absl::Seconds(1);
  FeatureGates gates;

  // Leadership.
  // An empty name stands for the one that Lease gives.
  LeaseSettings lease{.election = false, .name = "", .ns = "koord-queue"};
  absl::Duration drain_timeout = absl::Seconds(5);  // for writes on their way, at the end

  // Addresses, or kNowhere.
  std::string metrics_address = ":8080";
  std::string health_address = ":8081";

  LogSettings log;

  // What was accepted but has no effect, one line each.
  std::vector<std::string> warnings;

  // With its name: by default "koord-queue-controllers-" and the extensions, joined by "-".
  LeaseSettings Lease() const;
};

// Reads the command line. Returns the exit code if the process is to end: 0 after
// --help and --version, 2 after errors, all of which are printed at once.
std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config);

// The flags, filling `config`; for ParseConfig and tests. `flags.Parse` then gives
// every error.
void RegisterFlags(FlagSet* flags, Config* config);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_CONFIG_H_
