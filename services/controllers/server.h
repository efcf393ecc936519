#ifndef SERVICES_CONTROLLERS_SERVER_H_
#define SERVICES_CONTROLLERS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/process/run.h"
#include "services/controllers/config.h"

namespace kq::controllers {

// koord-queue-controllers, wired: for each enabled kind of job its watches, work
// queue and workers; events; metrics and health.
//
// Starts in this order: metrics and health are served; the cluster is watched,
// waiting for an API server and CRDs that are not there yet; once every kind has
// been listed, with --leader-elect the lease is campaigned for; then jobs are looked
// at. Start does not wait for any of this. A replica without the lease keeps its
// watches, so that it can take over at once. Thread-safe.
//
// /livez fails if nobody has turned for ten minutes where somebody must: the workers of a kind of job, or
// the thread that waits for the lists and keeps the lease. One worker that hangs is not seen, and neither
// are the watches: they end by themselves, and what does not work about them is in /readyz.
class Server : public RunningServer {
 public:
  // `on_lease_lost` is called at most once, from a thread of the server: the process
  // is to call Stop and end.
  struct Surroundings {
    const Clock* clock = &Clock::Real();
    // The API server; null: the one that the configuration names.
    KubeApi* api = nullptr;
    std::function<void()> on_lease_lost = [] {};
  };

  // Errors are those of the configuration and an address in use. An API server
  // that cannot be reached is none.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Config config, Surroundings surroundings);
  // As Stop.
  ~Server() override = default;

  // Finishes the writes on their way up to the configured limit, gives the lease
  // back, ends all threads.
  void Stop() override = 0;

  // 0 if nothing is served there.
  virtual int metrics_port() const = 0;
  virtual int health_port() const = 0;
  // The text that /metrics shows.
  virtual std::string MetricsText() const = 0;
  // Jobs are looked at: everything was listed, and this replica leads.
  virtual bool Works() const = 0;
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_SERVER_H_
