// koord-queue: admits Kubernetes jobs from their queues when their quota has room.
//
// Exit codes: see libs/process/run.h.
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "libs/common/log.h"
#include "libs/process/environment.h"
#include "libs/process/run.h"
#include "services/scheduler/config.h"
#include "services/scheduler/server.h"

int main(int argc, char** argv) {
  kq::scheduler::Config config;
  config.environment = kq::ReadEnvironment();
  if (const std::optional<int> code = kq::scheduler::ParseConfig(argc, argv, &config)) return *code;
  config.log.Apply();
  for (const std::string& warning : config.warnings) KQ_LOG(Warning, warning);
  return kq::RunUntilStopped("koord-queue", [&](std::function<void()> lease_lost) {
    kq::scheduler::Server::Surroundings surroundings;
    surroundings.on_lease_lost = std::move(lease_lost);
    return kq::scheduler::Server::Start(std::move(config), std::move(surroundings));
  });
}
