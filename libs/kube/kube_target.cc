#include "libs/kube/kube_target.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"
#include "libs/http/http.h"

namespace kq {
namespace {

absl::Status CheckSegment(absl::string_view what, absl::string_view text) {
  if (text.empty() || text == "." || text == ".." || absl::StrContains(text, "/")) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", what));
  }
  return absl::OkStatus();
}

void AddParameter(std::string* target, absl::string_view name, absl::string_view value) {
  if (value.empty()) return;
  absl::StrAppend(target, absl::StrContains(*target, "?") ? "&" : "?", name, "=", PercentEncode(value));
}

}  // namespace

absl::StatusOr<std::string> CollectionTarget(const KubeResource& resource, absl::string_view ns) {
  KQ_RETURN_IF_ERROR(CheckSegment("the version of a resource", resource.version));
  KQ_RETURN_IF_ERROR(CheckSegment("the name of a resource", resource.plural));
  std::string target = resource.group.empty() ? "/api" : absl::StrCat("/apis/", PercentEncode(resource.group));
  absl::StrAppend(&target, "/", PercentEncode(resource.version));
  if (!ns.empty()) {
    KQ_RETURN_IF_ERROR(CheckSegment("the name of a namespace", ns));
    absl::StrAppend(&target, "/namespaces/", PercentEncode(ns));
  }
  absl::StrAppend(&target, "/", PercentEncode(resource.plural));
  return target;
}

absl::StatusOr<std::string> ObjectTarget(const KubeResource& resource, const ObjectKey& key, Subresource subresource) {
  KQ_RETURN_IF_ERROR(CheckSegment("the name of an object", key.name));
  KQ_ASSIGN_OR_RETURN(std::string target, CollectionTarget(resource, key.ns));
  absl::StrAppend(&target, "/", PercentEncode(key.name));
  switch (subresource) {
    case Subresource::kNone:
      break;
    case Subresource::kStatus:
      absl::StrAppend(&target, "/status");
      break;
  }
  return target;
}

absl::StatusOr<std::string> ListTarget(const ListRequest& request) {
  KQ_ASSIGN_OR_RETURN(std::string target, CollectionTarget(request.resource, request.ns));
  AddParameter(&target, "labelSelector", request.label_selector);
  AddParameter(&target, "fieldSelector", request.field_selector);
  if (request.page_size > 0) AddParameter(&target, "limit", absl::StrCat(request.page_size));
  AddParameter(&target, "continue", request.continue_token);
  return target;
}

absl::StatusOr<std::string> WatchTarget(const WatchRequest& request, absl::Duration timeout) {
  KQ_ASSIGN_OR_RETURN(std::string target, CollectionTarget(request.resource, request.ns));
  AddParameter(&target, "watch", "true");
  AddParameter(&target, "allowWatchBookmarks", "true");
  AddParameter(&target, "labelSelector", request.label_selector);
  AddParameter(&target, "fieldSelector", request.field_selector);
  if (request.from_version != 0) AddParameter(&target, "resourceVersion", absl::StrCat(request.from_version));
  AddParameter(&target, "timeoutSeconds", absl::StrCat(std::max<int64_t>(1, absl::ToInt64Seconds(timeout))));
  return target;
}

}  // namespace kq
