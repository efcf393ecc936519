// koord-queue-visibility: shows who waits, as an aggregated API of Kubernetes.
//
// Exit codes: see libs/process/run.h.
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "libs/common/log.h"
#include "libs/process/environment.h"
#include "libs/process/run.h"
#include "services/visibility/config.h"
#include "services/visibility/server.h"

int main(int argc, char** argv) {
  kq::visibility::Config config;
  config.environment = kq::ReadEnvironment();
  if (const std::optional<int> code = kq::visibility::ParseConfig(argc, argv, &config)) return *code;
  config.log.Apply();
  for (const std::string& warning : config.warnings) KQ_LOG(Warning, warning);
  return kq::RunUntilStopped("koord-queue-visibility", [&](const std::function<void()>&) {
    return kq::visibility::Server::Start(std::move(config), {});
  });
}
