// koord-queue-controllers: queues Kubernetes jobs as QueueUnits, releases those that
// were admitted, and says what becomes of them.
//
// Exit codes: see libs/process/run.h.
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "libs/common/log.h"
#include "libs/process/environment.h"
#include "libs/process/run.h"
#include "services/controllers/config.h"
#include "services/controllers/server.h"

int main(int argc, char** argv) {
  kq::controllers::Config config;
  config.environment = kq::ReadEnvironment();
  if (const std::optional<int> code = kq::controllers::ParseConfig(argc, argv, &config)) return *code;
  config.log.Apply();
  for (const std::string& warning : config.warnings) KQ_LOG(Warning, warning);
  return kq::RunUntilStopped("koord-queue-controllers", [&](std::function<void()> lease_lost) {
    kq::controllers::Server::Surroundings surroundings;
    surroundings.on_lease_lost = std::move(lease_lost);
    return kq::controllers::Server::Start(std::move(config), std::move(surroundings));
  });
}
