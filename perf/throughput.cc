// Jobs through the whole system on a real API server: how fast, at what cost, with
// how many writes. See README.md; `perf/run throughput` brings everything up.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/common/flags.h"
#include "libs/common/version.h"
#include "perf/arrivals.h"
#include "perf/process_usage.h"
#include "perf/report.h"
#include "perf/services.h"
#include "perf/window.h"
#include "perf/workload.h"

namespace kq::perf {
namespace {

constexpr char kQuotaNamespace[] = "kube-system";
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr absl::Duration kRunFor = absl::Seconds(1);

struct Settings {
  int jobs = 1000, quotas = 4, rounds = 3;
  int load_concurrency = 16;
  int write_concurrency = 16;  // the scheduler's own default
  std::string state, scheduler, controllers, json;
};

bool IsReleased(const Json& job) {
  const Json* suspend = Find(job, {"spec", "suspend"});
  return suspend == nullptr || !suspend->is_bool() || !suspend->get_bool();
}

// One measurement after the other, each in a namespace of its own.
class Throughput {
 public:
  Throughput(Settings settings, Report* report)
      : settings_(std::move(settings)), report_(report), audit_log_(settings_.state + "/audit.log") {}

  void Run() {
    processes_ = Processes::OfCluster(settings_.state);
    for (int round = 0; round < settings_.rounds; ++round) {
      std::fprintf(stderr, "round %d of %d\n", round + 1, settings_.rounds);
      prefix_ = absl::StrCat("perf-", round);
      MeasureBareLoop();
      MeasureAdmissions();
      MeasureJobs();
    }
  }

 private:
  std::string MakeNamespace(const std::string& what) {
    std::string name = absl::StrCat(prefix_, "-", what);
    cluster_.Create(e2e::kNamespaces, "", {{"metadata", {{"name", name}}}});
    if (HasPods()) {
      const bool ready = e2e::Await(kPatience, [&] {
        return cluster_.api().Get({"", "v1", "serviceaccounts"}, {name, "default"}).ok();
      });
      if (!ready) throw std::runtime_error("a namespace gets no service account");
    }
    return name;
  }
  bool HasPods() const { return processes_.Has("kube-controller-manager"); }
  std::string QuotaFor(int n) const { return absl::StrCat(prefix_, "-q", n % settings_.quotas); }

  void MakeUnits(const std::string& ns) {
    InParallel(settings_.jobs, settings_.load_concurrency,
               [&](int n) { cluster_.Create(e2e::kUnits, ns, UnitObject(NumberedName("unit", n), QuotaFor(n))); });
  }
  void RemoveUnits(const std::string& ns) {
    InParallel(settings_.jobs, settings_.load_concurrency, [&](int n) {
      cluster_.api().Delete({.resource = e2e::kUnits, .key = {ns, NumberedName("unit", n)}}).IgnoreError();
    });
  }
  Services::Options ServicesIn(const std::string& lease_namespace) const {
    return {settings_.scheduler, settings_.controllers, cluster_.kubeconfig(), lease_namespace, settings_.state};
  }

  // CPU of the API server for each of the Jobs, in ms.
  double ServerCpuPer(const Window& window) const {
    return absl::ToDoubleMilliseconds(window.CpuOf("kube-apiserver")) / settings_.jobs;
  }

  void MeasureBareLoop();
  void MeasureAdmissions();
  void MeasureJobs();
  void WarmUp(const std::string& ns);
  void ReportReleases(const std::vector<absl::Time>& created, const Arrivals& released);

  const Settings settings_;
  Report* const report_;
  const std::string audit_log_;
  e2e::TestCluster cluster_;
  Processes processes_;
  std::string prefix_;
  double bare_patches_per_second_ = 0;
  double bare_cpu_per_patch_ = 1;  // of the API server, in ms
};

// What the API server takes from patches alone: nobody watches, nobody else writes.
void Throughput::MeasureBareLoop() {
  const std::string section = "bare status-patch loop";
  const std::string ns = MakeNamespace("bare");
  MakeUnits(ns);
  const Window window(&processes_, audit_log_);
  InParallel(settings_.jobs, settings_.write_concurrency, [&](int n) {
    const auto answer = cluster_.api().Patch(
        {e2e::kUnits, {ns, NumberedName("unit", n)}, Subresource::kStatus, PatchType::kMerge, AdmittedStatus()});
    if (!answer.ok()) throw std::runtime_error(answer.status().ToString());
  });
  const absl::Duration took = Clock::Real().TimeNow() - window.begin();
  bare_patches_per_second_ = settings_.jobs / absl::ToDoubleSeconds(took);
  report_->Add(section, "status patches", bare_patches_per_second_, "1/s");
  window.ReportCpu(section, "patch", settings_.jobs, report_);
  bare_cpu_per_patch_ = ServerCpuPer(window);
  RemoveUnits(ns);
}

// The scheduler starts over units that all fit: how fast it writes its decisions.
void Throughput::MeasureAdmissions() {
  const std::string section = "admissions alone (units, no Jobs; start of the scheduler included)";
  const std::string ns = MakeNamespace("units");
  for (int i = 0; i < settings_.quotas; ++i) {
    cluster_.Create(e2e::kQuotas, kQuotaNamespace, QuotaObject(QuotaFor(i), settings_.jobs));
  }
  MakeUnits(ns);
  Arrivals admitted(&cluster_.api(), e2e::kUnits, ns, [](const Json& unit) {
    return StringAt(unit, {"status", "phase"}) == "Dequeued";
  });
  Services services(ServicesIn(ns));
  Processes all = processes_;
  const Window window(&all, audit_log_);
  services.StartScheduler();
  services.AddTo(&all);
  if (!e2e::Await(kPatience, [&] { return admitted.count() == settings_.jobs; })) {
    throw std::runtime_error("not all units were admitted");
  }
  std::vector<absl::Time> times;
  for (const auto& [name, at] : admitted.Times()) times.push_back(at);
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  const double per_second = (settings_.jobs - 1) / absl::ToDoubleSeconds(*last - *first);
  report_->Add(section, "status writes", per_second, "1/s");
  report_->Add(section, "status writes / bare loop", per_second / bare_patches_per_second_, "", ">= 0.9");
  report_->Add(section, "first admission after the start", absl::ToDoubleMilliseconds(*first - window.begin()), "ms");
  window.ReportCpu(section, "admission", settings_.jobs, report_);
  ReportOurCalls(section, window.Calls(), settings_.jobs, report_);
  services.Stop();
  RemoveUnits(ns);
}

// One Job to each quota, so that every part has its connections and lists.
void Throughput::WarmUp(const std::string& ns) {
  const Arrivals released(&cluster_.api(), e2e::kJobs, ns, IsReleased);
  for (int i = 0; i < settings_.quotas; ++i) {
    cluster_.Create(e2e::kJobs, ns, JobObject(NumberedName("warm-up", i), QuotaFor(i), kRunFor));
  }
  if (!e2e::Await(kPatience, [&] { return released.count() == settings_.quotas; })) {
    throw std::runtime_error("the first Jobs were not released; see the logs");
  }
}

void Throughput::ReportReleases(const std::vector<absl::Time>& created, const Arrivals& released) {
  const std::string section = "Jobs, created to released";
  std::vector<double> waits;
  absl::Time last = absl::InfinitePast();
  const auto times = released.Times();
  for (int n = 0; n < settings_.jobs; ++n) {
    const absl::Time at = times.at(NumberedName("job", n));
    last = std::max(last, at);
    waits.push_back(absl::ToDoubleMilliseconds(at - created[static_cast<size_t>(n)]));
  }
  const absl::Duration took = last - *std::min_element(created.begin(), created.end());
  const absl::Duration load =
      *std::max_element(created.begin(), created.end()) - *std::min_element(created.begin(), created.end());
  report_->Add(section, "Jobs released", settings_.jobs / absl::ToDoubleSeconds(took), "1/s", ">= 100");
  report_->Add(section, "Jobs created by the load at the same time", settings_.jobs / absl::ToDoubleSeconds(load),
               "1/s");
  report_->Add(section, "created to released, median", Quantile(waits, 0.5), "ms");
  report_->Add(section, "created to released, p99", Quantile(waits, 0.99), "ms");
}

void Throughput::MeasureJobs() {
  const std::string section = "Jobs, created to released";
  const std::string life = "Jobs, whole life (created to finished)";
  const std::string ns = MakeNamespace("jobs"), warm = MakeNamespace("warm");
  Services services(ServicesIn(ns));
  services.StartScheduler();
  services.StartControllers();
  Processes all = processes_;
  services.AddTo(&all);
  WarmUp(warm);
  Arrivals released(&cluster_.api(), e2e::kJobs, ns, IsReleased);
  Arrivals finished(&cluster_.api(), e2e::kUnits, ns, [](const Json& unit) {
    return StringAt(unit, {"status", "phase"}) == "Succeed";
  });

  const Window window(&all, audit_log_);
  std::vector<absl::Time> created(static_cast<size_t>(settings_.jobs));
  InParallel(settings_.jobs, settings_.load_concurrency, [&](int n) {
    created[static_cast<size_t>(n)] = Clock::Real().TimeNow();
    cluster_.Create(e2e::kJobs, ns, JobObject(NumberedName("job", n), QuotaFor(n), kRunFor));
  });
  const auto done = [&](const Arrivals& what) {
    return e2e::Await(kPatience, [&] { return what.count() == settings_.jobs; });
  };
  if (!done(released)) throw std::runtime_error("not all Jobs were released; see the logs");
  window.ReportCpu(section, "Job", settings_.jobs, report_);
  // This one hardly depends on how fast and how busy the machine is.
  report_->Add(section, "kube-apiserver: CPU per Job / per bare patch", ServerCpuPer(window) / bare_cpu_per_patch_, "");
  const CallTally calls = window.Calls();
  ReportReleases(created, released);
  ReportOurCalls(section, calls, settings_.jobs, report_);
  if (HasPods()) {
    if (!done(finished)) throw std::runtime_error("not all Jobs finished; see the logs");
    window.ReportCpu(life, "Job", settings_.jobs, report_);
    ReportOurCalls(life, window.Calls(), settings_.jobs, report_);
  }
  ReportMemory("memory at the end", all, report_);
  services.Stop();
}

int Main(int argc, char** argv) {
  Settings settings;
  FlagSet flags("throughput", kVersion, "Measures Jobs through the whole system on the cluster of KUBECONFIG.");
  flags.Int("jobs", &settings.jobs, "Jobs, and units of the other measurements.", {1, 100'000});
  flags.Int("quotas", &settings.quotas, "ElasticQuotas that they are spread over.", {1, 1000});
  flags.Int("rounds", &settings.rounds, "How often everything is measured.", {1, 100});
  flags.Int("load-concurrency", &settings.load_concurrency, "Creates on their way at once.", {1, 256});
  flags.Int("write-concurrency", &settings.write_concurrency, "Patches of the bare loop on their way at once.",
            {1, 256});
  flags.String("state", &settings.state, "Folder of the cluster: pid files, audit.log; logs of ours go there too.");
  flags.String("scheduler", &settings.scheduler, "The program koord-queue.");
  flags.String("controllers", &settings.controllers, "The program koord-queue-controllers.");
  flags.String("json", &settings.json, "Also write the report to this file, as JSON.");
  if (const auto code = flags.ParseOrExitCode(argc, argv)) return *code;
  Report report;
  try {
    const std::string json = settings.json;
    Throughput(std::move(settings), &report).Run();
    std::printf("%s", report.Table().c_str());
    if (!json.empty()) std::ofstream(json) << report.JsonDocument();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "throughput: %s\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace kq::perf

int main(int argc, char** argv) { return kq::perf::Main(argc, argv); }
