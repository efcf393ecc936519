#ifndef LIBS_KUBE_KUBECONFIG_H_
#define LIBS_KUBE_KUBECONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kq {

// How to reach one API server and who to be there.
struct KubeConnection {
  std::string server;       // "https://host:port", without a path at the end unless the config has one
  std::string context;      // name of the kubeconfig context; "in-cluster"
  std::string ca_pem;       // empty: the system's authorities
  std::string server_name;  // tls-server-name; empty: the host of `server`
  bool skip_tls_verify = false;
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string token;
  std::string token_file;  // read again when it changes, at most once a minute; wins over `token`
  std::string ns;          // the context's namespace
};

// Reads a kubeconfig file: `context` names one of its contexts, empty means
// current-context. Inline data and files (relative to the kubeconfig) of
// certificate-authority, client-certificate, client-key; token, tokenFile;
// tls-server-name; insecure-skip-tls-verify. exec plug-ins, auth-providers,
// basic auth, impersonation and proxy-url are kUnimplemented with what to do
// instead; every other mistake is kInvalidArgument and names the field.
absl::StatusOr<KubeConnection> LoadKubeconfig(const std::string& path, const std::string& context = "");
absl::StatusOr<KubeConnection> ParseKubeconfig(absl::string_view yaml, const std::string& folder,
                                               const std::string& context = "");

// The service account that Kubernetes mounts into a pod. `host` and `port` are
// KUBERNETES_SERVICE_HOST and _PORT, read by main.
absl::StatusOr<KubeConnection> InClusterConnection(
    const std::string& host, const std::string& port,
    const std::string& mount = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace kq

#endif  // LIBS_KUBE_KUBECONFIG_H_
