#include "e2e/fault_proxy/proxy_kubeconfig.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "libs/common/json.h"
#include "libs/common/yaml.h"

namespace kq {

absl::StatusOr<std::string> ProxyKubeconfig(const KubeConnection& connection, const std::string& server,
                                            const std::string& ca_pem) {
  if (connection.token.empty() && connection.token_file.empty()) {
    return absl::InvalidArgumentError(
        "the kubeconfig has no token, and a client certificate cannot pass a proxy: "
        "give one that cluster/kubeconfig-for made, or a token of `kubectl create token`");
  }
  JsonObject cluster{{"server", server}};
  if (!ca_pem.empty()) cluster["certificate-authority-data"] = absl::Base64Escape(ca_pem);
  JsonObject user;
  if (!connection.token.empty()) user["token"] = connection.token;
  if (!connection.token_file.empty()) user["tokenFile"] = connection.token_file;
  JsonObject context{{"cluster", "fault-proxy"}, {"user", "user"}};
  if (!connection.ns.empty()) context["namespace"] = connection.ns;
  const auto entry = [](const char* name, const char* kind, JsonObject fields) {
    return JsonArray{JsonObject{{"name", name}, {kind, std::move(fields)}}};
  };
  return YamlText(JsonObject{{"apiVersion", "v1"},
                             {"kind", "Config"},
                             {"clusters", entry("fault-proxy", "cluster", std::move(cluster))},
                             {"users", entry("user", "user", std::move(user))},
                             {"contexts", entry("fault-proxy", "context", std::move(context))},
                             {"current-context", "fault-proxy"}});
}

}  // namespace kq
