#include "services/controllers/config.h"

#include <array>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"

namespace kq::controllers {
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

// Those that the original has and this version has not.
constexpr std::array<absl::string_view, 8> kExtensionsToCome = {"tfjob",          "pytorchjob", "mpijob",   "rayjob",
                                                                "rayjobv1alpha1", "raycluster", "sparkapp", "workflow"};

absl::Status CheckExtensions(const Config& config) {
  Mistakes mistakes;
  if (!config.job_extensions) mistakes.Add("--enable-job-extensions=false: there is nothing else to run");
  if (config.extensions.empty()) mistakes.Add("--enabled-extensions: expected at least one");
  std::set<std::string> seen;
  for (const std::string& name : config.extensions) {
    if (!seen.insert(name).second) mistakes.Add(absl::StrCat("--enabled-extensions: \"", name, "\" is there twice"));
    if (name == "job") continue;
    bool is_known = false;
    for (const absl::string_view known : kExtensionsToCome) is_known = is_known || known == name;
    mistakes.Add(absl::StrCat("--enabled-extensions: \"", name, "\" is ",
                              is_known ? "not supported by this version" : "not known", "; there is: job"));
  }
  return mistakes.Sum();
}

absl::Status CheckGates(const Config& config) {
  Mistakes mistakes;
  const auto needs = [&](const char* gate, const char* needed) {
    if (config.feature_gates.at(gate) && !config.feature_gates.at(needed)) {
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
  if (config.kube_api_qps < 0) mistakes.Add("--kube-api-qps: must not be negative");
  if (config.kube_api_qps > 0 && config.kube_api_burst < 1) {
    mistakes.Add("--kube-api-burst: must be at least 1 with --kube-api-qps");
  }
  if (config.retries_per_second < 0) mistakes.Add("--wqqps: must not be negative");
  if (!(config.events_per_second > 0)) mistakes.Add("--events-per-second: must be more than 0");
  for (const std::string& ns : config.namespaces) {
    if (ns.empty()) mistakes.Add("--namespaces: an empty name");
  }
  if (config.log_format != "text" && config.log_format != "json") {
    mistakes.Add("--logging-format: must be text or json");
  }
  mistakes.Add(WithContext(ListenOn(config.metrics_address).status(), "--metrics-bind-address"));
  mistakes.Add(WithContext(ListenOn(config.health_address).status(), "--health-probe-bind-address"));
  return mistakes.Sum();
}

void RegisterJobFlags(FlagSet* flags, Config* config) {
  flags->Section("Jobs");
  flags->StringList("enabled-extensions", &config->extensions, "Kinds of jobs that are queued. There is: job.");
  flags->Bool("enable-job-extensions", &config->job_extensions, "Queue jobs.");
  flags->Bool("manage-all-jobs", &config->manage_all_jobs,
              "Queue also suspended Jobs that name no quota, but for those in kube-system or managed by others.");
  flags->StringList("namespaces", &config->namespaces, "Namespaces whose jobs are queued. Empty: all.");
  flags->Int("workers", &config->workers, "Jobs looked at, and written, at once.", {1, 256});
  flags->Double("wqqps", &config->retries_per_second,
                "Jobs per second that are tried again after a failure. News are not limited. 0: no limit.");
  flags->Duration("report-interval", &config->report_interval,
                  "A unit's Running and its counts of pods are written so long after the first change, as one write.");
  flags->BoolMap("feature-gates", &config->feature_gates, "Switches for features, as A=true,B=false.");
}

void RegisterClusterFlags(FlagSet* flags, Config* config) {
  flags->Section("API server");
  flags->String("kubeconfig", &config->kubeconfig,
                "Kubeconfig file. Empty: the environment's KUBECONFIG, else the pod's service account.");
  flags->String("context", &config->context, "Context of the kubeconfig. Empty: its current one.");
  flags->Double("kube-api-qps", &config->kube_api_qps,
                "Requests per second at most. 0: no limit here; the API server's own priority and fairness rule.");
  flags->Int("kube-api-burst", &config->kube_api_burst, "Requests at once above that rate.", {0, 1'000'000});
  flags->Alias("qps", "kube-api-qps");
  flags->Alias("burst", "kube-api-burst");
  flags->Double("events-per-second", &config->events_per_second, "Kubernetes Events written per second.");

  flags->Section("Leadership");
  flags->Bool("leader-elect", &config->leader_election, "Write only while this replica holds the lease.");
  flags->String("leader-namespace", &config->lease_namespace, "Namespace of the Lease.");
  flags->Alias("lease-namespace", "leader-namespace");
  flags->String("lease-name", &config->lease_name,
                "Name of the Lease. Empty: koord-queue-controllers- and the enabled extensions.");
  flags->Duration("lease-duration", &config->lease_duration, "How long others wait for a holder that does not renew.");
  flags->Duration("renew-deadline", &config->renew_deadline, "A holder that could not renew for so long gives up.");
  flags->Duration("retry-period", &config->retry_period, "Time between attempts to take or renew the lease.");
  flags->Duration("drain-timeout", &config->drain_timeout, "When told to stop, wait so long for writes on their way.");
}

// Flags of the original that have nothing to act on here. Manifests that set
// them go on working; each use is said once.
void RegisterIgnoredFlags(FlagSet* flags) {
  flags->Ignored("config", "timeouts of jobs are not supported by this version");
  flags->Ignored("default-requeue-period", "nothing is looked at again without a cause");
  flags->IgnoredSwitch("enable-pod-reclaim", "pods are not reclaimed by this version");
  flags->IgnoredSwitch("enable-reservation", "reservations are not supported by this version");
  flags->IgnoredSwitch("enable-network-aware", "it needs reservations, which are not supported by this version");
  flags->IgnoredSwitch("zap-devel", "use -v and --logging-format");
  for (const char* name : {"zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"}) {
    flags->Ignored(name, "use -v and --logging-format");
  }
  for (const char* name : {"logtostderr", "alsologtostderr", "skip_headers", "add_dir_header", "one_output"}) {
    flags->IgnoredSwitch(name, "logs go to stderr");
  }
  for (const char* name :
       {"vmodule", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "log_backtrace_at"}) {
    flags->Ignored(name, "logs go to stderr, with one verbosity for all");
  }
}

// Gates that are known but change nothing here.
void WarnOfGates(Config* config) {
  for (const char* gate : {"QueueUnitActive", "QueueUnitRequeueState", "MaximumExecutionTime"}) {
    if (!config->feature_gates.at(gate)) continue;
    config->warnings.push_back(absl::StrCat("--feature-gates: ", gate, " has no effect in this version"));
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
  LeaseOptions options;
  const std::string name = absl::StrCat("koord-queue-controllers-", absl::StrJoin(extensions, "-"));
  options.key = {lease_namespace, lease_name.empty() ? name : lease_name};
  options.identity = NewLeaseIdentity(environment.pod_name.empty() ? environment.host : environment.pod_name);
  options.duration = lease_duration;
  options.renew_deadline = renew_deadline;
  options.retry_period = retry_period;
  return options;
}

absl::StatusOr<std::optional<HttpServerOptions>> ListenOn(const std::string& address) {
  if (address == "0") return std::nullopt;
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("expected host:port, :port or 0, found \"", address, "\""));
  }
  HttpServerOptions options;
  options.port = port;
  options.address = address.substr(0, colon);
  if (options.address.empty()) options.address = "0.0.0.0";
  if (absl::StartsWith(options.address, "[") && absl::EndsWith(options.address, "]")) {
    options.address = options.address.substr(1, options.address.size() - 2);
  }
  if (options.address == "localhost") options.address = "127.0.0.1";
  return options;
}

void RegisterFlags(FlagSet* flags, Config* config) {
  RegisterJobFlags(flags, config);
  RegisterClusterFlags(flags, config);
  flags->Section("Serving");
  flags->String("metrics-bind-address", &config->metrics_address, "Where /metrics is served, plain HTTP. 0: nowhere.");
  flags->String("health-probe-bind-address", &config->health_address,
                "Where /healthz and /readyz are served, plain HTTP. 0: nowhere.");
  flags->Section("Log");
  flags->Verbosity(&config->verbosity);
  flags->String("logging-format", &config->log_format, "text or json.");
  RegisterIgnoredFlags(flags);

  flags->Check([config] { return CheckExtensions(*config); });
  flags->Check([config] { return CheckGates(*config); });
  flags->Check([config] { return CheckLimits(*config); });
  flags->Check(
      [config] { return config->leader_election ? ValidateLeaseOptions(config->LeaseOf()) : absl::OkStatus(); });
}

std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config) {
  FlagSet flags("koord-queue-controllers", kVersion, "Queues jobs as QueueUnits and releases what was admitted.");
  RegisterFlags(&flags, config);
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return code;
  config->warnings.insert(config->warnings.begin(), flags.warnings().begin(), flags.warnings().end());
  WarnOfGates(config);
  if (config->kubeconfig.empty()) config->kubeconfig = config->environment.kubeconfig;
  return std::nullopt;
}

}  // namespace kq::controllers
