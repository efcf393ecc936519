#include "services/scheduler/plugins/registry.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/scheduler/plugins/elastic_quota.h"
#include "services/scheduler/plugins/priority_order.h"
#include "services/scheduler/plugins/queue_selector.h"

namespace kq::scheduler {
namespace {

constexpr char kPriority[] = "Priority";
constexpr char kElasticQuota[] = "ElasticQuotaV2";

class ConfiguredPolicies : public Policies {
 public:
  ConfiguredPolicies(bool with_quota, double oversell) : with_quota_(with_quota), quota_(oversell) {}

  void Fill(CoreOptions* options) const override {
    options->selector = &selector_;
    options->order = &order_;
    options->admission.clear();
    if (with_quota_) options->admission.push_back(&quota_);
  }

 private:
  const bool with_quota_;
  const PriorityOrder order_;
  const QueueOfQuota selector_;
  const ElasticQuota quota_;
};

}  // namespace

std::vector<std::string> DefaultPlugins() { return {kPriority, kElasticQuota}; }

absl::StatusOr<std::unique_ptr<Policies>> MakePolicies(const std::vector<std::string>& plugins, double oversell) {
  std::vector<std::string> wrong;
  if (!(oversell > 0 && oversell <= 1000))
    wrong.push_back(absl::StrCat("oversell rate ", oversell, " is not in (0, 1000]"));
  for (const std::string& plugin : plugins) {
    if (plugin != kPriority && plugin != kElasticQuota)
      wrong.push_back(absl::StrCat("unknown plugin \"", plugin, "\""));
  }
  // Without an order nobody is first; without quotas everybody is admitted, which
  // only a configuration that says so by leaving it out may have.
  if (std::find(plugins.begin(), plugins.end(), kPriority) == plugins.end()) {
    wrong.push_back(absl::StrCat("no plugin gives an order: add \"", kPriority, "\""));
  }
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(wrong, "; "), " (known plugins: ", absl::StrJoin(DefaultPlugins(), ", "), ")"));
  }
  const bool with_quota = std::find(plugins.begin(), plugins.end(), kElasticQuota) != plugins.end();
  return std::make_unique<ConfiguredPolicies>(with_quota, oversell);
}

}  // namespace kq::scheduler
