#ifndef SERVICES_CONTROLLERS_JOB_CONTROLLER_H_
#define SERVICES_CONTROLLERS_JOB_CONTROLLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/reflector.h"
#include "services/controllers/job_adapter.h"
#include "services/controllers/job_reconciler.h"
#include "services/controllers/object_cache.h"
#include "services/controllers/work_queue.h"

namespace kq::controllers {

struct JobControllerOptions {
  ReconcilerOptions reconciler;
  WorkQueueOptions queue;
  std::vector<std::string> namespaces;  // empty: all
  int workers = 20;
  // Called after each look at a job, from the worker's thread; for metrics.
  std::function<void(const absl::Status& result, absl::Duration took)> observe;
};

// All there is for one kind of job: its watches, what they brought, the queue of
// what is to be looked at, and the workers that look.
//
//   StartWatches --> (Synced) --> StartWorkers --> Stop
//
// Nothing is written before everything was listed: half a picture would take
// units for orphans. Instead of the threads, a test steps by hand.
class JobController {
 public:
  // `api` and `clock` must outlive the controller.
  JobController(JobControllerOptions options, std::unique_ptr<JobAdapter> adapter, KubeApi* api, const Clock* clock,
                RecordEvent record);
  ~JobController();  // as Stop(now)

  void StartWatches();
  // REQUIRES: Synced.
  void StartWorkers();
  // Lets what is being written be finished until `deadline`, then ends all threads.
  void Stop(absl::Time deadline);

  // Every kind was listed.
  bool Synced() const;
  // When a worker last came back for more; nullopt before StartWorkers. Those that have nothing to do come
  // back every second, so an old time means that all of them hang.
  std::optional<absl::Time> LastTurn() const;
  // The first watch that does not work, by name; OK if all do.
  absl::Status Health() const;

  // One step of every watch; the longest backoff that one of them asks for.
  absl::Duration StepWatches();
  // Looks at one job, if one is due; false if none was.
  bool StepWork(absl::Duration timeout);

  const JobAdapter& adapter() const { return *adapter_; }
  int workers() const { return options_.workers; }
  WorkQueue::Totals QueueTotals() const { return queue_.Now(); }
  absl::Time NextDue() const { return queue_.NextDue(); }
  ObjectCache::Sizes CacheSizes() const { return cache_.Now(); }
  std::map<Step, JobReconciler::StepCount> StepCounts() const { return reconciler_.Counts(); }
  // The counts of all watches together.
  Reflector::Counts WatchTotals() const;

 private:
  static constexpr int64_t kNoTurn = 0;

  void AddReflector(ObjectCache::Kind kind, ReflectorOptions options);
  void Work();
  void NoteTurn();

  const JobControllerOptions options_;
  const std::unique_ptr<JobAdapter> adapter_;
  KubeApi* const api_;
  const Clock* const clock_;
  WorkQueue queue_;
  ObjectCache cache_;
  JobReconciler reconciler_;
  std::atomic<int64_t> last_turn_nanos_{kNoTurn};
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  std::vector<std::thread> watchers_, workers_;
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_JOB_CONTROLLER_H_
