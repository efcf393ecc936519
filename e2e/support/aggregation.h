#ifndef E2E_SUPPORT_AGGREGATION_H_
#define E2E_SUPPORT_AGGREGATION_H_

#include "e2e/support/test_cluster.h"

namespace kq::e2e {

// What leads the API server to a koord-queue-visibility on this machine's `port`: the
// Service koord-queue-visibility-server as ExternalName, since the address of a pod
// cannot be loopback, and the APIService, without a caBundle.
void RegisterVisibility(TestCluster* cluster, int port);

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_AGGREGATION_H_
