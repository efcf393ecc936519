#ifndef LIBS_PROCESS_ENVIRONMENT_H_
#define LIBS_PROCESS_ENVIRONMENT_H_

#include <string>

namespace kq {

// What surrounds a process. Read by main alone; everything below gets it as a value.
struct Environment {
  std::string pod_name;       // POD_NAME
  std::string pod_namespace;  // POD_NAMESPACE
  std::string host;           // HOSTNAME, or the machine's name
  std::string kubeconfig;     // KUBECONFIG; counts where no flag is given
  // KUBERNETES_SERVICE_HOST and _PORT, inside a pod.
  std::string service_host;
  std::string service_port;

  // The name under which others know this process: the pod's, else the host's.
  const std::string& Name() const { return pod_name.empty() ? host : pod_name; }
};

Environment ReadEnvironment();

}  // namespace kq

#endif  // LIBS_PROCESS_ENVIRONMENT_H_
