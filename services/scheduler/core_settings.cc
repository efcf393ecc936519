#include "services/scheduler/core_settings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq::scheduler {
namespace {

absl::StatusOr<double> NumberField(const Json& object, absl::string_view name, double fallback) {
  const Json* value = Find(object, {name});
  if (value == nullptr) return fallback;
  if (!value->is_number()) return absl::InvalidArgumentError(absl::StrCat("config.", name, ": expected a number"));
  return value->to_number<double>();
}

}  // namespace

JsonObject EncodeSettings(const CoreSettings& settings) {
  JsonArray plugins;
  for (const std::string& plugin : settings.plugins) plugins.emplace_back(plugin);
  return {{"plugins", std::move(plugins)},
          {"oversellRate", settings.oversell},
          {"asksPerCycle", static_cast<int64_t>(settings.asks_per_cycle)},
          {"messageRefreshInterval", absl::FormatDuration(settings.message_refresh_interval)},
          {"messageRefreshesPerSecond", settings.message_refreshes_per_second}};
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
  KQ_ASSIGN_OR_RETURN(settings.oversell, NumberField(value, "oversellRate", settings.oversell));
  KQ_ASSIGN_OR_RETURN(const int64_t asks, IntField(*object, "asksPerCycle", "config", settings.asks_per_cycle));
  if (asks < 1 || asks > INT32_MAX) return absl::InvalidArgumentError("config.asksPerCycle: out of range");
  settings.asks_per_cycle = static_cast<int>(asks);
  KQ_ASSIGN_OR_RETURN(const std::string interval, StringField(*object, "messageRefreshInterval", "config",
                                                              absl::FormatDuration(settings.message_refresh_interval)));
  if (!absl::ParseDuration(interval, &settings.message_refresh_interval))
    return absl::InvalidArgumentError("config.messageRefreshInterval: expected a duration");
  KQ_ASSIGN_OR_RETURN(settings.message_refreshes_per_second,
                      NumberField(value, "messageRefreshesPerSecond", settings.message_refreshes_per_second));
  if (!(settings.message_refreshes_per_second > 0))
    return absl::InvalidArgumentError("config.messageRefreshesPerSecond: must be more than 0");
  return settings;
}

absl::StatusOr<CoreWithPolicies> MakeCore(const CoreSettings& settings) {
  CoreWithPolicies made;
  KQ_ASSIGN_OR_RETURN(made.policies, MakePolicies(settings.plugins, settings.oversell));
  CoreOptions options;
  options.asks_per_cycle = settings.asks_per_cycle;
  options.refresh_interval = settings.message_refresh_interval;
  options.refresh_spacing = absl::Seconds(1) / settings.message_refreshes_per_second;
  made.policies->Fill(&options);
  made.core = std::make_unique<Core>(std::move(options));
  return made;
}

}  // namespace kq::scheduler
