#ifndef SERVICES_VISIBILITY_TESTING_FRONT_PROXY_H_
#define SERVICES_VISIBILITY_TESTING_FRONT_PROXY_H_

#include <string>

#include "libs/common/json.h"
#include "libs/http/http.h"
#include "libs/kube/kube_api.h"

// What an API server tells of its front proxy, and what that asks.
namespace kq::visibility {

inline const KubeResource kConfigMaps{"", "v1", "configmaps"};

// The ConfigMap kube-system/extension-apiserver-authentication: clients of the
// authority `ca_pem` named front-proxy-client may speak for others.
inline Json FrontProxyConfig(const std::string& ca_pem) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", "extension-apiserver-authentication"}, {"namespace", "kube-system"}}},
          {"data",
           {{"requestheader-client-ca-file", ca_pem},
            {"requestheader-allowed-names", R"(["front-proxy-client"])"},
            {"requestheader-username-headers", R"(["X-Remote-User"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"}}}};
}

// A GET for a user who may do everything.
inline HttpRequest AsMaster(const std::string& target) {
  HttpRequest request;
  request.target = target;
  request.headers.Add("X-Remote-User", "root");
  request.headers.Add("X-Remote-Group", "system:masters");
  return request;
}

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_TESTING_FRONT_PROXY_H_
