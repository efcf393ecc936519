#ifndef E2E_SUPPORT_CHART_ACCOUNTS_H_
#define E2E_SUPPORT_CHART_ACCOUNTS_H_

#include <string>
#include <utility>
#include <vector>

#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

namespace kq::e2e {

// The service accounts of the chart with their roles, as the real helm renders them, and nothing else of it: whose
// processes a test starts, with exactly these rights. Each account is named as its program is.
//
// ClusterRoles and their bindings are the same for all tests of a cluster: of two of these objects, the second takes
// the rights from the accounts of the first, and what both have goes with the one that dies first.
class ChartAccounts {
 public:
  // The chart installed in namespace `ns`, with this Lease of koord-queue (koord-queue-controllers has its own in
  // `ns`). Returns when the API server goes by all of it. REQUIRES: both namespaces and koord-queue are there. The
  // cluster must outlive it.
  ChartAccounts(TestCluster* cluster, const std::string& ns, const ObjectKey& lease);
  // With the lease NS/koord-queue.
  ChartAccounts(TestCluster* cluster, const std::string& ns);
  ~ChartAccounts();
  ChartAccounts(const ChartAccounts&) = delete;
  ChartAccounts& operator=(const ChartAccounts&) = delete;

  // A file with a token of "koord-queue-debug-api", and so on. `through`: a kubeconfig of a proxy before the API
  // server; empty: straight to it, and then nothing is asked.
  std::string Kubeconfig(const std::string& account, const std::string& through = "") const;
  // Whether the API server lets the account do this, asked with its own token:
  // {{"verb", "list"}, {"resource", "secrets"}}.
  bool MayDo(const std::string& account, const JsonObject& request) const;

 private:
  void Render(const ObjectKey& lease);
  void Apply() const;
  // One right of each role that is bound.
  std::vector<std::pair<std::string, JsonObject>> Samples() const;

  TestCluster* const cluster_;
  const std::string ns_;
  std::string folder_;
  std::vector<Json> objects_;  // as rendered
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_CHART_ACCOUNTS_H_
