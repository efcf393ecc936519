#ifndef E2E_SUPPORT_PROXY_H_
#define E2E_SUPPORT_PROXY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "e2e/support/child_process.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"
#include "libs/http/http_client.h"

namespace kq::e2e {

// A fault_proxy before the API server of a cluster, and a service account with all
// rights that goes through it. Both go when the object dies.
class Proxy {
 public:
  // `ns`: a namespace of the test, which gets the service account. `rules` as in
  // fault_rules.h. The cluster must outlive the proxy.
  Proxy(TestCluster* cluster, const std::string& ns, const std::string& rules);
  ~Proxy();

  // Leads through the proxy.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // Other rules from now on; all counts start again.
  void SetRules(const std::string& rules);
  // How often a rule has struck.
  int64_t Struck(const std::string& rule);
  // The names of the rules that have not struck yet, a line each.
  std::string Idle();
  // The whole answer of /fault-proxy/stats.
  Json Stats();

 private:
  std::string Call(const std::string& method, const std::string& path, const std::string& body);

  TestCluster* const cluster_;
  const std::string account_;
  std::string folder_;
  std::string kubeconfig_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<HttpClient> http_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_PROXY_H_
