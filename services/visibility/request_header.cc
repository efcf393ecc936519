#include "services/visibility/request_header.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq::visibility {
namespace {

// A key of the ConfigMap that holds a JSON list of texts; empty if it is absent.
absl::StatusOr<std::vector<std::string>> ListAt(const Json& config_map, const std::string& key) {
  const std::string text = StringAt(config_map, {"data", key});
  std::vector<std::string> list;
  if (text.empty()) return list;
  KQ_ASSIGN_OR_RETURN(const Json value, ParseJson(text));
  if (!value.is_array()) return absl::InvalidArgumentError(absl::StrCat(key, ": expected a list"));
  for (const Json& item : value.get_array()) {
    if (!item.is_string()) return absl::InvalidArgumentError(absl::StrCat(key, ": expected texts"));
    list.emplace_back(item.get_string());
  }
  return list;
}

std::string FirstOf(const HttpHeaders& headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const std::string* value = headers.Find(name); value != nullptr && !value->empty()) return *value;
  }
  return "";
}

}  // namespace

absl::StatusOr<RequestHeaderConfig> ParseRequestHeaderConfig(const Json& config_map) {
  RequestHeaderConfig config;
  config.ca_pem = StringAt(config_map, {"data", "requestheader-client-ca-file"});
  if (config.ca_pem.empty()) return absl::InvalidArgumentError("requestheader-client-ca-file: is missing");
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"requestheader-allowed-names", &config.allowed_names},
      {"requestheader-username-headers", &config.username_headers},
      {"requestheader-uid-headers", &config.uid_headers},
      {"requestheader-group-headers", &config.group_headers},
      {"requestheader-extra-headers-prefix", &config.extra_prefixes}};
  for (const auto& [key, list] : lists) {
    KQ_ASSIGN_OR_RETURN(*list, ListAt(config_map, key));
  }
  if (config.username_headers.empty())
    return absl::InvalidArgumentError("requestheader-username-headers: names no header");
  return config;
}

bool IsProxy(const RequestHeaderConfig& config, const std::string& common_name) {
  if (common_name.empty()) return false;
  return config.allowed_names.empty() ||
         std::find(config.allowed_names.begin(), config.allowed_names.end(), common_name) != config.allowed_names.end();
}

std::optional<User> UserOfHeaders(const RequestHeaderConfig& config, const HttpHeaders& headers) {
  User user;
  user.name = FirstOf(headers, config.username_headers);
  if (user.name.empty()) return std::nullopt;
  user.uid = FirstOf(headers, config.uid_headers);
  for (const auto& [name, value] : headers.fields) {
    for (const std::string& group : config.group_headers) {
      if (absl::EqualsIgnoreCase(name, group)) user.groups.push_back(value);
    }
    for (const std::string& prefix : config.extra_prefixes) {
      if (name.size() <= prefix.size() || !absl::StartsWithIgnoreCase(name, prefix)) continue;
      // Keys are percent-encoded, and letters of header names have no case.
      const std::string key = name.substr(prefix.size());
      user.extra[absl::AsciiStrToLower(PercentDecode(key).value_or(key))].push_back(value);
    }
  }
  return user;
}

}  // namespace kq::visibility
