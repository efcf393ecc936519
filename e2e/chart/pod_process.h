#ifndef E2E_CHART_POD_PROCESS_H_
#define E2E_CHART_POD_PROCESS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "e2e/support/child_process.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/json.h"

namespace kq::e2e {

// How a container becomes a process here.
struct PodProcessOptions {
  std::string deployment;  // in namespace koord-queue
  std::string container;
  std::string program;                    // "services/scheduler/koord-queue", of the test's data
  std::string pod = {};                   // which of the Deployment's; empty: any one that runs
  std::string scheduler = {};             // the address behind --server
  std::string kubeconfig = {};            // of a proxy before the API server; empty: straight to it
  std::map<std::string, int> ports = {};  // by flag ("bind-address"); others are free ones
  std::vector<std::string> flags = {};    // after those of the Deployment
};

// A container of the chart, run on this machine as the Deployment says and with
// nothing else: its flags with the addresses on loopback, its Secrets and ConfigMaps
// as files, a token of its service account, and the name of the pod that KWOK plays.
// Ended with the object. Not thread-safe.
class PodProcess {
 public:
  // REQUIRES: the Deployment has such a pod, and it runs. The cluster must outlive it.
  PodProcess(TestCluster* cluster, PodProcessOptions options);
  ~PodProcess();

  // With a new token.
  void Start();
  bool Running();
  // What a kubelet does in its time: its Secrets and ConfigMaps, as they are now. All
  // files of a volume change at once, behind a link.
  void RefreshVolumes();
  // SIGTERM; its exit code.
  absl::StatusOr<int> Stop();
  void Kill();  // -9, and waits

  // The port of an address flag ("metrics-bind-address").
  int Port(const std::string& flag) const { return ports_.at(flag); }
  // A GET without TLS: code and body; 0 if there is no answer.
  std::pair<int, std::string> Fetch(const std::string& flag, const std::string& path) const;
  // Of /readyz at its port for metrics.
  bool Ready() const { return Fetch("metrics-bind-address", "/readyz").first == 200; }
  // Whether a scheduler says that it holds the lease.
  bool Leads() const;
  // The file of what it says, this object's own.
  const std::string& log() const { return log_; }
  std::string LogText() const;

  const std::string& pod() const { return pod_; }
  // Where a volume of the container is ("/etc/koord-queue/grpc"); empty if it is none.
  std::string Folder(const std::string& mount) const;

 private:
  void ReadDeployment();
  void MakeVolume(const std::string& volume, const std::string& folder);
  void MakeFiles(const KubeResource& resource, const Json& source, const char* name, const std::string& folder);
  std::string Localized(const std::string& argument);
  std::string WriteKubeconfig() const;

  TestCluster* const cluster_;
  const PodProcessOptions options_;
  std::string folder_;
  Json pod_spec_;
  std::string account_;
  std::string pod_;
  std::string log_;
  std::map<std::string, int> ports_;
  std::map<std::string, std::string> mounts_;  // path in the container: folder here
  int versions_ = 0;                           // of volumes, written so far
  std::vector<std::string> arguments_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace kq::e2e

#endif  // E2E_CHART_POD_PROCESS_H_
