#include "e2e/chart/granted.h"

#include <boost/json.hpp>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/json.h"

namespace kq::e2e {
namespace {

constexpr char kNamespace[] = "koord-queue";

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

}  // namespace

std::string Action::ToString() const {
  return absl::StrCat(verb, " ", group.empty() ? "" : absl::StrCat(group, "/"), resource, name.empty() ? "" : " ", name,
                      ns.empty() ? "" : " in ", ns);
}

std::set<Action> GrantedTo(TestCluster* cluster, const std::string& account) {
  const std::string group = "rbac.authorization.k8s.io";
  std::set<Action> granted;
  for (const char* kind : {"rolebindings", "clusterrolebindings"}) {
    for (const Json& binding : cluster->ListAll({group, "v1", kind})) {
      if (!IsBoundTo(binding, account)) continue;
      const bool everywhere = StringAt(binding, {"roleRef", "kind"}) == "ClusterRole";
      const std::string ns = StringAt(binding, {"metadata", "namespace"});
      const absl::StatusOr<Json> role =
          cluster->api().Get({group, "v1", everywhere ? "clusterroles" : "roles"},
                             {everywhere ? "" : ns, StringAt(binding, {"roleRef", "name"})});
      if (!role.ok()) continue;  // a binding to nothing grants nothing
      for (const Json& rule : role->at("rules").as_array()) AddRule(rule, ns, &granted);
    }
  }
  return granted;
}

Requests RequestsOf(const std::string& audit_log, const std::string& account) {
  const std::string user = absl::StrCat("system:serviceaccount:", kNamespace, ":", account);
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

}  // namespace kq::e2e
