// A scheduler starts over many waiting units on a real API server: when it has
// listed them, when it decides, when it can be asked, what it takes. See README.md;
// `perf/run start` brings everything up.
#include <grpcpp/grpcpp.h>

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
#include "perf/audit_log.h"
#include "perf/process_usage.h"
#include "perf/report.h"
#include "perf/services.h"
#include "perf/workload.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq::perf {
namespace {

namespace pb = kq::queueing::v1;

constexpr char kQuotaNamespace[] = "kube-system";
constexpr char kUnitNamespace[] = "perf-start";
constexpr char kAgent[] = "koord-queue";
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr absl::Duration kSettled = absl::Seconds(5);

struct Settings {
  int units = 20'000, quotas = 100, rounds = 3, load_concurrency = 16;
  std::string state, scheduler, json;
};

// Times of one start, from the audit log.
struct Calls {
  absl::Time first_page = absl::InfiniteFuture(), last_page = absl::InfinitePast();
  absl::Time first_decision = absl::InfiniteFuture();
  int pages = 0;
};

Calls CallsOf(const std::string& audit_log, int64_t from) {
  int64_t bad_lines = 0;
  const auto all = ReadAuditLog(audit_log, from, &bad_lines);
  if (!all.ok()) throw std::runtime_error(all.status().ToString());
  Calls calls;
  for (const AuditedCall& call : *all) {
    if (call.agent != kAgent || !call.Succeeded()) continue;
    if (call.verb == "list" && call.resource == "queueunits") {
      ++calls.pages;
      calls.first_page = std::min(calls.first_page, call.received);
      calls.last_page = std::max(calls.last_page, call.answered);
    }
    if (call.resource == "queueunits/status") calls.first_decision = std::min(calls.first_decision, call.received);
  }
  return calls;
}

class StartMeasurement {
 public:
  StartMeasurement(Settings settings, Report* report) : settings_(std::move(settings)), report_(report) {}

  void Run() {
    MakeWorld();
    for (int round = 0; round < settings_.rounds; ++round) {
      std::fprintf(stderr, "round %d of %d\n", round + 1, settings_.rounds);
      Measure(round);
    }
  }

 private:
  void MakeNamespace(const std::string& name) {
    cluster_.Create(e2e::kNamespaces, "", {{"metadata", {{"name", name}}}});
  }
  void MakeWorld();
  void Measure(int round);
  absl::Time AwaitSnapshot(int port);

  const Settings settings_;
  Report* const report_;
  e2e::TestCluster cluster_;
};

// Units in quotas that have no room for any of them.
void StartMeasurement::MakeWorld() {
  MakeNamespace(kUnitNamespace);
  InParallel(settings_.quotas, settings_.load_concurrency,
             [&](int n) { cluster_.Create(e2e::kQuotas, kQuotaNamespace, QuotaObject(NumberedName("full", n), 0)); });
  const absl::Time begin = Clock::Real().TimeNow();
  InParallel(settings_.units, settings_.load_concurrency, [&](int n) {
    const std::string quota = NumberedName("full", n % settings_.quotas);
    cluster_.Create(e2e::kUnits, kUnitNamespace, UnitObject(NumberedName("unit", n), quota));
  });
  const absl::Duration took = Clock::Real().TimeNow() - begin;
  report_->Add("before", "units created", settings_.units / absl::ToDoubleSeconds(took), "1/s");
}

absl::Time StartMeasurement::AwaitSnapshot(int port) {
  const auto channel = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  const auto stub = pb::Scheduler::NewStub(channel);
  absl::Time served;
  const bool answered = e2e::Await(kPatience, [&] {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(Clock::Real().TimeNow() + absl::Seconds(5)));
    pb::GetSnapshotRequest request;
    request.set_without_units(true);
    pb::Snapshot snapshot;
    const bool ok = stub->GetSnapshot(&context, request, &snapshot).ok();
    served = Clock::Real().TimeNow();
    return ok;
  });
  if (!answered) throw std::runtime_error("no snapshot is served; see the scheduler's log");
  return served;
}

void StartMeasurement::Measure(int round) {
  const std::string section = absl::StrCat(round == 0 ? "first start, before there are Queues, over " : "start over ",
                                           settings_.units, " waiting units");
  const std::string name = absl::StrCat(kUnitNamespace, "-", round);
  MakeNamespace(name);
  // One that fits, so that there is an admission too.
  cluster_.Create(e2e::kQuotas, kQuotaNamespace, QuotaObject(name, 1));
  cluster_.Create(e2e::kUnits, name, UnitObject("unit", name));
  Arrivals admitted(&cluster_.api(), e2e::kUnits, name, [](const Json& unit) {
    return StringAt(unit, {"status", "phase"}) == "Dequeued";
  });
  const std::string audit_log = settings_.state + "/audit.log";
  const int64_t audit_from = SizeOf(audit_log);

  Services services({settings_.scheduler, "", cluster_.kubeconfig(), name, settings_.state});
  const absl::Time begin = Clock::Real().TimeNow();
  services.StartScheduler();
  const absl::Time snapshot = AwaitSnapshot(services.grpc_port());
  if (!e2e::Await(kPatience, [&] { return admitted.count() == 1; })) {
    throw std::runtime_error("the unit that fits was not admitted; see the scheduler's log");
  }
  Processes processes;
  services.AddTo(&processes);
  const Usage early = processes.Now()[kAgent];
  Clock::Real().SleepFor(kSettled);
  const Usage late = processes.Now()[kAgent];
  const Calls calls = CallsOf(audit_log, audit_from);
  services.Stop();

  const auto seconds = [&](absl::Time from, absl::Time to) { return absl::ToDoubleSeconds(to - from); };
  report_->Add(section, "pages of units", calls.pages, "");
  report_->Add(section, "process start to first page asked for", seconds(begin, calls.first_page), "s");
  report_->Add(section, "first to last page of units", seconds(calls.first_page, calls.last_page), "s");
  report_->Add(section, "last page to first decision written", seconds(calls.last_page, calls.first_decision), "s",
               "1 to 2");
  report_->Add(section, "last page to first snapshot served", seconds(calls.last_page, snapshot), "s");
  report_->Add(section, "last page to the admission of the one that fits",
               seconds(calls.last_page, admitted.Times().begin()->second), "s");
  report_->Add(section, "process start to first decision written", seconds(begin, calls.first_decision), "s");
  report_->Add(section, "scheduler CPU until then", absl::ToDoubleSeconds(early.cpu), "s");
  report_->Add(section, "scheduler resident then", static_cast<double>(early.rss_bytes) / 1e6, "MB");
  report_->Add(section, "scheduler resident 5 s later", static_cast<double>(late.rss_bytes) / 1e6, "MB",
               settings_.units >= 100'000 ? "< 400" : "");
}

int Main(int argc, char** argv) {
  Settings settings;
  FlagSet flags("start", kVersion, "Measures starts of the scheduler over waiting units on the cluster of KUBECONFIG.");
  flags.Int("units", &settings.units, "QueueUnits that wait.", {1, 1'000'000});
  flags.Int("quotas", &settings.quotas, "ElasticQuotas that they are spread over.", {1, 10'000});
  flags.Int("rounds", &settings.rounds, "How often the scheduler is started.", {1, 100});
  flags.Int("load-concurrency", &settings.load_concurrency, "Creates on their way at once.", {1, 256});
  flags.String("state", &settings.state, "Folder of the cluster, with audit.log; the scheduler's log goes there too.");
  flags.String("scheduler", &settings.scheduler, "The program koord-queue.");
  flags.String("json", &settings.json, "Also write the report to this file, as JSON.");
  if (const auto code = flags.ParseOrExitCode(argc, argv)) return *code;
  Report report;
  try {
    StartMeasurement(settings, &report).Run();
    std::printf("%s", report.Table().c_str());
    if (!settings.json.empty()) std::ofstream(settings.json) << report.JsonDocument();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "start: %s\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace kq::perf

int main(int argc, char** argv) { return kq::perf::Main(argc, argv); }
