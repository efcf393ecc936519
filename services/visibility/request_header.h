#ifndef SERVICES_VISIBILITY_REQUEST_HEADER_H_
#define SERVICES_VISIBILITY_REQUEST_HEADER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/common/json.h"
#include "libs/http/http.h"

namespace kq::visibility {

// Who asks.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  friend bool operator==(const User&, const User&) = default;
};

// How the API server tells for whom it asks: the ConfigMap
// kube-system/extension-apiserver-authentication. Only a peer whose certificate is
// of `ca_pem`, and whose name is allowed, may say so.
struct RequestHeaderConfig {
  std::string ca_pem;
  std::vector<std::string> allowed_names;  // empty: any name
  std::vector<std::string> username_headers, uid_headers, group_headers, extra_prefixes;

  friend bool operator==(const RequestHeaderConfig&, const RequestHeaderConfig&) = default;
};

// kInvalidArgument with the key that is missing or malformed.
absl::StatusOr<RequestHeaderConfig> ParseRequestHeaderConfig(const Json& config_map);

// Whether a peer with a verified certificate of this name may speak for others.
bool IsProxy(const RequestHeaderConfig& config, const std::string& common_name);

// The user that the headers name; nullopt if they name none. REQUIRES: IsProxy.
std::optional<User> UserOfHeaders(const RequestHeaderConfig& config, const HttpHeaders& headers);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_REQUEST_HEADER_H_
