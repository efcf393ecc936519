#ifndef E2E_SUPPORT_OWN_CLUSTER_H_
#define E2E_SUPPORT_OWN_CLUSTER_H_

#include <string>

namespace kq::e2e {

// A cluster for one test alone, whose API server it may kill. Taken down and removed when the object dies, and also
// when the test is killed.
class OwnCluster {
 public:
  // `without`: parts to leave out ("kwok kube-scheduler").
  explicit OwnCluster(const std::string& without = "");
  ~OwnCluster();

  // Cluster admin.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // Its folder: pki/, logs/.
  const std::string& state() const { return state_; }
  // kill -9. The other parts go on.
  void KillApiServer() const;
  // Over the same data; returns when it is ready.
  void StartApiServer() const;

 private:
  void Up() const;
  void Down() const;

  std::string state_;
  std::string environment_;  // of cluster/up
  std::string kubeconfig_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_OWN_CLUSTER_H_
