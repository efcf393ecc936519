#include "services/scheduler/core_settings.h"

#include <utility>

#include "libs/common/status_macros.h"

namespace kq::scheduler {

JsonObject EncodeSettings(const CoreSettings& settings) {
  JsonArray plugins;
  for (const std::string& plugin : settings.plugins) plugins.emplace_back(plugin);
  return {{"plugins", std::move(plugins)},
          {"oversellRate", settings.oversell},
          {"asksPerCycle", static_cast<int64_t>(settings.asks_per_cycle)}};
}

absl::StatusOr<CoreSettings> DecodeSettings(const Json& value) {
  const JsonObject* object = value.if_object();
  if (object == nullptr) return absl::InvalidArgumentError("config: expected an object");
  CoreSettings settings;
  KQ_ASSIGN_OR_RETURN(const JsonArray* plugins, ArrayField(*object, "plugins", "config"));
  if (plugins != nullptr) {
    settings.plugins.clear();
    for (const Json& plugin : *plugins) {
      if (!plugin.is_string()) return absl::InvalidArgumentError("config.plugins: expected strings");
      settings.plugins.emplace_back(plugin.get_string());
    }
  }
  if (const Json* oversell = Find(value, {"oversellRate"}); oversell != nullptr) {
    if (!oversell->is_number()) return absl::InvalidArgumentError("config.oversellRate: expected a number");
    settings.oversell = oversell->to_number<double>();
  }
  KQ_ASSIGN_OR_RETURN(const int64_t asks, IntField(*object, "asksPerCycle", "config", settings.asks_per_cycle));
  if (asks < 1 || asks > INT32_MAX) return absl::InvalidArgumentError("config.asksPerCycle: out of range");
  settings.asks_per_cycle = static_cast<int>(asks);
  return settings;
}

absl::StatusOr<CoreWithPolicies> MakeCore(const CoreSettings& settings) {
  CoreWithPolicies made;
  KQ_ASSIGN_OR_RETURN(made.policies, MakePolicies(settings.plugins, settings.oversell));
  CoreOptions options;
  options.asks_per_cycle = settings.asks_per_cycle;
  made.policies->Fill(&options);
  made.core = std::make_unique<Core>(std::move(options));
  return made;
}

}  // namespace kq::scheduler
