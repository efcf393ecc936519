// A proxy before a real API server that injects faults: what rules, see
// fault_rules.h; what else it does, see fault_proxy.h.
//
//   KUBECONFIG=$STATE/kubeconfig cluster/kubeconfig-for koord-queue koord-queue >direct
//   bazel-bin/e2e/fault_proxy/fault_proxy --kubeconfig=direct --rules=rules.yaml --folder=/tmp/fp &
//   bazel-bin/services/scheduler/koord-queue --kubeconfig=/tmp/fp/direct ...
//
// Listens on loopback only, with a certificate that is made anew each time. For
// each file of --kubeconfig writes one of the same name into --folder that leads
// through the proxy; the first names the API server. They are there once the proxy listens.

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "e2e/fault_proxy/fault_proxy.h"
#include "e2e/fault_proxy/fault_rules.h"
#include "e2e/fault_proxy/proxy_kubeconfig.h"
#include "libs/common/flags.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/http/http_client.h"
#include "libs/http/http_server.h"
#include "libs/http/testing/certificates.h"
#include "libs/kube/kubeconfig.h"

namespace kq {
namespace {

struct Config {
  std::vector<std::string> kubeconfigs;
  std::string folder;
  std::string rules;
  int64_t seed = 0;
  int port = 0;
  bool plain = false;
};

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.good() && !in.eof()) return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  return text;
}

// A file that only its owner can read.
absl::Status WriteText(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".new";
  std::error_code error;
  std::ofstream out(unfinished, std::ios::binary);
  std::filesystem::permissions(unfinished, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
                               error);
  out << text;
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat("cannot write ", unfinished));
  std::filesystem::rename(unfinished, path, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", error.message()));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FaultRules>> LoadRules(const Config& config, bool seed_given) {
  std::string text;
  if (!config.rules.empty()) {
    KQ_ASSIGN_OR_RETURN(text, ReadText(config.rules));
  }
  absl::StatusOr<std::unique_ptr<FaultRules>> rules = FaultRules::Parse(text);
  if (!rules.ok()) return WithContext(rules.status(), config.rules);
  if (seed_given) (*rules)->SetSeed(static_cast<uint64_t>(config.seed));
  return rules;
}

absl::StatusOr<std::unique_ptr<HttpClient>> Upstream(const KubeConnection& connection) {
  HttpClientOptions options;
  options.url = connection.server;
  options.ca_pem = connection.ca_pem;
  options.server_name = connection.server_name;
  options.skip_tls_verify = connection.skip_tls_verify;
  options.connections = 64;
  return NewHttpClient(std::move(options));
}

HttpServerOptions ServerOptions(const Config& config) {
  HttpServerOptions options;
  options.port = config.port;
  options.threads = 128;  // each watch and each slow answer holds one
  options.connection_limit = 1024;
  options.header_limit_bytes = 64 << 10;
  options.body_limit_bytes = 16 << 20;
  return options;
}

// Starts to listen and writes the kubeconfigs that lead here.
absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const Config& config, HttpHandle handle) {
  HttpServerOptions options = ServerOptions(config);
  std::string authority;
  if (!config.plain) {
    const testing::TestAuthority ca("fault proxy");
    const testing::TestCertificate certificate = testing::LocalhostCertificate(ca);
    authority = ca.certificate_pem();
    options.certificate_file = config.folder + "/fault-proxy.crt";
    options.key_file = config.folder + "/fault-proxy.key";
    KQ_RETURN_IF_ERROR(WriteText(options.certificate_file, certificate.certificate_pem));
    KQ_RETURN_IF_ERROR(WriteText(options.key_file, certificate.key_pem));
  }
  KQ_ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server, StartHttpServer(std::move(options), std::move(handle)));
  const std::string url = absl::StrCat(config.plain ? "http" : "https", "://127.0.0.1:", server->port());
  for (const std::string& file : config.kubeconfigs) {
    KQ_ASSIGN_OR_RETURN(const KubeConnection connection, LoadKubeconfig(file));
    absl::StatusOr<std::string> text = ProxyKubeconfig(connection, url, authority);
    if (!text.ok()) return WithContext(text.status(), file);
    const std::string path = config.folder + "/" + std::filesystem::path(file).filename().string();
    KQ_RETURN_IF_ERROR(WriteText(path, *text));
    KQ_LOG(Info, "Kubeconfig written", {{"file", path}, {"server", url}});
  }
  return server;
}

absl::Status Serve(const Config& config, bool seed_given) {
  std::error_code error;
  std::filesystem::create_directories(config.folder, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("folder ", config.folder, ": ", error.message()));
  KQ_ASSIGN_OR_RETURN(const KubeConnection connection, LoadKubeconfig(config.kubeconfigs.front()));
  KQ_ASSIGN_OR_RETURN(std::unique_ptr<FaultRules> rules, LoadRules(config, seed_given));
  KQ_ASSIGN_OR_RETURN(const std::unique_ptr<HttpClient> upstream, Upstream(connection));

  // Blocked in every thread, so that sigwait takes them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  FaultProxy proxy(FaultProxyOptions(), std::move(rules), upstream.get(), &Clock::Real());
  KQ_ASSIGN_OR_RETURN(
      const std::unique_ptr<HttpServer> server,
      Listen(config, [&proxy](const HttpRequest& request, const HttpPeer&) { return proxy.Handle(request); }));
  KQ_LOG(Info, "Fault proxy listens", {{"port", server->port()}, {"upstream", connection.server}});
  int signal = 0;
  sigwait(&signals, &signal);
  server->Stop(absl::Seconds(1));
  std::printf("%s\n", proxy.StatsText().c_str());
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Config config;
  FlagSet flags("fault-proxy", kVersion, "A proxy before an API server that injects faults.");
  flags.StringList("kubeconfig", &config.kubeconfigs,
                   "Kubeconfigs with tokens; the first names the API server. Each is rewritten into --folder.");
  flags.String("folder", &config.folder, "Where the rewritten kubeconfigs and the certificate go.");
  flags.String("rules", &config.rules, "File of rules, YAML or JSON; none: no faults until PUT /fault-proxy/rules.");
  flags.Int("seed", &config.seed, "Wins over the seed of the rules.", {0, INT64_MAX});
  flags.Int("port", &config.port, "0: any free one.", {0, 65535});
  flags.Bool("plain", &config.plain, "HTTP without TLS.");
  flags.Check([&config]() -> absl::Status {
    if (config.kubeconfigs.empty()) return absl::InvalidArgumentError("--kubeconfig is missing");
    if (config.folder.empty()) return absl::InvalidArgumentError("--folder is missing");
    for (const std::string& file : config.kubeconfigs) {
      std::error_code none;  // what is not there yet is no trouble
      const std::filesystem::path own = std::filesystem::absolute(file, none).parent_path();
      if (!std::filesystem::equivalent(own, config.folder, none)) continue;
      return absl::InvalidArgumentError(absl::StrCat("--folder is that of ", file, ", which would be overwritten"));
    }
    return absl::OkStatus();
  });
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return *code;
  const absl::Status status = Serve(config, flags.WasSet("seed"));
  if (status.ok()) return 0;
  KQ_LOG(Error, "Fault proxy ended", {{"err", status}});
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace
}  // namespace kq

int main(int argc, char** argv) { return kq::Main(argc, argv); }
