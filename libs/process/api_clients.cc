#include "libs/process/api_clients.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"
#include "libs/common/version.h"

namespace kq {

absl::StatusOr<ApiClients> NewApiClients(const ApiServerSettings& settings, const Environment& environment,
                                         const ApiClientsOptions& options) {
  KQ_ASSIGN_OR_RETURN(const KubeConnection connection, settings.Connection(environment));
  HttpKubeApiOptions http;
  http.user_agent = absl::StrCat(options.program, "/", kVersion);
  http.connections = options.connections;
  http.qps = settings.qps;
  http.burst = settings.burst > 0 ? settings.burst : std::max(1, static_cast<int>(settings.qps));
  http.observe = options.observe;
  ApiClients clients;
  KQ_ASSIGN_OR_RETURN(clients.api, NewHttpKubeApi(connection, http));
  http.connections = 1;
  http.qps = 0;
  http.timeout = std::max(options.renew_deadline / 2, absl::Seconds(1));
  KQ_ASSIGN_OR_RETURN(clients.lease_api, NewHttpKubeApi(connection, http));
  KQ_LOG(Info, "API server", {{"server", connection.server}, {"context", connection.context}});
  return clients;
}

}  // namespace kq
