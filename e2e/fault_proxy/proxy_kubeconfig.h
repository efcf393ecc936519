#ifndef E2E_FAULT_PROXY_PROXY_KUBECONFIG_H_
#define E2E_FAULT_PROXY_PROXY_KUBECONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/kube/kubeconfig.h"

namespace kq {

// The kubeconfig with which the owner of `connection` goes through a proxy at
// `server`; `ca_pem` is the proxy's authority, empty for plain HTTP. The token
// stays. kInvalidArgument if there is none: a client certificate ends at the proxy.
absl::StatusOr<std::string> ProxyKubeconfig(const KubeConnection& connection, const std::string& server,
                                            const std::string& ca_pem);

}  // namespace kq

#endif  // E2E_FAULT_PROXY_PROXY_KUBECONFIG_H_
