#include "services/scheduler/config.h"

#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/common/mistakes.h"
#include "libs/common/status_macros.h"
#include "libs/common/time_format.h"
#include "libs/common/version.h"
#include "libs/common/yaml.h"
#include "libs/http/listen_address.h"

namespace kq::scheduler {
namespace {

std::string KeyText(const JsonObject::value_type& entry) { return std::string(entry.key()); }

void ReadPlugins(const JsonObject& root, Config* config, Mistakes* mistakes) {
  const absl::StatusOr<const JsonArray*> plugins = ArrayField(root, "plugins", "");
  if (!plugins.ok()) return mistakes->Add(plugins.status());
  if (*plugins == nullptr) return;
  config->core.plugins.clear();
  for (size_t i = 0; i < (*plugins)->size(); ++i) {
    const std::string name = StringAt((**plugins)[i], {"name"});
    if (name.empty()) {
      mistakes->Add(absl::StrCat(FieldPath(FieldPath("plugins", i), "name"), ": expected the name of a plugin"));
    } else {
      config->core.plugins.push_back(name);
    }
  }
}

// Those whose arguments the original accepted, whether or not they are there.
void ReadPluginConfigs(const JsonObject& root, Config* config, Mistakes* mistakes) {
  const absl::StatusOr<const JsonObject*> configs = ObjectField(root, "pluginConfigs", "");
  if (!configs.ok()) return mistakes->Add(configs.status());
  if (*configs == nullptr) return;
  static const std::set<std::string> kNamesOfPlugins = {"Priority", "ElasticQuotaV2", "ElasticQuota", "ResourceQuota",
                                                        "defaultgroup"};
  for (const auto& entry : **configs) {
    const std::string name = KeyText(entry);
    if (kNamesOfPlugins.count(name) == 0) {
      mistakes->Add(absl::StrCat(FieldPath("pluginConfigs", name), ": no such plugin"));
    } else if (entry.value().is_object() && !entry.value().get_object().empty()) {
      config->warnings.push_back(absl::StrCat("pluginConfigs.", name, " has no effect: the plugin takes no arguments"));
    }
  }
}

// A Go duration: text, or nanoseconds as the original's declaration wanted it.
void ReadReclaimProtectTime(const JsonObject& root, Config* config, Mistakes* mistakes) {
  const Json* value = root.if_contains("defaultReclaimProtectTime");
  if (value == nullptr || value->is_null()) return;
  absl::Duration time;
  if (value->is_string()) {
    const absl::StatusOr<absl::Duration> parsed = ParseDuration(std::string(value->get_string()));
    if (!parsed.ok()) return mistakes->Add(WithContext(parsed.status(), "defaultReclaimProtectTime"));
    time = *parsed;
  } else if (value->is_int64()) {
    time = absl::Nanoseconds(value->get_int64());
  } else {
    return mistakes->Add("defaultReclaimProtectTime: expected a duration (\"5m\") or nanoseconds");
  }
  if (time < absl::ZeroDuration()) return mistakes->Add("defaultReclaimProtectTime: must not be negative");
  if (time > absl::ZeroDuration()) {
    config->warnings.push_back("defaultReclaimProtectTime has no effect: nothing is preempted by this version");
  }
}

absl::Status CheckLimits(const Config& config) {
  Mistakes mistakes;
  mistakes.Add(WithContext(MakePolicies(DefaultPlugins(), config.core.oversell).status(), "--oversellrate"));
  if (!(config.core.message_refreshes_per_second > 0))
    mistakes.Add("--message-refreshes-per-second: must be more than 0");
  if (config.core.message_refresh_interval < absl::ZeroDuration())
    mistakes.Add("--message-refresh-interval: must not be negative");
  if (config.queue_items.refresh_interval < config.queue_items.shortest_interval)
    mistakes.Add(absl::StrCat("--queue-items-refresh-interval: must be at least ",
                              absl::FormatDuration(config.queue_items.shortest_interval)));
  if (config.advisory_writes_per_second < 0) mistakes.Add("--advisory-writes-per-second: must not be negative");
  return mistakes.Sum();
}

absl::Status CheckAddresses(const Config& config) {
  Mistakes mistakes;
  mistakes.Add(WithContext(ListenOn(config.metrics_address).status(), "--metrics-bind-address"));
  if (config.tls_certificate_file.empty() != config.tls_key_file.empty()) {
    mistakes.Add("--tls-cert-file and --tls-private-key-file: both or none");
  }
  mistakes.Add(ValidateGrpcServerOptions(config.grpc));
  return mistakes.Sum();
}

absl::Status ReadConfigFile(Config* config) {
  if (config->config_file.empty()) return absl::OkStatus();
  std::ifstream in(config->config_file);
  if (!in) return absl::InvalidArgumentError(absl::StrCat("--config: cannot read ", config->config_file));
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return WithContext(ApplyConfigFile(text, config), absl::StrCat("--config: ", config->config_file));
}

void RegisterDecisionFlags(FlagSet* flags, Config* config) {
  flags->Section("Decisions");
  flags->String("config", &config->config_file, "File with a KoordQueueConfiguration: plugins and their arguments.");
  flags->Double("oversellrate", &config->core.oversell, "Multiplies the max of every quota.");
  flags->Int("asks-per-cycle", &config->core.asks_per_cycle,
             "A cycle asks at most so many units and goes on in the next turn.", {1, 10'000'000});
  flags->Duration("message-refresh-interval", &config->core.message_refresh_interval,
                  "A message whose reason is right gets new numbers at most so often per unit. 0: never.");
  flags->Double("message-refreshes-per-second", &config->core.message_refreshes_per_second,
                "So many messages of all units get new numbers per second at most.");
  config->gates.Register(flags);
  flags->String("decision-log-dir", &config->decision_log_dir,
                "Folder for the log of events and decisions, which replay can compute again. Empty: no log.");
  flags->Int("decision-log-max-bytes", &config->decision_log_max_bytes, "Size at which a new file of it is begun.",
             {1 << 10, INT64_MAX});
  flags->Int("decision-log-max-files", &config->decision_log_max_files, "Older files of it are deleted.", {1, 100'000});
  flags->Int("decisions-kept", &config->decisions_kept, "Newest decisions kept in memory for the Decisions call.",
             {1, 10'000'000});
  flags->Bool("check-invariants", &config->check_invariants,
              "Check the books after every turn and abort if they are wrong. Slow: for debugging.");
}

void RegisterClusterFlags(FlagSet* flags, Config* config) {
  config->api.Register(flags);
  flags->Int("write-concurrency", &config->write_concurrency, "Status writes on their way at once.", {1, 256});
  flags->Double("advisory-writes-per-second", &config->advisory_writes_per_second,
                "Writes that tell why units wait, per second in all. 0: no limit.");

  flags->Duration(
      "queue-items-refresh-interval", &config->queue_items.refresh_interval,
      "Queue.status.queueItemDetails is brought up to date so often, where the Queue's annotation does not say "
      "otherwise.");
  flags->Int("queue-items-limit", &config->queue_items.limit,
             "So many waiting units of a Queue are listed there at most. 0: none, the field is left alone.", {0, 5000});

  flags->Section("Leadership");
  flags->Bool("leaderElection", &config->lease.election, "Admit jobs only while this replica holds the lease.");
  flags->Alias("leader-elect", "leaderElection");
  flags->String("lease-name", &config->lease.name, "Name of the Lease.");
  flags->String("lease-namespace", &config->lease.ns, "Namespace of the Lease.");
  config->lease.RegisterTimes(flags);
  flags->Duration("drain-timeout", &config->drain_timeout, "When told to stop, wait so long for writes on their way.");
}

void RegisterServingFlags(FlagSet* flags, Config* config) {
  flags->Section("Serving");
  flags->String("metrics-bind-address", &config->metrics_address,
                "Where /metrics, /healthz, /livez and /readyz are served: plain HTTP unless a certificate is given.");
  flags->String("tls-cert-file", &config->tls_certificate_file, "Certificate of that address.");
  flags->String("tls-private-key-file", &config->tls_key_file, "Its key.");
  flags->String("grpc-bind-address", &config->grpc.address,
                "Where snapshots and explanations are served. Beyond loopback only with TLS and client certificates.");
  flags->String("grpc-tls-cert-file", &config->grpc.certificate_file, "Certificate of that address.");
  flags->String("grpc-tls-key-file", &config->grpc.key_file, "Its key.");
  flags->String("grpc-client-ca-file", &config->grpc.client_ca_file, "Authority of the clients' certificates.");
}

// Flags of the original that have nothing to act on here. Manifests that set
// them go on working; each use is said once.
void RegisterIgnoredFlags(FlagSet* flags) {
  const std::string pace = "units are asked when something changed for them, not at intervals";
  flags->Ignored("podInitialBackoffSeconds", pace);
  flags->Ignored("podMaxBackoffSeconds", pace);
  flags->Ignored("scheduleSuspendTimeInMillSecond", pace);
  flags->IgnoredSwitch("enableApiHandler", "the debug API is served by koord-queue-debug-api");
  flags->IgnoredSwitch("enableVisibilityServer", "the visibility API is served by koord-queue-visibility");
  flags->IgnoredSwitch("defaultPreemptible", "nothing is preempted by this version");
  flags->IgnoredSwitch("enableParentLimit", "parents always limit their children");
  flags->Ignored("admissionCheckControllerWorker", "admission checks are not supported by this version");
  flags->IgnoredSwitch("strictDequeueMode", "the mode that checks with the scheduler is not supported by this version");
  flags->Ignored("queue-list", "the mode that checks with the scheduler is not supported by this version");
  flags->Ignored("default-queue-policy", "it had no effect in the original either; label the ElasticQuota instead");
}

}  // namespace

absl::Status ApplyConfigFile(absl::string_view text, Config* config) {
  KQ_ASSIGN_OR_RETURN(const Json root, ParseYaml(text));
  if (root.is_null()) return absl::OkStatus();
  const JsonObject* object = root.if_object();
  if (object == nullptr) return absl::InvalidArgumentError("expected a mapping");
  Mistakes mistakes;
  static const std::set<std::string> kKnown = {"apiVersion", "kind", "plugins", "pluginConfigs",
                                               "defaultReclaimProtectTime"};
  for (const auto& entry : *object) {
    if (kKnown.count(KeyText(entry)) == 0) mistakes.Add(absl::StrCat(KeyText(entry), ": unknown field"));
  }
  if (StringAt(root, {"apiVersion"}) != "scheduling.k8s.io/v1") {
    mistakes.Add("apiVersion: expected scheduling.k8s.io/v1");
  }
  if (StringAt(root, {"kind"}) != "KoordQueueConfiguration") mistakes.Add("kind: expected KoordQueueConfiguration");
  ReadPlugins(*object, config, &mistakes);
  ReadPluginConfigs(*object, config, &mistakes);
  ReadReclaimProtectTime(*object, config, &mistakes);
  mistakes.Add(WithContext(MakePolicies(config->core.plugins, 1).status(), "plugins"));
  return mistakes.Sum();
}

void RegisterFlags(FlagSet* flags, Config* config) {
  RegisterDecisionFlags(flags, config);
  RegisterClusterFlags(flags, config);
  RegisterServingFlags(flags, config);
  config->log.Register(flags);
  RegisterIgnoredFlags(flags);
  flags->Check([config] { return CheckLimits(*config); });
  flags->Check([config] { return config->api.Check(); });
  flags->Check([config] { return config->gates.Check(); });
  flags->Check([config] { return CheckAddresses(*config); });
  flags->Check([config] { return config->lease.Check(); });
  flags->Check([config] { return config->log.Check(); });
  flags->Check([config] { return ReadConfigFile(config); });
}

std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config) {
  FlagSet flags("koord-queue", kVersion, "Admits Kubernetes jobs from their queues when their quota has room.");
  RegisterFlags(&flags, config);
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return code;
  config->warnings.insert(config->warnings.begin(), flags.warnings().begin(), flags.warnings().end());
  const std::vector<std::string> gates = config->gates.Warnings();
  config->warnings.insert(config->warnings.end(), gates.begin(), gates.end());
  return std::nullopt;
}

}  // namespace kq::scheduler
