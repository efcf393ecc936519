#ifndef LIBS_PROCESS_API_CLIENTS_H_
#define LIBS_PROCESS_API_CLIENTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/kube/http_kube_api.h"
#include "libs/process/settings.h"

namespace kq {

// A process's clients of the API server. The lease has a connection of its own: it
// must not wait behind other requests, nor longer for an answer than it may for a
// renewal. Owned by the server that asked for them.
struct ApiClients {
  std::unique_ptr<KubeApi> api;
  std::unique_ptr<KubeApi> lease_api;
};

struct ApiClientsOptions {
  std::string program;  // with the version, the user agent
  int connections = 16;
  absl::Duration renew_deadline = absl::Seconds(10);
  decltype(HttpKubeApiOptions::observe) observe;
};

// Does not connect yet: an API server that is not there is no error. Errors are
// those of the kubeconfig.
absl::StatusOr<ApiClients> NewApiClients(const ApiServerSettings& settings, const Environment& environment,
                                         const ApiClientsOptions& options);

}  // namespace kq

#endif  // LIBS_PROCESS_API_CLIENTS_H_
