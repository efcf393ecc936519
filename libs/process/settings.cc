#include "libs/process/settings.h"

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/mistakes.h"

namespace kq {

void ApiServerSettings::Register(FlagSet* flags) {
  flags->Section("API server");
  flags->String("kubeconfig", &kubeconfig,
                "Kubeconfig file. Empty: the environment's KUBECONFIG, else the pod's service account.");
  flags->String("context", &context, "Context of the kubeconfig. Empty: its current one.");
  flags->Double("kube-api-qps", &qps,
                "Requests per second at most. 0: no limit here; the API server's own priority and fairness rule.");
  flags->Int("kube-api-burst", &burst, "Requests at once above that rate. 0: as many as in a second.", {0, 1'000'000});
  flags->Alias("qps", "kube-api-qps");
  flags->Alias("burst", "kube-api-burst");
  flags->Double("events-per-second", &events_per_second, "Kubernetes Events written per second.");
}

absl::Status ApiServerSettings::Check() const {
  Mistakes mistakes;
  if (qps < 0) mistakes.Add("--kube-api-qps: must not be negative");
  if (!(events_per_second > 0)) mistakes.Add("--events-per-second: must be more than 0");
  return mistakes.Sum();
}

absl::StatusOr<KubeConnection> ApiServerSettings::Connection(const Environment& environment) const {
  const std::string& file = kubeconfig.empty() ? environment.kubeconfig : kubeconfig;
  if (!file.empty()) return LoadKubeconfig(file, context);
  if (environment.service_host.empty()) {
    return absl::InvalidArgumentError("no API server: give --kubeconfig, set KUBECONFIG, or run in a pod");
  }
  return InClusterConnection(environment.service_host, environment.service_port);
}

void LeaseSettings::RegisterTimes(FlagSet* flags) {
  flags->Duration("lease-duration", &duration, "How long others wait for a holder that does not renew.");
  flags->Duration("renew-deadline", &renew_deadline, "A holder that could not renew for so long gives up.");
  flags->Duration("retry-period", &retry_period, "Time between attempts to take or renew the lease.");
}

absl::Status LeaseSettings::Check() const {
  return election ? ValidateLeaseOptions(OptionsFor("anybody")) : absl::OkStatus();
}

LeaseOptions LeaseSettings::OptionsFor(const std::string& holder) const {
  return {{ns, name}, NewLeaseIdentity(holder), duration, renew_deadline, retry_period};
}

void LogSettings::Register(FlagSet* flags) {
  flags->Section("Log");
  flags->Verbosity(&verbosity);
  flags->String("logging-format", &format, "text or json.");
  for (const char* name : {"logtostderr", "alsologtostderr", "skip_headers", "add_dir_header", "one_output"}) {
    flags->IgnoredSwitch(name, "logs go to stderr");
  }
  for (const char* name :
       {"vmodule", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "log_backtrace_at"}) {
    flags->Ignored(name, "logs go to stderr, with one verbosity for all");
  }
}

absl::Status LogSettings::Check() const {
  if (format == "text" || format == "json") return absl::OkStatus();
  return absl::InvalidArgumentError("--logging-format: must be text or json");
}

void LogSettings::Apply() const {
  SetLogVerbosity(verbosity);
  SetLogFormat(format == "json" ? LogFormat::kJson : LogFormat::kText);
}

std::map<std::string, bool> FeatureGates::Defaults() {
  return {{"ElasticQuota", true},
          {"ElasticQuotaTreeBuildQueueForQuota", true},
          {"ElasticQuotaTreeCheckAvailableQuota", false},
          {"ElasticQuotaTreeDecoupledQueue", true},
          {"MaximumExecutionTime", false},
          {"QueueUnitActive", false},
          {"QueueUnitConditions", true},
          {"QueueUnitRequeueState", false}};
}

void FeatureGates::Register(FlagSet* flags) {
  flags->BoolMap("feature-gates", &on, "Switches for features, as A=true,B=false.");
}

absl::Status FeatureGates::Check() const {
  Mistakes mistakes;
  const auto needs = [&](const char* gate, const char* needed) {
    if (On(gate) && !On(needed)) mistakes.Add(absl::StrCat("--feature-gates: ", gate, "=true needs ", needed, "=true"));
  };
  needs("MaximumExecutionTime", "QueueUnitActive");
  needs("MaximumExecutionTime", "QueueUnitConditions");
  needs("QueueUnitRequeueState", "QueueUnitConditions");
  return mistakes.Sum();
}

std::vector<std::string> FeatureGates::Warnings() const {
  const std::map<std::string, const char*> instead = {
      {"ElasticQuota", "ElasticQuotas are always what quotas are"},
      {"ElasticQuotaTreeBuildQueueForQuota", "there are no ElasticQuotaTrees"},
      {"ElasticQuotaTreeCheckAvailableQuota", "there are no ElasticQuotaTrees"},
      {"ElasticQuotaTreeDecoupledQueue", "there are no ElasticQuotaTrees"},
      {"MaximumExecutionTime", "no time limit of a job is enforced"},
      {"QueueUnitActive", "spec.active always counts"},
      {"QueueUnitRequeueState", "nothing is requeued after a time"}};
  std::vector<std::string> warnings;
  for (const auto& [gate, by_default] : Defaults()) {
    const auto what = instead.find(gate);
    if (what == instead.end() || On(gate) == by_default) continue;
    warnings.push_back(absl::StrCat("--feature-gates: ", gate, " has no effect in this version: ", what->second));
  }
  return warnings;
}

}  // namespace kq
