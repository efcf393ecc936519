// The API server itself is away: not there yet when the processes start, or killed
// with -9 in the middle of the work and started again over the same data. On a
// cluster of the test's own.
//
// API_SERVER_TEST_JOBS and API_SERVER_TEST_KILLS make it longer.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/job_watch.h"
#include "e2e/support/objects.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "e2e/support/usage_watch.h"
#include "libs/common/clock.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);
// An absence of some seconds is no reason to lose the lease.
ServiceOptions Patient(const ChartAccounts& accounts, const std::string& log) {
  return {.accounts = &accounts,
          .lease_namespace = "default",
          .log = log,
          .lease_times = {"--lease-duration=60s", "--renew-deadline=40s", "--retry-period=500ms"}};
}

// Two of our processes, and the logs they write.
struct Processes {
  Scheduler scheduler;
  Controllers controllers;

  Processes(const ChartAccounts& accounts, const std::string& name)
      : scheduler(Patient(accounts, name + "-scheduler.log")),
        controllers(Patient(accounts, name + "-controllers.log")) {
    scheduler.Start();
    controllers.Start();
  }
  bool Run() { return scheduler.Running() && controllers.Running(); }
  bool Ready() const { return scheduler.Ready() && controllers.Ready(); }
  // Both answer 503 and say `why`.
  bool Unready(const std::string& why) const {
    const auto [code, text] = scheduler.Readyz();
    const auto [other_code, other_text] = controllers.Readyz();
    return code == 503 && other_code == 503 && absl::StrContains(text, why) && absl::StrContains(other_text, why);
  }
};

bool IsReleased(TestCluster* cluster, const ObjectKey& job) {
  const absl::StatusOr<Json> now = cluster->api().Get(kJobs, job);
  if (!now.ok()) return false;
  const Json* suspend = Find(*now, {"spec", "suspend"});
  return suspend != nullptr && *suspend == Json(false);
}

TEST_CASE("an API server that is not there yet, and then knows none of our kinds, is waited for", "[e2e]") {
  const OwnCluster own("kube-controller-manager kube-scheduler kwok");
  TestCluster cluster(own.kubeconfig(), TestCluster::Definitions::kLeaveOut);
  cluster.Create(kNamespaces, "", {{"metadata", {{"name", "koord-queue"}}}});
  const ChartAccounts accounts(&cluster, "default");
  own.KillApiServer();
  Processes processes(accounts, "absent");
  CHECK(Await(kPatience, [&] { return processes.Unready("refused"); }));
  // More than one attempt, and not one after the other: 200 ms, doubling.
  Clock::Real().SleepFor(absl::Seconds(2));
  CHECK(processes.Run());
  CHECK(processes.Unready("refused"));
  for (const std::string& log : {processes.scheduler.log(), processes.controllers.log()}) {
    CAPTURE(log);
    const std::string text = FileText(log);
    CHECK(absl::StrContains(text, "\"Not ready\""));
    CHECK(absl::StrContains(text, "refused"));
    // Said, not repeated with each attempt.
    CHECK(CountOf(text, "\n") < 15);
  }

  own.StartApiServer();
  CHECK(Await(kPatience, [&] {
    return absl::StrContains(processes.scheduler.Readyz().second, "waiting for CRD queueunits.scheduling.x-k8s.io") &&
           absl::StrContains(processes.controllers.Readyz().second, "list queueunits.scheduling.x-k8s.io: ");
  }));
  CHECK(processes.Run());

  cluster.InstallDefinitions();
  CHECK(Await(kPatience, [&] { return processes.Ready(); }));
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject("late", "", 1));
  cluster.Create(kJobs, "default", JobObject("late", "late", "1s"));
  CHECK(Await(kPatience, [&] { return IsReleased(&cluster, {"default", "late"}); }));
  CHECK(processes.scheduler.Books() == std::map<std::string, int64_t>{{"late", 1000}});
  CHECK(processes.Run());
}

TEST_CASE("an API server that is killed in the middle of the work costs nothing but time", "[e2e]") {
  const int jobs = FromEnvironment("API_SERVER_TEST_JOBS", 80);
  const int kills = FromEnvironment("API_SERVER_TEST_KILLS", 1);
  const int64_t cores = 20;
  const OwnCluster own;
  TestCluster cluster(own.kubeconfig());
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject("team", "", cores));
  UsageWatch units(&cluster.api(), "default", {{"team", cores * 1000}});
  JobWatch watch(&cluster.api(), "default");
  const ChartAccounts accounts(&cluster, "default");
  Processes processes(accounts, "killed");
  InParallel(jobs, [&](int n) { cluster.Create(kJobs, "default", JobObject(absl::StrCat("job-", n), "team", "1s")); });
  for (int kill = 0; kill < kills; ++kill) {
    // Somewhere in the middle.
    REQUIRE(Await(kPatience, [&] { return units.Finished() >= jobs * (kill + 1) / (kills + 2); }));
    CHECK(processes.Ready());
    own.KillApiServer();
    CHECK(Await(kPatience, [&] { return processes.Unready("refused"); }));
    own.StartApiServer();
    CHECK(Await(kPatience, [&] { return processes.Ready(); }));
  }
  CHECK(Await(kPatience, [&] { return watch.Complete() == jobs && units.Finished() == jobs; }));
  CAPTURE(watch.Jobs(), watch.Complete(), units.admissions(), units.Finished());
  CHECK(units.exceeded() == "");
  CHECK(watch.WrongReleases(units) == "");
  CHECK(Await(kPatience, [&] { return processes.scheduler.Books() == std::map<std::string, int64_t>{{"team", 0}}; }));
  CHECK(processes.Run());
}

}  // namespace
}  // namespace kq::e2e
