#include "e2e/support/chart_release.h"

#include <algorithm>
#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "e2e/support/helm.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

namespace kq::e2e {
namespace {

constexpr char kNamespace[] = "koord-queue";
const KubeResource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};

bool IsReady(const Json& pod) {
  const Json* conditions = Find(pod, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array() || Find(pod, {"metadata", "deletionTimestamp"}) != nullptr)
    return false;
  const JsonArray& all = conditions->get_array();
  return std::any_of(all.begin(), all.end(), [](const Json& condition) {
    return StringAt(condition, {"type"}) == "Ready" && StringAt(condition, {"status"}) == "True";
  });
}

}  // namespace

ChartRelease::ChartRelease(const std::string& kubeconfig, const std::string& values) {
  Helm(kubeconfig).Install(absl::StrCat("--create-namespace --set '", values, "'"));
}

std::vector<std::pair<std::string, std::string>> ChartRelease::ReadyPods(TestCluster* cluster,
                                                                         const std::string& deployment) {
  std::vector<std::pair<std::string, std::string>> ready;
  for (const Json& pod : cluster->ListAll(kPods, kNamespace)) {
    const std::string address = StringAt(pod, {"status", "podIP"});
    if (StringAt(pod, {"metadata", "labels", "control-plane"}) == deployment && IsReady(pod) && !address.empty())
      ready.emplace_back(KeyOf(pod).name, address);
  }
  std::sort(ready.begin(), ready.end());
  return ready;
}

std::vector<std::string> ChartRelease::Endpoints(TestCluster* cluster, const std::string& service) {
  std::vector<std::string> addresses;
  for (const Json& slice : cluster->ListAll(kEndpointSlices, kNamespace)) {
    if (StringAt(slice, {"metadata", "labels", "kubernetes.io/service-name"}) != service) continue;
    const Json* endpoints = Find(slice, {"endpoints"});
    if (endpoints == nullptr || !endpoints->is_array()) continue;
    for (const Json& endpoint : endpoints->get_array()) {
      const Json* is_ready = Find(endpoint, {"conditions", "ready"});
      if (is_ready == nullptr || !is_ready->is_bool() || !is_ready->get_bool()) continue;
      for (const Json& address : Find(endpoint, {"addresses"})->get_array())
        addresses.emplace_back(address.get_string());
    }
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

}  // namespace kq::e2e
