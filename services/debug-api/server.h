#ifndef SERVICES_DEBUG_API_SERVER_H_
#define SERVICES_DEBUG_API_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/process/run.h"
#include "libs/scheduler_client/picture.h"
#include "services/debug-api/config.h"

namespace kq::debug_api {

// koord-queue-debug-api, wired: follows the scheduler that leads, and serves the
// pages, metrics and health. It writes nothing. Thread-safe.
class Server : public RunningServer {
 public:
  // Null: the real one, as the configuration says. What is given must outlive the server.
  struct Surroundings {
    const Clock* clock = &Clock::Real();
    KubeApi* api = nullptr;
    const PictureSource* pictures = nullptr;
  };

  // Errors are those of the configuration and an address in use. A scheduler or an
  // API server that cannot be reached is none.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Config config, Surroundings surroundings);
  // As Stop.
  ~Server() override = default;

  virtual int port() const = 0;
  // 0 if nothing is served there.
  virtual int health_port() const = 0;
};

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_SERVER_H_
