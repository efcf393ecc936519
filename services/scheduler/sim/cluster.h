#ifndef SERVICES_SCHEDULER_SIM_CLUSTER_H_
#define SERVICES_SCHEDULER_SIM_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/sim/chance.h"

namespace kq::scheduler {

// Which faults happen. All off: the world is calm and everything must settle.
struct Weather {
  bool faults = true;
  // Users lower quotas below their use, move them in the tree and change what
  // admitted units hold. Off: whatever is above a limit was put there by the
  // scheduler.
  bool users_exceed = false;
};

// The API server of a simulated world, the users who act on it, and what goes
// wrong between it and the scheduler. Single-threaded.
class Cluster {
 public:
  // All must outlive the cluster.
  Cluster(Weather weather, Chance* chance, SimulatedClock* clock);

  // The scheduler's way to the API server, with faults.
  KubeApi* scheduler_api() { return scheduler_api_.get(); }
  FakeKubeApi* server() { return &server_; }
  void Calm() { weather_ = Weather{.faults = false, .users_exceed = false}; }

  // One random act of a user or a controller: units and quotas come, change, go.
  void UserActs();
  // Late writes land, history is compacted, watches are cut.
  void ServerActs();

  // What is on the server now.
  std::vector<QueueUnit> Units() const;
  std::vector<Queue> Queues() const;
  std::vector<Quota> Quotas() const;
  uint64_t version() const { return server_.Version(); }

  // Limits that the server's units exceed, computed from its objects alone. Empty
  // unless the scheduler, or a user who may, put them there.
  std::vector<std::string> ExceededLimits() const;

 private:
  FakeFault FaultFor(const FakeCall& call);
  FakeWatchFault WatchFault();

  void CreateUnit();
  void ChangeUnit(const QueueUnit& unit);
  void ChangeWaitingUnit(const QueueUnit& unit);
  void ChangeHoldingUnit(const QueueUnit& unit);
  void QuotaActs();
  void QueueActs();
  Json UnitSpec() const;
  void PatchUnit(const QueueUnit& unit, const Json& patch, Subresource subresource);
  Json QuotaJson(const std::string& name);

  Weather weather_;
  Chance* const chance_;
  FakeKubeApi server_;
  std::unique_ptr<KubeApi> users_;
  std::unique_ptr<KubeApi> faulty_;
  std::unique_ptr<KubeApi> scheduler_api_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_SIM_CLUSTER_H_
