#include "libs/process/environment.h"

#include <unistd.h>

#include <cstdlib>

namespace kq {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string MachineName() {
  char name[256] = "";
  if (::gethostname(name, sizeof(name) - 1) != 0) name[0] = '\0';
  return name[0] == '\0' ? "localhost" : name;
}

}  // namespace

Environment ReadEnvironment() {
  Environment environment;
  environment.pod_name = Variable("POD_NAME");
  environment.pod_namespace = Variable("POD_NAMESPACE");
  environment.host = Variable("HOSTNAME");
  if (environment.host.empty()) environment.host = MachineName();
  environment.kubeconfig = Variable("KUBECONFIG");
  environment.service_host = Variable("KUBERNETES_SERVICE_HOST");
  environment.service_port = Variable("KUBERNETES_SERVICE_PORT");
  return environment;
}

}  // namespace kq
