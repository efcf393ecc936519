// koord-queue-debug-api: shows what the scheduler knows, for operators: the books of
// the quotas, who waits where and why, and whether the books and the API server agree.
//
// Exit codes: see libs/process/run.h.
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "libs/common/log.h"
#include "libs/process/environment.h"
#include "libs/process/run.h"
#include "services/debug-api/config.h"
#include "services/debug-api/server.h"

int main(int argc, char** argv) {
  kq::debug_api::Config config;
  config.environment = kq::ReadEnvironment();
  if (const std::optional<int> code = kq::debug_api::ParseConfig(argc, argv, &config)) return *code;
  config.log.Apply();
  for (const std::string& warning : config.warnings) KQ_LOG(Warning, warning);
  return kq::RunUntilStopped("koord-queue-debug-api", [&](const std::function<void()>&) {
    return kq::debug_api::Server::Start(std::move(config), {});
  });
}
