#include "services/controllers/config.h"

#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/mistakes.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"
#include "libs/http/listen_address.h"

namespace kq::controllers {
namespace {

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

absl::Status CheckAddress(const std::string& address, absl::string_view flag) {
  return address == kNowhere ? absl::OkStatus() : WithContext(ListenOn(address).status(), flag);
}

absl::Status CheckLimits(const Config& config) {
  Mistakes mistakes;
  if (config.retries_per_second < 0) mistakes.Add("--wqqps: must not be negative");
  for (const std::string& ns : config.namespaces) {
    if (ns.empty()) mistakes.Add("--namespaces: an empty name");
  }
  mistakes.Add(CheckAddress(config.metrics_address, "--metrics-bind-address"));
  mistakes.Add(CheckAddress(config.health_address, "--health-probe-bind-address"));
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
  config->gates.Register(flags);
}

void RegisterClusterFlags(FlagSet* flags, Config* config) {
  config->api.Register(flags);

  flags->Section("Leadership");
  flags->Bool("leader-elect", &config->lease.election, "Write only while this replica holds the lease.");
  flags->String("leader-namespace", &config->lease.ns, "Namespace of the Lease.");
  flags->Alias("lease-namespace", "leader-namespace");
  flags->String("lease-name", &config->lease.name,
                "Name of the Lease. Empty: koord-queue-controllers- and the enabled extensions.");
  config->lease.RegisterTimes(flags);
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
}

}  // namespace

LeaseSettings Config::Lease() const {
  LeaseSettings settings = lease;
  if (settings.name.empty()) settings.name = absl::StrCat("koord-queue-controllers-", absl::StrJoin(extensions, "-"));
  return settings;
}

void RegisterFlags(FlagSet* flags, Config* config) {
  RegisterJobFlags(flags, config);
  RegisterClusterFlags(flags, config);
  flags->Section("Serving");
  flags->String("metrics-bind-address", &config->metrics_address, "Where /metrics is served, plain HTTP. 0: nowhere.");
  flags->String("health-probe-bind-address", &config->health_address,
                "Where /healthz and /readyz are served, plain HTTP. 0: nowhere.");
  config->log.Register(flags);
  RegisterIgnoredFlags(flags);

  flags->Check([config] { return CheckExtensions(*config); });
  flags->Check([config] { return CheckLimits(*config); });
  flags->Check([config] { return config->api.Check(); });
  flags->Check([config] { return config->gates.Check(); });
  flags->Check([config] { return config->log.Check(); });
  flags->Check([config] { return config->Lease().Check(); });
}

std::optional<int> ParseConfig(int argc, const char* const* argv, Config* config) {
  FlagSet flags("koord-queue-controllers", kVersion, "Queues jobs as QueueUnits and releases what was admitted.");
  RegisterFlags(&flags, config);
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return code;
  config->warnings.insert(config->warnings.begin(), flags.warnings().begin(), flags.warnings().end());
  const std::vector<std::string> gates = config->gates.Warnings();
  config->warnings.insert(config->warnings.end(), gates.begin(), gates.end());
  return std::nullopt;
}

}  // namespace kq::controllers
