#include "services/visibility/authorization.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/visibility/discovery.h"

namespace kq::visibility {
namespace {

JsonArray TextArray(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

JsonObject SpecOf(const User& user, const Attributes& attributes) {
  JsonObject spec = {{"user", user.name}, {"groups", TextArray(user.groups)}};
  if (!user.uid.empty()) spec["uid"] = user.uid;
  if (!user.extra.empty()) {
    JsonObject extra;
    for (const auto& [key, values] : user.extra) extra[key] = TextArray(values);
    spec["extra"] = std::move(extra);
  }
  if (attributes.resource.empty()) {
    spec["nonResourceAttributes"] = JsonObject{{"verb", attributes.verb}, {"path", attributes.path}};
    return spec;
  }
  JsonObject resource = {
      {"group", kGroup}, {"version", kVersionName}, {"verb", attributes.verb}, {"resource", attributes.resource}};
  if (!attributes.name.empty()) resource["name"] = attributes.name;
  if (!attributes.subresource.empty()) resource["subresource"] = attributes.subresource;
  spec["resourceAttributes"] = std::move(resource);
  return spec;
}

// The sentence of Kubernetes' own API servers.
std::string Forbidden(const User& user, const Attributes& attributes, const std::string& reason) {
  std::string text;
  if (attributes.resource.empty()) {
    text = absl::StrCat("User \"", user.name, "\" cannot ", attributes.verb, " path \"", attributes.path, "\"");
  } else {
    const std::string resource = attributes.subresource.empty()
                                     ? attributes.resource
                                     : absl::StrCat(attributes.resource, "/", attributes.subresource);
    text = absl::StrCat("User \"", user.name, "\" cannot ", attributes.verb, " resource \"", resource,
                        "\" in API group \"", kGroup, "\" at the cluster scope");
  }
  return reason.empty() ? text : absl::StrCat(text, ": ", reason);
}

}  // namespace

Authorizer::Authorizer(Options options, KubeApi* api, const Clock* clock)
    : api_(api),
      clock_(clock),
      reviewed_(options.cache_limit, options.remember),
      reviews_("subjectaccessreviews", clock) {}

absl::Status Authorizer::Authorize(const User& user, const Attributes& attributes) {
  if (std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end()) return absl::OkStatus();
  JsonObject spec = SpecOf(user, attributes);
  const std::string key = JsonText(Json(spec));
  if (std::optional<absl::Status> known = reviewed_.Find(key, clock_->TimeNow())) return *std::move(known);
  const Json review = {
      {"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", std::move(spec)}};
  const absl::StatusOr<Json> answer = api_->Create({"authorization.k8s.io", "v1", "subjectaccessreviews"}, "", review);
  reviews_.Set(answer.status());
  if (!answer.ok()) return absl::UnavailableError("the API server cannot be asked what you may do");
  const Json* allowed = Find(*answer, {"status", "allowed"});
  const bool may = allowed != nullptr && allowed->is_bool() && allowed->get_bool();
  absl::Status verdict =
      may ? absl::OkStatus()
          : absl::PermissionDeniedError(Forbidden(user, attributes, StringAt(*answer, {"status", "reason"})));
  reviewed_.Put(key, verdict, clock_->TimeNow());
  return verdict;
}

}  // namespace kq::visibility
