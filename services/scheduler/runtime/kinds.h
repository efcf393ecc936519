#ifndef SERVICES_SCHEDULER_RUNTIME_KINDS_H_
#define SERVICES_SCHEDULER_RUNTIME_KINDS_H_

#include "libs/kube/kube_api.h"

// The kinds that the scheduler reads and writes, as the API server names them.
namespace kq::scheduler {

inline constexpr char kQueueingApiVersion[] = "scheduling.x-k8s.io/v1alpha1";
inline constexpr char kQuotaApiVersion[] = "scheduling.sigs.k8s.io/v1alpha1";

inline KubeResource QueueUnits() { return {"scheduling.x-k8s.io", "v1alpha1", "queueunits"}; }
inline KubeResource Queues() { return {"scheduling.x-k8s.io", "v1alpha1", "queues"}; }
inline KubeResource ElasticQuotas() { return {"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"}; }
inline KubeResource Pods() { return {"", "v1", "pods"}; }

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_KINDS_H_
