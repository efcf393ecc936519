#include "e2e/chart/granted.h"

#include <boost/json.hpp>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr char kNamespace[] = "koord-queue";
constexpr char kRbac[] = "rbac.authorization.k8s.io";

std::string UserName(const std::string& account) {
  return absl::StrCat("system:serviceaccount:", kNamespace, ":", account);
}

std::vector<std::string> Texts(const Json& rule, absl::string_view field) {
  std::vector<std::string> texts;
  if (const Json* list = Find(rule, {field})) {
    for (const Json& one : list->as_array()) texts.emplace_back(one.as_string());
  }
  return texts;
}

void AddRule(const Json& rule, const std::string& ns, std::set<Action>* actions) {
  std::vector<std::string> names = Texts(rule, "resourceNames");
  if (names.empty()) names.emplace_back();
  for (const std::string& group : Texts(rule, "apiGroups")) {
    for (const std::string& resource : Texts(rule, "resources")) {
      for (const std::string& verb : Texts(rule, "verbs")) {
        for (const std::string& name : names) actions->insert({verb, group, resource, ns, name});
      }
    }
  }
}

bool IsBoundTo(const Json& binding, const std::string& account) {
  const Json* subjects = Find(binding, {"subjects"});
  if (subjects == nullptr) return false;
  for (const Json& subject : subjects->as_array()) {
    if (StringAt(subject, {"kind"}) == "ServiceAccount" && StringAt(subject, {"name"}) == account &&
        StringAt(subject, {"namespace"}) == kNamespace) {
      return true;
    }
  }
  return false;
}

void WriteRules(TestCluster* cluster, const BoundRole& role, Json rules) {
  const absl::StatusOr<Json> written =
      cluster->api().Patch({.resource = role.kind, .key = role.key, .patch = {{"rules", std::move(rules)}}});
  if (!written.ok()) throw std::runtime_error(absl::StrCat(role.key.name, ": ", written.status().ToString()));
}

}  // namespace

std::string Action::ToString() const {
  return absl::StrCat(verb, " ", group.empty() ? "" : absl::StrCat(group, "/"), resource, name.empty() ? "" : " ", name,
                      ns.empty() ? "" : " in ", ns);
}

std::vector<BoundRole> RolesOf(TestCluster* cluster, const std::string& account) {
  std::vector<BoundRole> roles;
  for (const char* kind : {"rolebindings", "clusterrolebindings"}) {
    for (const Json& binding : cluster->ListAll({kRbac, "v1", kind})) {
      if (!IsBoundTo(binding, account)) continue;
      const bool everywhere = StringAt(binding, {"roleRef", "kind"}) == "ClusterRole";
      const std::string ns = StringAt(binding, {"metadata", "namespace"});
      BoundRole role;
      role.kind = {kRbac, "v1", everywhere ? "clusterroles" : "roles"};
      role.key = {everywhere ? "" : ns, StringAt(binding, {"roleRef", "name"})};
      const absl::StatusOr<Json> object = cluster->api().Get(role.kind, role.key);
      if (!object.ok()) continue;  // a binding to nothing grants nothing
      role.rules = object->at("rules");
      for (const Json& rule : role.rules.as_array()) AddRule(rule, ns, &role.actions);
      roles.push_back(std::move(role));
    }
  }
  return roles;
}

std::set<Action> GrantedBy(const std::vector<BoundRole>& roles) {
  std::set<Action> granted;
  for (const BoundRole& role : roles) granted.insert(role.actions.begin(), role.actions.end());
  return granted;
}

void TakeAway(TestCluster* cluster, const BoundRole& role, const Action& action) {
  JsonArray rules;
  for (const Action& one : role.actions) {
    if (one == action) continue;
    JsonObject rule = {{"verbs", JsonArray{Json(one.verb)}},
                       {"apiGroups", JsonArray{Json(one.group)}},
                       {"resources", JsonArray{Json(one.resource)}}};
    if (!one.name.empty()) rule["resourceNames"] = JsonArray{Json(one.name)};
    rules.push_back(std::move(rule));
  }
  WriteRules(cluster, role, std::move(rules));
}

void GiveBack(TestCluster* cluster, const BoundRole& role) { WriteRules(cluster, role, role.rules); }

Requests RequestsOf(const std::string& audit_log, const std::string& account) {
  const std::string user = UserName(account);
  Requests requests;
  std::ifstream in(audit_log);
  for (std::string line; std::getline(in, line);) {
    if (!absl::StrContains(line, absl::StrCat("\"username\":\"", user, "\""))) continue;
    const absl::StatusOr<Json> event = ParseJson(line);
    if (!event.ok()) continue;  // the last line, half written
    const Json* code = Find(*event, {"responseStatus", "code"});
    if (code != nullptr && (*code == 401 || *code == 403)) {
      requests.refused.push_back(
          absl::StrCat(StringAt(*event, {"verb"}), " ", StringAt(*event, {"requestURI"}), ": ", JsonText(*code)));
      continue;
    }
    std::string resource = StringAt(*event, {"objectRef", "resource"});
    if (resource.empty()) continue;
    const std::string subresource = StringAt(*event, {"objectRef", "subresource"});
    if (!subresource.empty()) absl::StrAppend(&resource, "/", subresource);
    requests.made.insert({StringAt(*event, {"verb"}), StringAt(*event, {"objectRef", "apiGroup"}), resource,
                          StringAt(*event, {"objectRef", "namespace"}), StringAt(*event, {"objectRef", "name"})});
  }
  return requests;
}

bool Covers(const Action& granted, const Action& request) {
  return granted.verb == request.verb && granted.group == request.group && granted.resource == request.resource &&
         (granted.ns.empty() || granted.ns == request.ns) && (granted.name.empty() || granted.name == request.name);
}

bool MayDo(TestCluster* cluster, const std::string& account, const Action& request) {
  const std::pair<std::string, std::string> resource = absl::StrSplit(request.resource, absl::MaxSplits('/', 1));
  const JsonObject attributes = {{"verb", request.verb},       {"group", request.group},
                                 {"resource", resource.first}, {"subresource", resource.second},
                                 {"namespace", request.ns},    {"name", request.name}};
  const JsonArray groups = {"system:serviceaccounts", Json(absl::StrCat("system:serviceaccounts:", kNamespace)),
                            "system:authenticated"};
  const absl::StatusOr<Json> review = cluster->api().Create(
      {"authorization.k8s.io", "v1", "subjectaccessreviews"}, "",
      {{"apiVersion", "authorization.k8s.io/v1"},
       {"kind", "SubjectAccessReview"},
       {"spec", {{"user", UserName(account)}, {"groups", groups}, {"resourceAttributes", attributes}}}});
  if (!review.ok()) throw std::runtime_error(review.status().ToString());
  const Json* allowed = Find(*review, {"status", "allowed"});
  return allowed != nullptr && allowed->is_bool() && allowed->get_bool();
}

}  // namespace kq::e2e
