#ifndef SERVICES_SCHEDULER_CORE_SETTINGS_H_
#define SERVICES_SCHEDULER_CORE_SETTINGS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/json.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/plugins/registry.h"

namespace kq::scheduler {

// What the decisions depend on besides the events: with the same settings and the
// same events a core decides the same. The decision log's header holds them, so
// that a replay can make an equal core.
struct CoreSettings {
  std::vector<std::string> plugins = DefaultPlugins();
  double oversell = 1;  // multiplies each quota's max
  int asks_per_cycle = 100000;
  absl::Duration message_refresh_interval = absl::Minutes(10);  // zero: never
  double message_refreshes_per_second = 10;                     // more than 0

  friend bool operator==(const CoreSettings&, const CoreSettings&) = default;
};

JsonObject EncodeSettings(const CoreSettings& settings);
// kInvalidArgument with the field path.
absl::StatusOr<CoreSettings> DecodeSettings(const Json& value);

// A core and the policies that it was made with.
struct CoreWithPolicies {
  std::unique_ptr<Policies> policies;  // outlives the core
  std::unique_ptr<Core> core;
};
// kInvalidArgument names every plugin that is not known.
absl::StatusOr<CoreWithPolicies> MakeCore(const CoreSettings& settings);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_SETTINGS_H_
