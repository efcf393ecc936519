#ifndef SERVICES_DEBUG_API_CONFIG_H_
#define SERVICES_DEBUG_API_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/http/http_server.h"
#include "libs/process/environment.h"
#include "libs/process/settings.h"
#include "libs/scheduler_client/connection_options.h"
#include "services/debug-api/pages.h"

namespace kq::debug_api {

// The address that says: serve nothing.
inline constexpr char kNowhere[] = "0";

// Everything that can be configured, from flags and the environment; its values
// are the defaults.
struct Config {
  Environment environment;

  SchedulerConnectionOptions scheduler;
  ApiServerSettings api;

  // Where the pages are served, with /metrics and health. Everybody who reaches it
  // sees every user's jobs.
  std::string address = "127.0.0.1:19876";
  std::string certificate_file;  // TLS if given
  std::string key_file;
  std::string client_ca_file;  // only clients with a certificate of this authority
  // /metrics and health once more, in plain HTTP, for those who may not see the
  // pages: probes and scrapes. Or kNowhere.
  std::string health_address = kNowhere;

  PagesOptions pages;
  LogSettings log;

  // What the operator is to be told, one line each.
  std::vector<std::string> warnings;

  // kInvalidArgument: the address is none.
  absl::StatusOr<HttpServerOptions> Listen() const;
};

// Reads the command line. Returns the exit code if the process is to end: 0 after
// --help and --version, 2 after errors, all of which are printed at once.
std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config);

// The flags, filling `config`; for ParseConfig and tests. `flags.Parse` then gives
// every error.
void RegisterFlags(FlagSet* flags, Config* config);

// What the operator should know of this configuration; for ParseConfig and tests.
std::vector<std::string> WarningsOf(const Config& config);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_CONFIG_H_
