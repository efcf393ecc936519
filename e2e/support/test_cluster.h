#ifndef E2E_SUPPORT_TEST_CLUSTER_H_
#define E2E_SUPPORT_TEST_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

// The real cluster that a test runs on, by default that of KUBECONFIG; kubectl is
// in PATH. Mistakes end the test at once, by an exception that says what was tried.
namespace kq::e2e {

extern const KubeResource kUnits;
extern const KubeResource kQueues;
extern const KubeResource kQuotas;
extern const KubeResource kJobs;
extern const KubeResource kPods;
extern const KubeResource kEvents;
extern const KubeResource kLeases;
extern const KubeResource kNamespaces;

// The kubeconfig of the environment.
std::string EnvironmentKubeconfig();

class TestCluster {
 public:
  enum class Definitions { kInstall, kLeaveOut };
  // Connects, and installs the definitions of deploy/crds and the namespace koord-queue.
  explicit TestCluster(const std::string& kubeconfig = EnvironmentKubeconfig(),
                       Definitions definitions = Definitions::kInstall);

  KubeApi& api() { return *api_; }
  const std::string& kubeconfig() const { return kubeconfig_; }

  void InstallDefinitions();
  // kubectl with this cluster's kubeconfig; what it printed.
  std::string Kubectl(const std::string& arguments) const;

  // A namespace for this test, with its default service account; removed at the end.
  std::string MakeNamespace(const std::string& prefix);
  // All objects of a resource, page by page.
  std::vector<Json> ListAll(const KubeResource& resource, const std::string& ns = "");
  Json Create(const KubeResource& resource, const std::string& ns, const Json& object);
  void DeleteAll(const KubeResource& resource, const std::string& ns);
  // Deletes quotas of one namespace, and the Queues that were made for them.
  void DeleteQuotas(const std::string& ns, const std::vector<std::string>& names);

  ~TestCluster();

 private:
  std::string kubeconfig_;
  std::unique_ptr<KubeApi> api_;
  std::vector<std::string> namespaces_;
};

// Runs a command and returns what it printed; throws if it failed.
std::string Run(const std::string& command);

// Asks until `done` says so; false after `limit`. For what the outside world does
// in its own time.
bool Await(absl::Duration limit, const std::function<bool()>& done);

// A free port on loopback.
int FreePort();

// A file of the test's data ("services/scheduler/koord-queue"), and a place for logs.
std::string DataFile(const std::string& path);
std::string LogFile(const std::string& name);
std::string FileText(const std::string& path);

// How often a phrase is there.
int CountOf(const std::string& text, const std::string& phrase);

// A number from the environment, by which a person makes a test longer.
int FromEnvironment(const char* name, int fallback);

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_TEST_CLUSTER_H_
