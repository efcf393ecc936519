// Who the processes of the tests are: what each account may do is the chart's, and what an administrator may is not.
#include "e2e/support/chart_accounts.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kSoon = absl::Minutes(1);  // until the API server goes by what was taken away
const std::vector<std::string> kAccounts = {"koord-queue", "koord-queue-controllers", "koord-queue-visibility",
                                            "koord-queue-debug-api"};

JsonObject Lease(const std::string& verb, const std::string& ns, const std::string& name) {
  return {{"verb", verb}, {"group", "coordination.k8s.io"}, {"resource", "leases"}, {"namespace", ns}, {"name", name}};
}
JsonObject Secret(const std::string& verb, const std::string& ns, const std::string& name) {
  return {{"verb", verb}, {"resource", "secrets"}, {"namespace", ns}, {"name", name}};
}
JsonObject Queues(const std::string& ns) {
  return {{"verb", "create"}, {"group", "scheduling.x-k8s.io"}, {"resource", "queues"}, {"namespace", ns}};
}

TEST_CASE("each account may do what the chart lets it, in the namespaces that were named", "[e2e]") {
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("accounts"), leases = cluster.MakeNamespace("accounts-lease");
  const ChartAccounts accounts(&cluster, ns, {leases, "the-lease"});
  const JsonObject read_jobs = {{"verb", "list"}, {"group", "batch"}, {"resource", "jobs"}};
  const JsonObject read_units = {{"verb", "list"}, {"group", "scheduling.x-k8s.io"}, {"resource", "queueunits"}};
  CHECK(accounts.MayDo("koord-queue", read_units));
  CHECK(accounts.MayDo("koord-queue", Queues("koord-queue")));
  CHECK(accounts.MayDo("koord-queue", Lease("update", leases, "the-lease")));
  CHECK(accounts.MayDo("koord-queue-controllers", read_jobs));
  CHECK(accounts.MayDo("koord-queue-controllers", Lease("update", ns, "koord-queue-controllers")));
  CHECK(accounts.MayDo("koord-queue-visibility", Secret("update", ns, "koord-queue-visibility-ca")));
  CHECK(accounts.MayDo("koord-queue-debug-api", read_units));

  CHECK_FALSE(accounts.MayDo("koord-queue", read_jobs));
  CHECK_FALSE(accounts.MayDo("koord-queue", Queues(ns)));
  CHECK_FALSE(accounts.MayDo("koord-queue", Lease("update", leases, "another")));
  CHECK_FALSE(accounts.MayDo("koord-queue", Lease("update", ns, "the-lease")));
  CHECK_FALSE(accounts.MayDo("koord-queue-controllers", Lease("update", leases, "the-lease")));
  CHECK_FALSE(accounts.MayDo("koord-queue-visibility", read_units));
  CHECK_FALSE(accounts.MayDo("koord-queue-visibility", Secret("update", ns, "another")));
  CHECK_FALSE(accounts.MayDo("koord-queue-visibility", Secret("update", "koord-queue", "koord-queue-visibility-ca")));
  CHECK_FALSE(accounts.MayDo("koord-queue-debug-api", Lease("get", leases, "the-lease")));
  for (const std::string& account : kAccounts) {
    CAPTURE(account);
    CHECK_FALSE(accounts.MayDo(account, {{"verb", "list"}, {"resource", "secrets"}}));
    CHECK_FALSE(accounts.MayDo(account, {{"verb", "delete"}, {"group", "batch"}, {"resource", "jobs"}}));
    CHECK_FALSE(accounts.MayDo(account, {{"verb", "*"}, {"group", "*"}, {"resource", "*"}}));
    // As kubectl sees it, by the file that the process gets.
    const std::string kubectl = absl::StrCat("kubectl --kubeconfig=", accounts.Kubeconfig(account));
    CHECK(Run(absl::StrCat(kubectl, " auth can-i delete jobs.batch -A || true")) == "no\n");
    CHECK(Run(absl::StrCat(kubectl, " auth whoami -o jsonpath='{.status.userInfo.username}'")) ==
          absl::StrCat("system:serviceaccount:", ns, ":", account));
  }
}

TEST_CASE("the next test's accounts take the rights, and leave none", "[e2e]") {
  const JsonObject read_jobs = {{"verb", "list"}, {"group", "batch"}, {"resource", "jobs"}};
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("accounts"), next = cluster.MakeNamespace("accounts-next");
  const ChartAccounts accounts(&cluster, ns);
  CHECK(accounts.MayDo("koord-queue-controllers", read_jobs));
  auto others = std::make_unique<ChartAccounts>(&cluster, next);
  CHECK(others->MayDo("koord-queue-controllers", read_jobs));
  CHECK(Await(kSoon, [&] { return !accounts.MayDo("koord-queue-controllers", read_jobs); }));
  others = nullptr;
  for (const char* kind : {"roles", "rolebindings", "clusterroles", "clusterrolebindings"}) {
    for (const Json& object : cluster.ListAll({"rbac.authorization.k8s.io", "v1", kind})) {
      const ObjectKey key = KeyOf(object);
      // What the first has in namespaces of its own is still there.
      if (key.ns == ns) continue;
      CAPTURE(kind, key.ToString());
      CHECK(StringAt(object, {"metadata", "labels", "app.kubernetes.io/part-of"}) != "koord-queue");
    }
  }
}

}  // namespace
}  // namespace kq::e2e
