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
// picture on, once the front proxy's authority and the certificate are there. It stays
// so, because replicas that leave the endpoints take discovery with them, and with it
// the deletion of namespaces:
//
//   the scheduler is gone               units are answered 503, discovery goes on
//   the Secret or the APIService is     the certificate in use is shown on; not ready
//   spoiled, gone or out of reach       only once it has ended
//   the front proxy's ConfigMap is too  the last good one stays in force
//   reviews fail                        who must be asked about is answered 503
//
// The log, /readyz?verbose and koord_queue_visibility_in_order tell of it.
// Stateless; any number of replicas. Thread-safe.
class Server : public RunningServer {
 public:
  // For tests; null: what the configuration names.
  struct Surroundings {
    const Clock* clock = &Clock::Real();
    KubeApi* api = nullptr;
    const PictureSource* pictures = nullptr;
    absl::Duration certificate_period = absl::Seconds(15);  // between two looks at what is to be kept in order
  };

  // Errors are those of the configuration, an address in use, a folder that cannot
  // be written.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Config config, Surroundings surroundings);

  virtual int port() const = 0;
  virtual int metrics_port() const = 0;
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_SERVER_H_
