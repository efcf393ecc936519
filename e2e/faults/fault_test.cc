// Scheduler and controllers reach the real API server through a proxy that does to
// them what networks and busy servers do: watches cut and expired, conflicts, 429
// with Retry-After, 5xx before and after a write, slow and lost requests and answers.
// Every Job ends, no quota is exceeded at any moment, nothing is done twice.
//
// FAULT_TEST_JOBS and FAULT_TEST_SEED make it longer, and different.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "e2e/support/chart_accounts.h"
#include "e2e/support/job_watch.h"
#include "e2e/support/objects.h"
#include "e2e/support/proxy.h"
#include "e2e/support/services.h"
#include "e2e/support/test_cluster.h"
#include "e2e/support/usage_watch.h"

namespace kq::e2e {
namespace {

// Each watch ends before long, one way or another. Slow ones come first, because
// they let later rules strike too.
constexpr char kRules[] = R"yaml(
seed: $0
rules:
- {name: refused watch, verbs: [watch], every: 5, fault: answer, code: 503}
- {name: cut watch, resource: "(queueunits|jobs|pods|queues|elasticquotas).*", every: 2, fault: cut-watch, after_events: 40}
- {name: expired watch, resource: "(queueunits|jobs|pods|queues|elasticquotas).*", fault: expire-watch, after_events: 80}
- {name: slow answer, verbs: [get, list, create, patch, update], probability: 0.05, fault: slow-answer, delay: 400ms}
- {name: slow request, verbs: [get, list, create, patch, update], probability: 0.05, fault: slow-request, delay: 400ms}
- {name: conflict, verbs: [create, patch, update], probability: 0.06, fault: answer, code: 409}
- {name: busy, verbs: [get, list, create, patch, update], probability: 0.04, fault: answer, code: 429, retry_after: 1s}
- {name: unavailable, verbs: [get, list, create, patch, update], probability: 0.03, fault: answer, code: 503}
- {name: error, verbs: [get, list, create, patch, update], probability: 0.03, fault: answer, code: 500}
- {name: error after the write, verbs: [create, patch, update], probability: 0.05, fault: replace-answer, code: 500}
- {name: timeout after the write, verbs: [create, patch, update], probability: 0.04, fault: replace-answer, code: 504}
- {name: lost request, verbs: [get, list, create, patch, update], probability: 0.04, fault: lose-request}
- {name: lost answer, verbs: [get, list, create, patch, update], probability: 0.06, fault: lose-answer}
)yaml";
constexpr absl::Duration kPatience = absl::Minutes(10);

TEST_CASE("with every fault on the wire, each Job is released once and no quota is exceeded", "[e2e]") {
  const int jobs = FromEnvironment("FAULT_TEST_JOBS", 240);
  const int seed = FromEnvironment("FAULT_TEST_SEED", 4711);
  const int64_t cores = 24;  // of each of three quotas; their parent has room for two
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("faults");
  const std::string parent = absl::StrCat(ns, "-p");
  const std::vector<std::string> quotas = {absl::StrCat(ns, "-a"), absl::StrCat(ns, "-b"), absl::StrCat(ns, "-c")};
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(parent, "", cores * 2));
  std::map<std::string, int64_t> limits = {{"", cores * 2 * 1000}};
  for (const std::string& quota : quotas) {
    cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(quota, parent, cores));
    limits[quota] = cores * 1000;
  }
  // On a direct connection, so that nothing is missed.
  UsageWatch units(&cluster.api(), ns, limits);
  JobWatch watch(&cluster.api(), ns);
  Proxy proxy(cluster, ns, absl::Substitute(kRules, seed));
  const ChartAccounts accounts(&cluster, ns);
  const ServiceOptions options = {.accounts = &accounts,
                                  .through = proxy.kubeconfig(),
                                  .lease_namespace = ns,
                                  .lease_times = {"--lease-duration=20s", "--renew-deadline=15s", "--retry-period=1s"}};
  Scheduler scheduler(options);
  Controllers controllers(options);
  scheduler.Start();
  controllers.Start();

  InParallel(jobs, [&](int n) {
    cluster.Create(kJobs, ns, JobObject(absl::StrCat("job-", n), quotas[static_cast<size_t>(n) % 3], "1s"));
  });
  const bool all_over = Await(kPatience, [&] { return watch.Complete() == jobs && units.Finished() == jobs; });
  CAPTURE(seed, JsonText(proxy.Stats()));
  CAPTURE(watch.Jobs(), watch.Complete(), units.UnitCount(), units.admissions(), units.Finished());
  CHECK(all_over);
  CHECK(units.exceeded() == "");
  CHECK(watch.WrongReleases(units) == "");
  // The news of the last ends may meet with a fault too.
  std::map<std::string, int64_t> empty = {{parent, 0}};
  for (const std::string& quota : quotas) empty[quota] = 0;
  std::map<std::string, int64_t> books;
  Await(absl::Seconds(30), [&] {
    std::map<std::string, int64_t> all = scheduler.Books();
    books.clear();
    for (const auto& [quota, used] : empty) {
      if (all.count(quota) > 0) books[quota] = all[quota];
    }
    return books == empty;
  });
  CHECK(books == empty);
  CHECK(scheduler.Running());
  CHECK(controllers.Running());
  // Else this would prove nothing.
  CHECK(proxy.Idle() == "");
  cluster.DeleteQuotas(kQuotaNamespace, quotas);
  cluster.DeleteQuotas(kQuotaNamespace, {parent});
}

}  // namespace
}  // namespace kq::e2e
