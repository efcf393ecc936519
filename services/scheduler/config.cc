#include "services/scheduler/config.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "libs/common/time_format.h"
#include "libs/common/version.h"
#include "libs/common/yaml.h"

namespace kq::scheduler {
namespace {

// Gathers mistakes, so that all are told at once.
class Mistakes {
 public:
  void Add(absl::string_view mistake) { mistakes_.emplace_back(mistake); }
  void Add(const absl::Status& status) {
    if (!status.ok()) Add(status.message());
  }
  absl::Status Sum() const {
    return mistakes_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
  }

 private:
  std::vector<std::string> mistakes_;
};

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

absl::Status CheckGates(const Config& config) {
  Mistakes mistakes;
  const auto needs = [&](const char* gate, const char* needed) {
    if (config.Gate(gate) && !config.Gate(needed)) {
      mistakes.Add(absl::StrCat("--feature-gates: ", gate, "=true needs ", needed, "=true"));
    }
  };
  needs("MaximumExecutionTime", "QueueUnitActive");
  needs("MaximumExecutionTime", "QueueUnitConditions");
  needs("QueueUnitRequeueState", "QueueUnitConditions");
  return mistakes.Sum();
}

absl::Status CheckLimits(const Config& config) {
  Mistakes mistakes;
  mistakes.Add(WithContext(MakePolicies(DefaultPlugins(), config.core.oversell).status(), "--oversellrate"));
  if (config.kube_api_qps < 0) mistakes.Add("--kube-api-qps: must not be negative");
  if (!(config.core.message_refreshes_per_second > 0))
    mistakes.Add("--message-refreshes-per-second: must be more than 0");
  if (config.core.message_refresh_interval < absl::ZeroDuration())
    mistakes.Add("--message-refresh-interval: must not be negative");
  if (config.advisory_writes_per_second < 0) mistakes.Add("--advisory-writes-per-second: must not be negative");
  if (!(config.events_per_second > 0)) mistakes.Add("--events-per-second: must be more than 0");
  if (config.log_format != "text" && config.log_format != "json") {
    mistakes.Add("--logging-format: must be text or json");
  }
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
  flags->BoolMap("feature-gates", &config->feature_gates, "Switches for features, as A=true,B=false.");
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
  flags->Section("API server");
  flags->String("kubeconfig", &config->kubeconfig,
                "Kubeconfig file. Empty: the environment's KUBECONFIG, else the pod's service account.");
  flags->String("context", &config->context, "Context of the kubeconfig. Empty: its current one.");
  flags->Double("kube-api-qps", &config->kube_api_qps,
                "Requests per second at most. 0: no limit here; the API server's own priority and fairness rule.");
  flags->Int("kube-api-burst", &config->kube_api_burst, "Requests at once above that rate. 0: as many as in a second.",
             {0, 1'000'000});
  flags->Alias("qps", "kube-api-qps");
  flags->Alias("burst", "kube-api-burst");
  flags->Int("write-concurrency", &config->write_concurrency, "Status writes on their way at once.", {1, 256});
  flags->Double("advisory-writes-per-second", &config->advisory_writes_per_second,
                "Writes that tell why units wait, per second in all. 0: no limit.");
  flags->Double("events-per-second", &config->events_per_second, "Kubernetes Events written per second.");

  flags->Section("Leadership");
  flags->Bool("leaderElection", &config->leader_election, "Admit jobs only while this replica holds the lease.");
  flags->Alias("leader-elect", "leaderElection");
  flags->String("lease-name", &config->lease_name, "Name of the Lease.");
  flags->String("lease-namespace", &config->lease_namespace, "Namespace of the Lease.");
  flags->Duration("lease-duration", &config->lease_duration, "How long others wait for a holder that does not renew.");
  flags->Duration("renew-deadline", &config->renew_deadline, "A holder that could not renew for so long gives up.");
  flags->Duration("retry-period", &config->retry_period, "Time between attempts to take or renew the lease.");
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

  flags->Section("Log");
  flags->Verbosity(&config->verbosity);
  flags->String("logging-format", &config->log_format, "text or json.");
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
  for (const char* name : {"logtostderr", "alsologtostderr", "skip_headers", "add_dir_header", "one_output"}) {
    flags->IgnoredSwitch(name, "logs go to stderr");
  }
  for (const char* name :
       {"vmodule", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "log_backtrace_at"}) {
    flags->Ignored(name, "logs go to stderr, with one verbosity for all");
  }
}

}  // namespace

std::map<std::string, bool> Config::DefaultGates() {
  return {{"ElasticQuota", true},
          {"ElasticQuotaTreeBuildQueueForQuota", true},
          {"ElasticQuotaTreeCheckAvailableQuota", false},
          {"ElasticQuotaTreeDecoupledQueue", true},
          {"MaximumExecutionTime", false},
          {"QueueUnitActive", false},
          {"QueueUnitConditions", true},
          {"QueueUnitRequeueState", false}};
}

LeaseOptions Config::LeaseOf() const {
  const std::string& host = environment.pod_name.empty() ? environment.host : environment.pod_name;
  return {{lease_namespace, lease_name}, NewLeaseIdentity(host), lease_duration, renew_deadline, retry_period};
}

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

absl::StatusOr<HttpServerOptions> ListenOn(const std::string& address) {
  const size_t colon = address.rfind(':');
  HttpServerOptions options;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &options.port) || options.port < 0 ||
      options.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is not HOST:PORT"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  options.address = host.empty() ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : host;
  return options;
}

void RegisterFlags(FlagSet* flags, Config* config) {
  RegisterDecisionFlags(flags, config);
  RegisterClusterFlags(flags, config);
  RegisterServingFlags(flags, config);
  RegisterIgnoredFlags(flags);
  flags->Check([config] { return CheckLimits(*config); });
  flags->Check([config] { return CheckGates(*config); });
  flags->Check([config] { return CheckAddresses(*config); });
  flags->Check([config] {
    LeaseOptions lease = config->LeaseOf();
    return config->leader_election ? ValidateLeaseOptions(lease) : absl::OkStatus();
  });
  flags->Check([config] { return ReadConfigFile(config); });
}

std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config) {
  FlagSet flags("koord-queue", kVersion, "Admits Kubernetes jobs from their queues when their quota has room.");
  RegisterFlags(&flags, config);
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return code;
  config->warnings.insert(config->warnings.begin(), flags.warnings().begin(), flags.warnings().end());
  if (config->kube_api_qps > 0 && config->kube_api_burst == 0) {
    config->kube_api_burst = std::max(1, static_cast<int>(config->kube_api_qps));
  }
  if (config->kubeconfig.empty()) config->kubeconfig = config->environment.kubeconfig;
  return std::nullopt;
}

}  // namespace kq::scheduler
