#include "e2e/support/account_kubeconfig.h"

#include <boost/json.hpp>
#include <fstream>
#include <stdexcept>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/kube/kubeconfig.h"

namespace kq::e2e {

void WriteAccountKubeconfig(const TestCluster& cluster, const ObjectKey& account, const std::string& like,
                            const std::string& path) {
  const absl::StatusOr<KubeConnection> to = LoadKubeconfig(like);
  if (!to.ok()) throw std::runtime_error(to.status().ToString());
  std::string token =
      cluster.Kubectl(absl::StrCat("create token ", account.name, " --namespace=", account.ns, " --duration=24h"));
  absl::StripAsciiWhitespace(&token);
  const Json server = {{"server", to->server}, {"certificate-authority-data", absl::Base64Escape(to->ca_pem)}};
  std::ofstream out(path, std::ios::binary);
  out << JsonText({{"apiVersion", "v1"},
                   {"kind", "Config"},
                   {"clusters", JsonArray{{{"name", "c"}, {"cluster", server}}}},
                   {"users", JsonArray{{{"name", "u"}, {"user", {{"token", token}}}}}},
                   {"contexts", JsonArray{{{"name", "x"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
                   {"current-context", "x"}});
  if (!out.flush()) throw std::runtime_error(absl::StrCat("cannot write ", path));
}

}  // namespace kq::e2e
