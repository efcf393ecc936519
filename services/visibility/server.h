#ifndef SERVICES_VISIBILITY_SERVER_H_
#define SERVICES_VISIBILITY_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/process/run.h"
#include "libs/scheduler_client/picture.h"
#include "services/visibility/config.h"

namespace kq::visibility {

// koord-queue-visibility, wired: the scheduler's pictures come by gRPC, requests by
// HTTPS from the API server; who asks and may ask is the API server's to say.
//
// Start does not wait for the scheduler or the API server. Ready from the first
// picture on, once the front proxy's authority and the certificate are there; a
// scheduler that is gone later makes the data's answers 503, not the replica
// unready, so that discovery goes on. Stateless; any number of replicas.
// Thread-safe.
class Server : public RunningServer {
 public:
  // For tests; null: what the configuration names.
  struct Surroundings {
    const Clock* clock = &Clock::Real();
    KubeApi* api = nullptr;
    const PictureSource* pictures = nullptr;
    absl::Duration certificate_period = absl::Minutes(1);  // between two looks at a certificate of our own
  };

  // Errors are those of the configuration, an address in use, a folder that cannot
  // be written.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Config config, Surroundings surroundings);

  virtual int port() const = 0;
  virtual int metrics_port() const = 0;
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_SERVER_H_
