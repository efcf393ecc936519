#ifndef LIBS_PROCESS_SETTINGS_H_
#define LIBS_PROCESS_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/flags.h"
#include "libs/kube/kubeconfig.h"
#include "libs/kube/lease.h"
#include "libs/process/environment.h"

// Settings that several of our processes have, with their flags. The values are
// the defaults; Register adds the flags to a FlagSet, Check tells every mistake.
// Values; not thread-safe.
namespace kq {

struct ApiServerSettings {
  std::string kubeconfig;  // empty: the environment's, else in-cluster
  std::string context;
  double qps = 0;  // 0: no limit of ours
  int burst = 0;   // 0: as many as in a second
  double events_per_second = 50;

  void Register(FlagSet* flags);
  absl::Status Check() const;
  // kInvalidArgument if nothing names an API server; else as LoadKubeconfig.
  absl::StatusOr<KubeConnection> Connection(const Environment& environment) const;
};

struct LeaseSettings {
  bool election = true;
  std::string name;
  std::string ns;
  absl::Duration duration = absl::Seconds(15);
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);

  // The times alone: the names of the other flags differ.
  void RegisterTimes(FlagSet* flags);
  absl::Status Check() const;
  // The identity is new with each call, and begins with the name.
  LeaseOptions OptionsFor(const std::string& holder) const;
};

struct LogSettings {
  int verbosity = 0;
  std::string format = "text";

  // With the flags of the original's loggers, which are accepted and do nothing.
  void Register(FlagSet* flags);
  absl::Status Check() const;
  // Makes the log of this process so.
  void Apply() const;
};

// --feature-gates of scheduler and controllers.
struct FeatureGates {
  std::map<std::string, bool> on = Defaults();

  static std::map<std::string, bool> Defaults();
  void Register(FlagSet* flags);
  // Some need others.
  absl::Status Check() const;
  // A sentence for each gate that was turned and changes nothing: all but QueueUnitConditions.
  std::vector<std::string> Warnings() const;
  // REQUIRES: the gate exists.
  bool On(const std::string& name) const { return on.at(name); }
};

}  // namespace kq

#endif  // LIBS_PROCESS_SETTINGS_H_
