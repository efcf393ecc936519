#ifndef E2E_FAULT_PROXY_KUBE_REQUEST_H_
#define E2E_FAULT_PROXY_KUBE_REQUEST_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace kq {

// What a request asks of the API server, read from its method and URL.
struct KubeRequest {
  std::string verb;      // get list watch create update patch delete deletecollection
  std::string resource;  // "pods", "jobs.batch", "jobs.batch/status"
  std::string ns;        // empty: cluster-scoped, or all namespaces
  std::string name;      // empty for a collection
};

// nullopt for what is no resource, such as /version and discovery.
std::optional<KubeRequest> ParseKubeRequest(absl::string_view method, absl::string_view target);

}  // namespace kq

#endif  // E2E_FAULT_PROXY_KUBE_REQUEST_H_
