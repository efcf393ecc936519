#ifndef SERVICES_SCHEDULER_SIM_REPLAYING_API_H_
#define SERVICES_SCHEDULER_SIM_REPLAYING_API_H_

#include <functional>
#include <memory>

#include "libs/kube/kube_api.h"

namespace kq::scheduler {

// An API server whose watches deliver at least once: now and then a stream goes
// back and repeats its last events, in their order, as one does that was opened
// again at a replica that lags behind. `back` is asked before each event how many to repeat.
std::unique_ptr<KubeApi> NewReplayingApi(KubeApi* api, std::function<size_t()> back);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_SIM_REPLAYING_API_H_
