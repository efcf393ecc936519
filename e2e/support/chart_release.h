#ifndef E2E_SUPPORT_CHART_RELEASE_H_
#define E2E_SUPPORT_CHART_RELEASE_H_

#include <string>
#include <utility>
#include <vector>

#include "e2e/support/test_cluster.h"

namespace kq::e2e {

// deploy/chart on a test's own cluster, by the real helm. Its pods are played by
// KWOK: their processes are the test's to start. Lasts as long as the cluster.
class ChartRelease {
 public:
  // `values`: what --set takes ("controller.replicas=2,visibility.replicas=0").
  // REQUIRES: the cluster has no definitions of ours yet.
  ChartRelease(const std::string& kubeconfig, const std::string& values);

  // The pods of a Deployment of the chart ("koord-queue") that are ready, by name,
  // each with its address.
  static std::vector<std::pair<std::string, std::string>> ReadyPods(TestCluster* cluster,
                                                                    const std::string& deployment);
  // The ready addresses behind a Service of the chart, as the EndpointSlice controller
  // sees them, in order.
  static std::vector<std::string> Endpoints(TestCluster* cluster, const std::string& service);
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_CHART_RELEASE_H_
