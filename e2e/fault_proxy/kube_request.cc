#include "e2e/fault_proxy/kube_request.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/http/http.h"

namespace kq {
namespace {

bool IsWatch(absl::string_view target) {
  for (const auto& [key, value] : TargetQuery(target)) {
    if (key == "watch") return value != "false" && value != "0";
  }
  return false;
}

std::string VerbOf(absl::string_view method, absl::string_view target, bool collection) {
  if (method == "GET" || method == "HEAD") {
    if (IsWatch(target)) return "watch";
    return collection ? "list" : "get";
  }
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return collection ? "deletecollection" : "delete";
  return std::string(method);
}

}  // namespace

std::optional<KubeRequest> ParseKubeRequest(absl::string_view method, absl::string_view target) {
  std::vector<std::string> parts;
  for (const absl::string_view part : absl::StrSplit(TargetPath(target), '/', absl::SkipEmpty())) {
    parts.push_back(PercentDecode(part).value_or(std::string(part)));
  }
  // /api/VERSION/... or /apis/GROUP/VERSION/...
  const bool core = !parts.empty() && parts[0] == "api";
  const size_t root = core ? 2 : 3;
  if (parts.size() <= root || (!core && parts[0] != "apis")) return std::nullopt;
  const std::string group = core ? "" : parts[1];
  parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(root));

  KubeRequest out;
  // A namespace is an object itself; anything below it but its own subresources is in it.
  const bool own = parts.size() <= 2 || (parts.size() == 3 && (parts[2] == "status" || parts[2] == "finalize"));
  if (parts[0] == "namespaces" && !own) {
    out.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  out.resource = group.empty() ? parts[0] : absl::StrCat(parts[0], ".", group);
  if (parts.size() > 1) out.name = parts[1];
  if (parts.size() > 2) absl::StrAppend(&out.resource, "/", parts[2]);
  out.verb = VerbOf(method, target, out.name.empty());
  return out;
}

}  // namespace kq
