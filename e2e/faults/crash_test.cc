// The scheduler is killed with -9 at exact places: a proxy holds what is on its way,
// the test sees in its counts that it is held, and kills. What is restarted reads
// the books anew: they are the sum of what was admitted, nothing is admitted twice,
// no quota is exceeded at any moment.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/finisher.h"
#include "e2e/support/objects.h"
#include "e2e/support/proxy.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "e2e/support/usage_watch.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);
constexpr int64_t kCores = 12;
constexpr int kUnitCount = 36;  // each asks for one
constexpr char kStatusWrites[] = "verbs: [patch], resource: queueunits\\.scheduling\\.x-k8s\\.io/status";
constexpr char kReads[] = "verbs: [get], resource: queueunits\\.scheduling\\.x-k8s\\.io";

// Where the scheduler dies.
struct Place {
  std::string name;
  std::string rules;
  std::string held;  // the rule whose count tells that it is there
  int64_t written;   // units that are admitted on the server at that moment
  int64_t later;     // and soon after, while nobody runs
};

std::vector<Place> Places() {
  const std::string writes = absl::StrCat("{name: writes, ", kStatusWrites, ", ");
  const std::string slow_reads = absl::StrCat("- {name: reads, ", kReads, ", fault: slow-answer, delay: 30s}\n");
  return {
      // Held for less than the lease lasts, so that it arrives after the death of its
      // sender and before another leads.
      {"decided, the write on its way; it arrives before the next one starts",
       absl::StrCat("rules:\n- ", writes, "fault: slow-request, delay: 2500ms}\n"), "writes", 0, kCores},
      {"decided, the write on its way; it arrives while the next one starts",
       absl::StrCat("rules:\n- ", writes, "fault: slow-request, delay: 2500ms}\n"), "writes", 0, 0},
      {"decided, the write lost, its fate being looked up",
       absl::StrCat("rules:\n- ", writes, "fault: lose-request}\n", slow_reads), "reads", 0, 0},
      {"written, the answer on its way", absl::StrCat("rules:\n- ", writes, "fault: slow-answer, delay: 30s}\n"),
       "writes", kCores, kCores},
      {"written, the answer lost, its fate being looked up",
       absl::StrCat("rules:\n- ", writes, "fault: lose-answer}\n", slow_reads), "reads", kCores, kCores},
  };
}

TEST_CASE("killed between decision, write and answer, nothing is admitted twice and the books are right", "[e2e]") {
  TestCluster cluster;
  for (const Place& place : Places()) {
    CAPTURE(place.name);
    const std::string ns = cluster.MakeNamespace("crash");
    const std::string quota = absl::StrCat(ns, "-q");
    cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(quota, "", kCores));
    UsageWatch watch(&cluster.api(), ns, {{quota, kCores * 1000}});
    Proxy proxy(cluster, ns, place.rules);
    const ChartAccounts accounts(&cluster, ns);
    // As many writes at once as are admitted: once so many are held, they are the
    // admissions, which go ahead of what is only told. The Queue is there, so that
    // nobody is told that it is not.
    Scheduler scheduler({.accounts = &accounts,
                         .through = proxy.kubeconfig(),
                         .lease_namespace = ns,
                         .flags = {absl::StrCat("--write-concurrency=", kCores)},
                         .lease_times = {"--lease-duration=5s", "--renew-deadline=4s", "--retry-period=500ms"}});
    cluster.Create(kQueues, "koord-queue", QueueObject(quota));
    InParallel(kUnitCount, [&](int n) { cluster.Create(kUnits, ns, UnitObject(absl::StrCat("u-", n), quota)); });

    scheduler.Start();
    REQUIRE(Await(kPatience, [&] { return proxy.Struck(place.held) >= kCores; }));
    if (place.written > 0) REQUIRE(Await(kPatience, [&] { return watch.admissions() == place.written; }));
    CHECK(watch.admissions() == place.written);
    CHECK(scheduler.Books()[quota] == kCores * 1000);  // it had counted them
    scheduler.Kill();
    proxy.SetRules("");
    if (place.later > 0) CHECK(Await(kPatience, [&] { return watch.admissions() == place.later; }));

    scheduler.Start();
    const auto settled = [&] {
      return watch.Held(quota) == kCores * 1000 && scheduler.Books()[quota] == watch.Held(quota);
    };
    CHECK(Await(kPatience, settled));
    {
      Finisher finisher(&cluster.api(), &watch);
      CHECK(Await(kPatience, [&] { return watch.Finished() == kUnitCount; }));
    }
    CHECK(Await(kPatience, [&] { return scheduler.Books()[quota] == 0; }));
    CHECK(scheduler.Running());
    CHECK(watch.exceeded() == "");
    CHECK(watch.AdmittedAt().size() == kUnitCount);
    for (const auto& [unit, versions] : watch.AdmittedAt()) {
      CAPTURE(unit.ToString());
      CHECK(versions.size() == 1);
    }
    scheduler.Kill();
    cluster.DeleteAll(kUnits, ns);
    cluster.DeleteQuotas(kQuotaNamespace, {quota});
  }
}

}  // namespace
}  // namespace kq::e2e
