#ifndef SERVICES_SCHEDULER_SERVER_H_
#define SERVICES_SCHEDULER_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/process/run.h"
#include "services/scheduler/config.h"

namespace kq::scheduler {

// koord-queue, wired: the API server's news go through the mailbox to the core,
// its decisions through the write queue back, its pictures to gRPC and metrics.
//
// Starts in this order: metrics and health are served; the cluster is watched,
// waiting for an API server and CRDs that are not there yet; once every kind has
// been listed the lease is campaigned for; with the lease the first cycle runs.
// Start does not wait for any of this. Thread-safe.
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

  // Errors are those of the configuration, an address in use, a folder that cannot
  // be written. An API server that cannot be reached is none.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Config config, Surroundings surroundings);
  // As Stop.
  ~Server() override = default;

  // Stops deciding, finishes the writes on their way up to the configured limit,
  // takes the label off, gives the lease back, ends all threads.
  void Stop() override = 0;

  virtual int metrics_port() const = 0;
  virtual int grpc_port() const = 0;
  // The text that /metrics shows.
  virtual std::string MetricsText() const = 0;
  virtual bool Leads() const = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_SERVER_H_
