#ifndef E2E_SUPPORT_ACCOUNT_KUBECONFIG_H_
#define E2E_SUPPORT_ACCOUNT_KUBECONFIG_H_

#include <string>

#include "e2e/support/test_cluster.h"
#include "libs/kube/kube_api.h"

namespace kq::e2e {

// Writes a kubeconfig that holds nothing but a new token of this service account, good for a day. It leads where the
// kubeconfig `like` does: that of an administrator, or of a proxy before the API server.
void WriteAccountKubeconfig(const TestCluster& cluster, const ObjectKey& account, const std::string& like,
                            const std::string& path);

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_ACCOUNT_KUBECONFIG_H_
