#ifndef PERF_SERVICES_H_
#define PERF_SERVICES_H_

#include <optional>
#include <string>
#include <vector>

#include "e2e/support/child_process.h"
#include "perf/process_usage.h"

namespace kq::perf {

// The project's own processes, as built: started for a measurement, told to stop at
// its end and ended in any case. Mistakes throw, as in e2e/support. Not thread-safe.
class Services {
 public:
  struct Options {
    std::string scheduler, controllers;  // the programs
    std::string kubeconfig;
    std::string lease_namespace;  // exists; no lease of another run is in it
    std::string log_folder;
  };
  explicit Services(Options options) : options_(std::move(options)) {}

  // Each returns at once. `more` are further flags.
  void StartScheduler(const std::vector<std::string>& more = {});
  void StartControllers(const std::vector<std::string>& more = {});
  // SIGTERM, and waits.
  void Stop();

  int grpc_port() const { return grpc_port_; }
  // Adds those that run, under their names.
  void AddTo(Processes* processes) const;

 private:
  const Options options_;
  int grpc_port_ = 0;
  std::optional<e2e::ChildProcess> scheduler_, controllers_;
};

}  // namespace kq::perf

#endif  // PERF_SERVICES_H_
