#include "e2e/support/chart_accounts.h"

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "e2e/support/account_kubeconfig.h"
#include "e2e/support/helm.h"
#include "libs/common/yaml.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kSoon = absl::Minutes(1);  // until the API server goes by a new role
constexpr char kRbac[] = "rbac.authorization.k8s.io";
constexpr char kServiceAccount[] = "ServiceAccount";

// What is taken of the chart, by kind.
const std::map<std::string, KubeResource>& Taken() {
  static const auto* const taken =
      new std::map<std::string, KubeResource>{{kServiceAccount, {"", "v1", "serviceaccounts"}},
                                              {"Role", {kRbac, "v1", "roles"}},
                                              {"RoleBinding", {kRbac, "v1", "rolebindings"}},
                                              {"ClusterRole", {kRbac, "v1", "clusterroles"}},
                                              {"ClusterRoleBinding", {kRbac, "v1", "clusterrolebindings"}}};
  return *taken;
}

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(absl::StrCat("chart accounts: ", what)); }

// The last right of a role, as a request.
JsonObject LastRight(const Json& role) {
  const Json& rule = role.at("rules").as_array().back();
  const std::pair<std::string, std::string> resource =
      absl::StrSplit(std::string(rule.at("resources").at(0).as_string()), absl::MaxSplits('/', 1));
  JsonObject request = {{"verb", rule.at("verbs").at(0)},
                        {"group", rule.at("apiGroups").at(0)},
                        {"resource", resource.first},
                        {"subresource", resource.second},
                        {"namespace", KeyOf(role).ns}};
  if (const Json* names = Find(rule, {"resourceNames"})) request["name"] = names->at(0);
  return request;
}

}  // namespace

ChartAccounts::ChartAccounts(TestCluster* cluster, const std::string& ns)
    : ChartAccounts(cluster, ns, {ns, "koord-queue"}) {}

ChartAccounts::ChartAccounts(TestCluster* cluster, const std::string& ns, const ObjectKey& lease)
    : cluster_(cluster), ns_(ns) {
  std::string folder = (std::filesystem::temp_directory_path() / "accounts-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) Fail(absl::StrCat("cannot make ", folder));
  folder_ = folder;
  Render(lease);
  Apply();
  for (const Json& object : objects_) {
    if (StringAt(object, {"kind"}) != kServiceAccount) continue;
    const ObjectKey account = KeyOf(object);
    WriteAccountKubeconfig(*cluster_, account, cluster_->kubeconfig(), absl::StrCat(folder_, "/", account.name));
  }
  for (const auto& [account, request] : Samples()) {
    const bool may = Await(kSoon, [&, &who = account, &what = request] { return MayDo(who, what); });
    if (!may) Fail(absl::StrCat(account, " may not ", JsonText(request)));
  }
}

ChartAccounts::~ChartAccounts() {
  for (const Json& object : objects_) {
    // What is left of it is the next one's to replace.
    cluster_->api().Delete({.resource = Taken().at(StringAt(object, {"kind"})), .key = KeyOf(object)}).IgnoreError();
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void ChartAccounts::Render(const ObjectKey& lease) {
  const HelmAnswer rendered = Helm().Render(
      absl::StrCat("--set controller.enableVisibilityServer=true,debugApi.enabled=true,userRoles.install=false",
                   ",installation.namespace=", ns_, ",controller.leaderElection.leaseNamespace=", lease.ns,
                   ",controller.leaderElection.leaseName=", lease.name,
                   ",extension.leaderElection.leaseName=koord-queue-controllers"));
  if (rendered.code != 0) Fail(rendered.output);
  absl::StatusOr<std::vector<Json>> documents = ParseYamlDocuments(rendered.output);
  if (!documents.ok()) Fail(documents.status().ToString());
  for (Json& document : *documents) {
    if (Taken().contains(StringAt(document, {"kind"}))) objects_.push_back(std::move(document));
  }
}

void ChartAccounts::Apply() const {
  const std::string path = folder_ + "/objects.json";
  std::ofstream(path) << JsonText(
      {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json(JsonArray(objects_.begin(), objects_.end()))}});
  cluster_->Kubectl(absl::StrCat("apply -f ", path));
}

std::vector<std::pair<std::string, JsonObject>> ChartAccounts::Samples() const {
  std::vector<std::pair<std::string, JsonObject>> samples;
  for (const Json& binding : objects_) {
    if (Find(binding, {"roleRef"}) == nullptr) continue;
    for (const Json& role : objects_) {
      if (StringAt(role, {"kind"}) == StringAt(binding, {"roleRef", "kind"}) &&
          KeyOf(role) == ObjectKey{KeyOf(binding).ns, StringAt(binding, {"roleRef", "name"})}) {
        samples.emplace_back(StringAt(binding.at("subjects").at(0), {"name"}), LastRight(role));
      }
    }
  }
  return samples;
}

std::string ChartAccounts::Kubeconfig(const std::string& account, const std::string& through) const {
  std::string path = absl::StrCat(folder_, "/", account);
  if (!std::filesystem::exists(path)) Fail(absl::StrCat("the chart has no account ", account));
  if (through.empty()) return path;
  path += absl::StrReplaceAll(through, {{"/", "-"}});
  WriteAccountKubeconfig(*cluster_, {ns_, account}, through, path);
  return path;
}

bool ChartAccounts::MayDo(const std::string& account, const JsonObject& request) const {
  TestCluster as_account(Kubeconfig(account), TestCluster::Definitions::kLeaveOut);
  const Json review = as_account.Create({"authorization.k8s.io", "v1", "selfsubjectaccessreviews"}, "",
                                        {{"apiVersion", "authorization.k8s.io/v1"},
                                         {"kind", "SelfSubjectAccessReview"},
                                         {"spec", {{"resourceAttributes", request}}}});
  const Json* allowed = Find(review, {"status", "allowed"});
  return allowed != nullptr && allowed->is_bool() && allowed->get_bool();
}

}  // namespace kq::e2e
