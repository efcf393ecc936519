// The scheduler is killed with -9 in the middle of many admissions, again and
// again, on a real API server. Whatever was decided, written or answered at that
// moment, no quota is exceeded at any time and the books are right afterwards.
//
// KILL_TEST_ROUNDS and KILL_TEST_UNITS make it longer: the full form is 10 x 1000.
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/finisher.h"
#include "e2e/support/objects.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "e2e/support/usage_watch.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(3);

TEST_CASE("killed in the middle of admissions, the books are right and no quota is exceeded", "[e2e]") {
  const int rounds = FromEnvironment("KILL_TEST_ROUNDS", 2);
  const int units = FromEnvironment("KILL_TEST_UNITS", 300);
  const int64_t cores = units / 6;  // of each quota; the parent has room for one and a half
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("kill");
  const std::string parent = absl::StrCat(ns, "-p"), a = absl::StrCat(ns, "-a"), b = absl::StrCat(ns, "-b");
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(parent, "", cores * 3 / 2));
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(a, parent, cores));
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(b, parent, cores));
  UsageWatch watch(&cluster.api(), ns, {{a, cores * 1000}, {b, cores * 1000}, {"", cores * 3 / 2 * 1000}});
  const ChartAccounts accounts(&cluster, ns);
  Scheduler scheduler({.accounts = &accounts, .lease_namespace = ns});

  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const int64_t before = watch.admissions();
    InParallel(units, [&](int n) {
      cluster.Create(kUnits, ns, UnitObject(absl::StrCat("u-", round, "-", n), n % 2 == 0 ? a : b));
    });
    scheduler.Start();
    {
      Finisher finisher(&cluster.api(), &watch);
      // Somewhere in the middle, another place each round.
      const int64_t kill_at = before + units / 5 + round * units / (2 * rounds);
      REQUIRE(Await(kPatience, [&] { return watch.admissions() >= kill_at; }));
      scheduler.Kill();
      scheduler.Start();
      // Most of the rest has its turn; then what runs stays.
      REQUIRE(Await(kPatience, [&] { return watch.admissions() >= before + units * 4 / 5; }));
    }
    const auto equal = [&] {
      std::map<std::string, int64_t> books = scheduler.Books();
      return books[a] == watch.Held(a) && books[b] == watch.Held(b) && books[parent] == watch.Held("") &&
             !books.empty();
    };
    // Everything that fits is running, and the books say what runs. Each unit asks for
    // one core, so a quota with room has nobody waiting, unless its parent is full.
    const auto settled = [&](const std::string& quota) {
      return watch.Waiting(quota) == 0 || watch.Held(quota) == cores * 1000 || watch.Held("") == cores * 3 / 2 * 1000;
    };
    const bool right = Await(kPatience, [&] { return settled(a) && settled(b) && equal(); });
    CHECK(right);
    CHECK(scheduler.Running());
    scheduler.Kill();
    cluster.DeleteAll(kUnits, ns);
    REQUIRE(Await(kPatience, [&] { return watch.UnitCount() == 0; }));
  }
  CHECK(watch.exceeded() == "");
  cluster.DeleteQuotas(kQuotaNamespace, {parent, a, b});
}

}  // namespace
}  // namespace kq::e2e
