// Any bytes as the ConfigMap of the front proxy and as the headers of a request,
// apart from each other by a line "--": nobody without a name is a proxy, every
// part of a user comes from a header that the ConfigMap names, and the question to
// the API server is valid JSON.
//
//   bazel test --config=fuzz //services/visibility:request_header_fuzz
//   bazel run --config=fuzz //services/visibility:request_header_fuzz -- -max_total_time=60 DIR
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "libs/common/json.h"
#include "libs/http/http.h"
#include "services/visibility/request_header.h"

namespace {

using kq::HttpHeaders;
using kq::Json;
using kq::visibility::RequestHeaderConfig;
using kq::visibility::User;

void Demand(bool condition) {
  if (!condition) std::abort();
}

// "Name:value" lines.
HttpHeaders HeadersOf(absl::string_view text) {
  HttpHeaders headers;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits(':', 1));
    headers.Add(pair.first, pair.second);
  }
  return headers;
}

RequestHeaderConfig Usual() {
  RequestHeaderConfig config;
  config.allowed_names = {"front-proxy-client"};
  config.username_headers = {"X-Remote-User"};
  config.uid_headers = {"X-Remote-Uid"};
  config.group_headers = {"X-Remote-Group"};
  config.extra_prefixes = {"X-Remote-Extra-"};
  return config;
}

bool Sent(const HttpHeaders& headers, absl::string_view prefix, const std::string& value) {
  for (const auto& [name, sent] : headers.fields) {
    if (absl::StartsWithIgnoreCase(name, prefix) && sent == value) return true;
  }
  return false;
}

void CheckUser(const HttpHeaders& headers) {
  const std::optional<User> user = kq::visibility::UserOfHeaders(Usual(), headers);
  if (!user.has_value()) return;
  Demand(!user->name.empty() && Sent(headers, "X-Remote-User", user->name));
  Demand(user->uid.empty() || Sent(headers, "X-Remote-Uid", user->uid));
  for (const std::string& group : user->groups) Demand(Sent(headers, "X-Remote-Group", group));
  Json extra = kq::JsonObject();
  for (const auto& [key, values] : user->extra) {
    for (const std::string& value : values) {
      Demand(Sent(headers, "X-Remote-Extra-", value));
      extra.as_object()[key] = value;
    }
  }
  const Json question = {{"user", user->name}, {"extra", extra}};
  Demand(kq::ParseJson(kq::JsonText(question)).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits("\n--\n", 1));
  const absl::StatusOr<Json> map = kq::ParseJson(parts[0]);
  if (map.ok()) {
    const absl::StatusOr<RequestHeaderConfig> config = kq::visibility::ParseRequestHeaderConfig(*map);
    if (config.ok()) {
      Demand(!config->ca_pem.empty() && !config->username_headers.empty());
      Demand(!kq::visibility::IsProxy(*config, ""));
      for (const std::string& name : config->allowed_names) Demand(name.empty() || IsProxy(*config, name));
      const auto user = kq::visibility::UserOfHeaders(*config, HeadersOf(parts.back()));
      Demand(!user.has_value() || !user->name.empty());
    } else {
      Demand(absl::IsInvalidArgument(config.status()) && !config.status().message().empty());
    }
  }
  CheckUser(HeadersOf(parts.back()));
  return 0;
}
