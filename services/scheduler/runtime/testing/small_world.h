#ifndef SERVICES_SCHEDULER_RUNTIME_TESTING_SMALL_WORLD_H_
#define SERVICES_SCHEDULER_RUNTIME_TESTING_SMALL_WORLD_H_

#include <cstdint>
#include <string>

#include "libs/common/json.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/core/event.h"

// Short words for tests: the objects of one team as values, and as JSON on a
// fake API server.
namespace kq::scheduler {

// The kinds of the scheduler, without objects.
void AddKinds(FakeKubeApi* api);

Json QuotaObject(const std::string& name, int cpus);
// A unit of `quota` that asks for `cpus`; no label if `quota` is empty.
Json UnitObject(const std::string& name, const std::string& quota, int cpus);
Json QueueObject(const std::string& name);
Json PodObject(const std::string& ns, const std::string& name);

// The object as it is on the server; null if it is not there.
Json OnServer(const FakeKubeApi& api, const KubeResource& resource, const ObjectKey& key);

// The same as values, as the watch would bring them.
QueueUnit UnitValue(const std::string& name, uint64_t version, int64_t milli_cpu);
Queue QueueValue(const std::string& name, uint64_t version);
Quota QuotaValue(const std::string& name, uint64_t version, int64_t milli_cpu);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_TESTING_SMALL_WORLD_H_
