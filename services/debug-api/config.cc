#include "services/debug-api/config.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/mistakes.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/http/listen_address.h"

namespace kq::debug_api {
namespace {

// A running comparison holds a thread for some seconds, an unreachable leader too.
constexpr int kServingThreads = 4;

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

absl::Status CheckServing(const Config& config) {
  Mistakes mistakes;
  mistakes.Add(WithContext(ListenOn(config.address).status(), "--bind-address"));
  if (config.health_address != kNowhere) {
    mistakes.Add(WithContext(ListenOn(config.health_address).status(), "--health-bind-address"));
  }
  if (config.certificate_file.empty() != config.key_file.empty()) {
    mistakes.Add("--tls-cert-file and --tls-private-key-file go together");
  }
  if (!config.client_ca_file.empty() && config.certificate_file.empty()) {
    mistakes.Add("--client-ca-file needs --tls-cert-file and --tls-private-key-file");
  }
  if (config.pages.max_picture_age <= absl::ZeroDuration()) {
    mistakes.Add("--max-picture-age: must be more than 0");
  }
  return mistakes.Sum();
}

}  // namespace

absl::StatusOr<HttpServerOptions> Config::Listen() const {
  KQ_ASSIGN_OR_RETURN(HttpServerOptions options, ListenOn(address));
  options.certificate_file = certificate_file;
  options.key_file = key_file;
  options.client_ca_file = client_ca_file;
  options.threads = kServingThreads;
  return options;
}

void RegisterFlags(FlagSet* flags, Config* config) {
  AddConnectionFlags(&config->scheduler, flags);
  config->api.Register(flags);

  flags->Section("Serving");
  flags->String("bind-address", &config->address,
                "Where the pages, /metrics and health are served. Whoever reaches it sees every user's jobs: beyond "
                "loopback give --tls-cert-file, --tls-private-key-file and --client-ca-file.");
  flags->String("tls-cert-file", &config->certificate_file, "Serve HTTPS with this certificate and its chain (PEM).");
  flags->String("tls-private-key-file", &config->key_file, "Its key (PEM).");
  flags->String("client-ca-file", &config->client_ca_file,
                "Serve only clients with a certificate of this authority (PEM).");
  flags->String("health-bind-address", &config->health_address,
                "Serve /metrics and health here too, plain HTTP, for probes and scrapes. 0: nowhere.");
  flags->Duration("max-picture-age", &config->pages.max_picture_age,
                  "When the scheduler was not heard of for so long, 503 is answered.");
  config->log.Register(flags);

  flags->Check([config] { return CheckServing(*config); });
  flags->Check([config] { return config->api.Check(); });
  flags->Check([config] { return config->log.Check(); });
}

std::vector<std::string> WarningsOf(const Config& config) {
  const absl::StatusOr<HttpServerOptions> listen = config.Listen();
  if (!listen.ok() || IsLoopback(listen->address) || !config.client_ca_file.empty()) return {};
  return {absl::StrCat("The debug API at ", config.address,
                       " has no authentication: whoever reaches it sees every user's jobs",
                       config.certificate_file.empty() ? ", in clear text" : "")};
}

std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config) {
  FlagSet flags("koord-queue-debug-api", kVersion, "Shows what the scheduler knows, for operators, as JSON.");
  RegisterFlags(&flags, config);
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return code;
  config->warnings = flags.warnings();
  for (std::string& warning : WarningsOf(*config)) config->warnings.push_back(std::move(warning));
  return std::nullopt;
}

}  // namespace kq::debug_api
