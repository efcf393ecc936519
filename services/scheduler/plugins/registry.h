#ifndef SERVICES_SCHEDULER_PLUGINS_REGISTRY_H_
#define SERVICES_SCHEDULER_PLUGINS_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/scheduler/core/core.h"

namespace kq::scheduler {

// The policies that a configuration names, alive as long as this is. The only place
// that knows all of them.
class Policies {
 public:
  virtual ~Policies() = default;
  // Fills in the seams of `options`.
  virtual void Fill(CoreOptions* options) const = 0;
};

// The plugins of a configuration that names none.
std::vector<std::string> DefaultPlugins();

// kInvalidArgument names every plugin that is not known and lists those that are.
absl::StatusOr<std::unique_ptr<Policies>> MakePolicies(const std::vector<std::string>& plugins, double oversell);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_PLUGINS_REGISTRY_H_
