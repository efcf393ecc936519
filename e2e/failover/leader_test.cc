// Two replicas of the scheduler, one Lease. The one that does not lead says who
// does; the killed leader and the one that is told to end are replaced; the label on
// the leader's pod moves; meanwhile units are admitted all the time and no quota is
// exceeded.
#include <signal.h>

#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/finisher.h"
#include "e2e/support/objects.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "e2e/support/usage_watch.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);
constexpr int64_t kCores = 10;
constexpr int kWaitingAtMost = 40;  // units of the stream that wait at a time
constexpr char kLeaderLabel[] = "koord-queue-leader";

// Creates one unit after another for as long as it lives, but not more than can wait.
class Stream {
 public:
  Stream(TestCluster* cluster, const std::string& ns, const std::string& quota, const UsageWatch* watch)
      : thread_([=, this] {
          for (int n = 0; !stopped_;) {
            if (watch->Waiting(quota) < kWaitingAtMost) {
              cluster->Create(kUnits, ns, UnitObject(absl::StrCat("u-", n++), quota));
            } else {
              Clock::Real().SleepFor(absl::Milliseconds(10));
            }
          }
        }) {}
  ~Stream() {
    stopped_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

// A replica and its pod.
struct Replica {
  std::string pod;
  Scheduler scheduler;

  Replica(TestCluster* cluster, const ChartAccounts& accounts, const std::string& ns, const std::string& name)
      : pod(name),
        scheduler({.accounts = &accounts,
                   .lease_namespace = ns,
                   .environment = {absl::StrCat("POD_NAME=", name), absl::StrCat("POD_NAMESPACE=", ns)},
                   .log = absl::StrCat(ns, "-", name, ".log")}) {
    const Json container = {{"name", "koord-queue"}, {"image", "none"}};
    cluster->Create(kPods, ns,
                    {{"metadata", {{"name", name}, {"labels", {{"control-plane", "koord-queue"}}}}},
                     {"spec", {{"containers", JsonArray{container}}}}});
  }
  bool Leads() const { return scheduler.Snapshot().ok(); }
};

// The pods that carry the label of the leader.
std::vector<std::string> Labelled(TestCluster* cluster, const std::string& ns) {
  std::vector<std::string> names;
  for (const Json& pod : cluster->ListAll(kPods, ns)) {
    if (StringAt(pod, {"metadata", "labels", kLeaderLabel}) == "true") names.push_back(KeyOf(pod).name);
  }
  return names;
}

std::string Holder(TestCluster* cluster, const std::string& ns) {
  const absl::StatusOr<Json> lease = cluster->api().Get(kLeases, {ns, "koord-queue"});
  return lease.ok() ? StringAt(*lease, {"spec", "holderIdentity"}) : lease.status().ToString();
}

// The follower says who leads.
void CheckFollower(const Scheduler& follower, const std::string& holder) {
  CHECK(absl::StartsWith(holder, "one_"));
  const absl::Status refused = follower.Snapshot().status();
  CHECK(absl::IsUnavailable(refused));
  CHECK(absl::StrContains(refused.message(), holder));
  CHECK(follower.LeaderInTrailer() == holder);
  CHECK(follower.Metric("koord_queue_leader") == 0);
  CHECK(absl::StrContains(follower.Readyz().second, absl::StrCat("follows ", holder)));
}

TEST_CASE("of two replicas one leads, and another takes over when it is killed or told to end", "[e2e]") {
  const Clock& clock = Clock::Real();
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("leader");
  const std::string quota = absl::StrCat(ns, "-q");
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(quota, "", kCores));
  const ChartAccounts accounts(&cluster, ns);
  Replica one(&cluster, accounts, ns, "one"), two(&cluster, accounts, ns, "two");
  const auto labelled = [&](const Replica& replica) {
    return Await(kPatience, [&] { return Labelled(&cluster, ns) == std::vector<std::string>{replica.pod}; });
  };
  UsageWatch watch(&cluster.api(), ns, {{quota, kCores * 1000}});
  const auto admits = [&](int more) {
    const int64_t before = watch.admissions();
    return Await(kPatience, [&] { return watch.admissions() >= before + more; });
  };

  one.scheduler.Start();
  REQUIRE(Await(kPatience, [&] { return one.Leads(); }));
  two.scheduler.Start();
  REQUIRE(Await(kPatience, [&] { return two.scheduler.Ready(); }));
  CHECK(labelled(one));
  {
    Stream stream(&cluster, ns, quota, &watch);
    Finisher finisher(&cluster.api(), &watch);
    CHECK(admits(50));

    CheckFollower(two.scheduler, Holder(&cluster, ns));
    CHECK(one.scheduler.Metric("koord_queue_leader") == 1);

    one.scheduler.Kill();
    const absl::Time killed = clock.TimeNow();
    REQUIRE(Await(kPatience, [&] { return two.Leads(); }));
    const absl::Duration after_kill = clock.TimeNow() - killed;
    CHECK(absl::StartsWith(Holder(&cluster, ns), "two_"));
    CHECK(labelled(two));  // and the dead pod has lost it
    CHECK(admits(50));

    one.scheduler.Start();
    REQUIRE(Await(kPatience, [&] { return one.scheduler.Ready(); }));
    CHECK(absl::IsUnavailable(one.scheduler.Snapshot().status()));
    const absl::Time told = clock.TimeNow();
    two.scheduler.Signal(SIGTERM);
    REQUIRE(Await(kPatience, [&] { return one.Leads(); }));
    const absl::Duration after_term = clock.TimeNow() - told;
    const absl::StatusOr<int> code = two.scheduler.Wait(absl::Seconds(30));
    REQUIRE(code.ok());
    CHECK(*code == 0);
    CHECK(absl::StartsWith(Holder(&cluster, ns), "one_"));
    CHECK(labelled(one));
    CHECK(admits(50));
    WARN("no leader for " << absl::FormatDuration(after_kill) << " after kill -9 (lease of 2s), for "
                          << absl::FormatDuration(after_term) << " after SIGTERM");
  }
  CHECK(watch.exceeded() == "");
  CHECK(Await(kPatience, [&] { return one.scheduler.Books()[quota] == watch.Held(quota); }));
  for (const auto& [unit, versions] : watch.AdmittedAt()) {
    CAPTURE(unit.ToString());
    CHECK(versions.size() == 1);
  }
  // The last one gives all back: its lease and its label.
  one.scheduler.Signal(SIGTERM);
  CHECK(one.scheduler.Wait(absl::Seconds(30)).value_or(-1) == 0);
  CHECK(Holder(&cluster, ns).empty());
  CHECK(Labelled(&cluster, ns).empty());
  cluster.DeleteQuotas(kQuotaNamespace, {quota});
}

TEST_CASE("a lease that something else holds is waited for, and the holder is named everywhere", "[e2e]") {
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("leader");
  const char kForeign[] = "some-operator-7d4b9";
  const std::string now = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", Clock::Real().TimeNow(), absl::UTCTimeZone());
  cluster.Create(kLeases, ns,
                 {{"metadata", {{"name", "koord-queue"}}},
                  {"spec",
                   {{"holderIdentity", kForeign},
                    {"leaseDurationSeconds", 3600},
                    {"acquireTime", now},
                    {"renewTime", now},
                    {"leaseTransitions", 0}}}});
  const ChartAccounts accounts(&cluster, ns);
  Replica one(&cluster, accounts, ns, "one");
  one.scheduler.Start();
  const std::string series = absl::StrCat("koord_queue_lease_unknown_holder{holder=\"", kForeign, "\"}");
  REQUIRE(Await(kPatience, [&] { return one.scheduler.Metric(series) == 1; }));
  CHECK_FALSE(one.Leads());
  CHECK(one.scheduler.LeaderInTrailer() == kForeign);
  CHECK_THAT(one.scheduler.Readyz().second, Catch::Contains(kForeign));
  CHECK_THAT(FileText(one.scheduler.log()),
             Catch::Contains("does not look like koord-queue") && Catch::Contains(kForeign));
  CHECK(Labelled(&cluster, ns).empty());
  // The command of the document shows the same, and what it advises helps.
  CHECK(cluster.Kubectl(
            absl::StrCat("-n ", ns, " get lease koord-queue -o jsonpath='{.spec.holderIdentity}{\"\\n\"}'")) ==
        absl::StrCat(kForeign, "\n"));
  CHECK(cluster.api().Delete({.resource = kLeases, .key = {ns, "koord-queue"}}).ok());
  REQUIRE(Await(kPatience, [&] { return one.Leads(); }));
  CHECK(one.scheduler.Metric(series) == 0);
}

}  // namespace
}  // namespace kq::e2e
