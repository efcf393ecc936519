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

// A fault_proxy before the API server of a cluster. What comes with a token goes through it, and with no other right
// than the token's. Goes when the object dies.
class Proxy {
 public:
  // `ns`: a namespace of the test; its default service account, which has no right, lends the proxy a token. `rules` as
  // in fault_rules.h.
  Proxy(const TestCluster& cluster, const std::string& ns, const std::string& rules);
  ~Proxy();

  // Leads through the proxy: others take its server and authority, and put their own token beside them.
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

  std::string folder_;
  std::string kubeconfig_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<HttpClient> http_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_PROXY_H_
