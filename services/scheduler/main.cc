// koord-queue: admits Kubernetes jobs from their queues when their quota has room.
//
// Exit codes: 0 stopped by SIGTERM or SIGINT, or --help and --version; 1 could not
// start; 2 bad flags or configuration; 3 lost the lease.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "libs/common/log.h"
#include "libs/common/version.h"
#include "services/scheduler/config.h"
#include "services/scheduler/server.h"

namespace {

constexpr int kCannotStart = 1;
constexpr int kBadConfiguration = 2;
constexpr int kLostLease = 3;

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

kq::scheduler::Environment ReadEnvironment() {
  kq::scheduler::Environment environment;
  environment.pod_name = FromEnvironment("POD_NAME");
  environment.pod_namespace = FromEnvironment("POD_NAMESPACE");
  environment.host = FromEnvironment("HOSTNAME");
  if (environment.host.empty()) {
    char name[256] = "localhost";
    if (::gethostname(name, sizeof(name) - 1) != 0) name[0] = '\0';
    environment.host = name[0] == '\0' ? "localhost" : name;
  }
  environment.kubeconfig = FromEnvironment("KUBECONFIG");
  environment.service_host = FromEnvironment("KUBERNETES_SERVICE_HOST");
  environment.service_port = FromEnvironment("KUBERNETES_SERVICE_PORT");
  return environment;
}

// Signals and the server's own wish to end arrive as signals at the main thread,
// which alone waits for them. SIGUSR1 is the server's.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

}  // namespace

int main(int argc, char** argv) {
  kq::scheduler::Config config;
  config.environment = ReadEnvironment();
  if (const std::optional<int> code = kq::scheduler::ParseConfig(argc, argv, &config)) return *code;
  kq::SetLogVerbosity(config.verbosity);
  kq::SetLogFormat(config.log_format == "json" ? kq::LogFormat::kJson : kq::LogFormat::kText);
  for (const std::string& warning : config.warnings) KQ_LOG(Warning, warning);
  KQ_LOG(Info, "Starting koord-queue", {{"version", kq::kVersion}, {"commit", kq::kGitCommit}});

  const sigset_t signals = BlockSignals();
  kq::scheduler::Server::Surroundings surroundings;
  surroundings.on_exit = [](kq::scheduler::ExitReason) { ::kill(::getpid(), SIGUSR1); };
  auto server = kq::scheduler::Server::Start(std::move(config), std::move(surroundings));
  if (!server.ok()) {
    KQ_LOG(Error, "Cannot start", {{"err", server.status()}});
    const bool bad_configuration = absl::IsInvalidArgument(server.status()) || absl::IsUnimplemented(server.status());
    return bad_configuration ? kBadConfiguration : kCannotStart;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  KQ_LOG(Info, "Stopping", {{"because", signal == SIGUSR1 ? "the lease was lost" : strsignal(signal)}});
  (*server)->Stop();
  KQ_LOG(Info, "Stopped");
  return signal == SIGUSR1 ? kLostLease : 0;
}
