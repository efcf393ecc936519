// Many units wait and nothing changes: nobody writes anything. Counted by the API
// server itself, on a cluster of the test's own where nobody else writes.
//
// IDLE_TEST_UNITS and IDLE_TEST_SECONDS make it longer: the full form is 100000
// units and 60 s, and takes some minutes.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/objects.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "e2e/support/usage_watch.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(40);
constexpr int kJobCount = 100;  // some of the units have one

// The value of a label of a metric's series.
std::string Label(const std::string& line, const std::string& name) {
  const size_t at = line.find(absl::StrCat(name, "=\""));
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return line.substr(begin, line.find('"', begin) - begin);
}

// Writes that the API server has taken since its start, by "VERB resource/subresource",
// but for those that it and its leases make without us.
std::map<std::string, int64_t> Writes(const TestCluster& cluster) {
  static const std::set<std::string> kVerbs = {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"};
  static const std::set<std::string> kOurs = {"queueunits", "queues", "elasticquotas", "jobs", "pods", "events"};
  std::map<std::string, int64_t> writes;
  const std::vector<std::string> lines = absl::StrSplit(cluster.Kubectl("get --raw /metrics"), '\n');
  for (const std::string& line : lines) {
    if (line.rfind("apiserver_request_total{", 0) != 0) continue;
    const std::string verb = Label(line, "verb"), resource = Label(line, "resource");
    if (kVerbs.count(verb) == 0 || kOurs.count(resource) == 0) continue;
    double count = 0;
    REQUIRE(absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &count));
    const std::string part = Label(line, "subresource");
    writes[absl::StrCat(verb, " ", resource, part.empty() ? "" : "/", part)] += static_cast<int64_t>(count);
  }
  return writes;
}

// Waits until nothing has been written for a while.
bool Settles(const TestCluster& cluster) {
  std::map<std::string, int64_t> before;
  return Await(kPatience, [&] {
    Clock::Real().SleepFor(absl::Seconds(3));
    const std::map<std::string, int64_t> now = Writes(cluster);
    const bool same = now == before;
    before = now;
    return same;
  });
}

std::map<ObjectKey, uint64_t> Versions(TestCluster* cluster) {
  std::map<ObjectKey, uint64_t> versions;
  for (const Json& unit : cluster->ListAll(kUnits, "default")) versions[KeyOf(unit)] = VersionOf(unit);
  return versions;
}

TEST_CASE("while many units wait and nothing changes, nothing is written", "[e2e]") {
  const int units = FromEnvironment("IDLE_TEST_UNITS", 5000);
  const absl::Duration quiet = absl::Seconds(FromEnvironment("IDLE_TEST_SECONDS", 10));
  const Clock& clock = Clock::Real();
  const OwnCluster own("kwok kube-scheduler kube-controller-manager");
  TestCluster cluster(own.kubeconfig());
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject("full", "", 1));
  absl::Time since = clock.TimeNow();
  InParallel(units - kJobCount,
             [&](int n) { cluster.Create(kUnits, "default", UnitObject(absl::StrCat("u-", n), "full")); });
  const absl::Duration creation = clock.TimeNow() - since;
  InParallel(kJobCount,
             [&](int n) { cluster.Create(kJobs, "default", JobObject(absl::StrCat("job-", n), "full", "1s")); });
  UsageWatch watch(&cluster.api(), "default", {{"full", 1000}});

  // Unthrottled, so that all are told soon.
  const ChartAccounts accounts(&cluster, "default");
  const ServiceOptions options = {.accounts = &accounts,
                                  .lease_namespace = "default",
                                  .lease_times = {"--lease-duration=60s", "--renew-deadline=40s", "--retry-period=2s"}};
  ServiceOptions hurried = options;
  hurried.check_invariants = false;  // of all units, after every turn
  hurried.flags = {"--advisory-writes-per-second=0", "--events-per-second=100000"};
  Scheduler scheduler(hurried);
  Controllers controllers(options);
  since = clock.TimeNow();
  scheduler.Start();
  REQUIRE(Await(kPatience, [&] { return watch.admissions() == 1; }));
  const absl::Duration first_decision = clock.TimeNow() - since;
  controllers.Start();
  REQUIRE(Await(kPatience, [&] { return watch.Waiting("full") == units - 1; }));
  // Each was told why: a write for each.
  REQUIRE(Await(kPatience, [&] { return Writes(cluster)["PATCH queueunits/status"] >= units; }));
  REQUIRE(Settles(cluster));
  const absl::Duration telling = clock.TimeNow() - since;

  const std::map<std::string, int64_t> before = Writes(cluster);
  const std::map<ObjectKey, uint64_t> versions = Versions(&cluster);
  clock.SleepFor(quiet);
  CHECK(Writes(cluster) == before);
  CHECK(Versions(&cluster) == versions);
  CHECK(scheduler.Ready());
  CHECK(controllers.Ready());

  // Room for one more is one write, and nobody else is told: numbers are no reason.
  cluster.Kubectl(absl::StrCat("--namespace=", kQuotaNamespace,
                               R"( patch elasticquota full --type=merge --patch='{"spec":{"max":{"cpu":"2"}}}')"));
  CHECK(Await(kPatience, [&] { return watch.admissions() == 2; }));
  CHECK(Settles(cluster));
  CHECK(Writes(cluster)["PATCH queueunits/status"] == before.at("PATCH queueunits/status") + 1);
  WARN(units << " units: created in " << absl::FormatDuration(creation) << ", first decision after "
             << absl::FormatDuration(first_decision) << ", all told after " << absl::FormatDuration(telling)
             << "; then no write for " << absl::FormatDuration(quiet) << "; resident: scheduler "
             << scheduler.ResidentKib() / 1024 << " MiB, controllers " << controllers.ResidentKib() / 1024 << " MiB");
}

}  // namespace
}  // namespace kq::e2e
