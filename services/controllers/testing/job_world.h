#ifndef SERVICES_CONTROLLERS_TESTING_JOB_WORLD_H_
#define SERVICES_CONTROLLERS_TESTING_JOB_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/controllers/job_controller.h"

// A small world around one JobController: an API server in memory, a clock that
// stands still, and everybody else as functions that a test calls: users,
// scheduler, Job controller, kubelet.
namespace kq::controllers {

// JSON with ' for ".
Json FromText(std::string text);

// Passes calls on and notes the writes: "create queueunits ns/a", "patch jobs ns/a",
// "patch queueunits/status ns/a", "delete queueunits ns/a". It can die: at a given
// write, which then takes effect or not, and for all calls after it.
class WatchedApi : public KubeApi {
 public:
  enum class Death { kBeforeWrite, kAfterWrite };

  WatchedApi(std::unique_ptr<KubeApi> api, std::vector<std::string>* writes) : api_(std::move(api)), writes_(writes) {}

  // Dies at the write number `write`, counted from 0.
  void DieAt(int write, Death death) {
    die_at_ = write;
    death_ = death;
  }
  bool dead() const { return dead_; }

  absl::StatusOr<ListPage> List(const ListRequest& request) override;
  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override;
  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override;
  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override;
  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override;
  absl::StatusOr<Json> Patch(const PatchRequest& request) override;
  absl::Status Delete(const DeleteRequest& request) override;

 private:
  // Notes the write; true if it is to be made.
  bool Write(absl::string_view verb, const KubeResource& resource, Subresource subresource, const ObjectKey& key);

  const std::unique_ptr<KubeApi> api_;
  std::vector<std::string>* const writes_;
  int die_at_ = -1, made_ = 0;
  Death death_ = Death::kBeforeWrite;
  bool dead_ = false;
};

struct JobWorldOptions {
  ManageRules rules;
  std::vector<std::string> namespaces;
  absl::Duration report_interval = absl::Seconds(1);
};

class JobWorld {
 public:
  explicit JobWorld(JobWorldOptions options = {});

  // What befalls the calls and watches of processes started from now on.
  FakeFaults process_faults;
  FakeWatchFaults process_watch_faults;

  // The process.
  void Start();  // a new one; the old one, if any, is gone without a word
  void Stop() { controller_.reset(); }
  // Steps until nothing more happens at this time.
  void Settle();
  void Advance(absl::Duration duration);

  // Users. Objects are in namespace "ns"; `more` is merged into the object.
  void CreateJob(const std::string& name, const std::string& more = "{}");
  void PatchJob(const std::string& name, const std::string& patch);
  void DeleteJob(const std::string& name, Propagation propagation = Propagation::kBackground);
  void DeleteUnit(const std::string& name);
  void CollectGarbage() { api_.CollectGarbage(); }

  // The scheduler.
  void Admit(const std::string& name, absl::string_view phase = "Dequeued");
  void PatchUnitStatus(const std::string& name, const std::string& patch);

  // The Job controller and the kubelet. Pods are "<job>-<number>".
  void SetJobStatus(const std::string& name, const std::string& status);
  void CreatePod(const std::string& job, int number, const std::string& phase, const std::string& node = "n1");
  void SetPodPhase(const std::string& job, int number, const std::string& phase);
  void DeletePod(const std::string& job, int number);

  // What is there; null JSON if there is nothing.
  Json Job(const std::string& name) const { return Object(jobs, name); }
  Json Unit(const std::string& name) const { return Object(units, name); }
  bool Suspended(const std::string& name) const;
  std::string Phase(const std::string& name) const;       // "" if there is no unit
  std::string Admissions(const std::string& name) const;  // "a=3/2": replicas, running
  bool HasCondition(const std::string& name, absl::string_view type) const;
  // "Warning RunsWithoutAdmission ns/a"; with the message after ": " in event_texts.
  std::vector<std::string> events, event_texts;
  // Writes of all processes so far.
  std::vector<std::string> writes;
  std::vector<std::string> WritesOf(const std::string& name) const;

  FakeKubeApi& api() { return api_; }
  SimulatedClock& clock() { return clock_; }
  JobController& controller() { return *controller_; }
  WatchedApi& process_api() { return *process_api_; }

  const KubeResource jobs{"batch", "v1", "jobs"};
  const KubeResource units{"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
  const KubeResource pods{"", "v1", "pods"};
  const KubeResource classes{"scheduling.k8s.io", "v1", "priorityclasses"};

 private:
  Json Object(const KubeResource& resource, const std::string& name) const;
  void Patch(const KubeResource& resource, const std::string& name, Subresource subresource, const std::string& patch);

  const JobWorldOptions options_;
  SimulatedClock clock_;
  FakeKubeApi api_;
  const std::unique_ptr<KubeApi> others_;  // without faults
  std::unique_ptr<WatchedApi> process_api_;
  std::unique_ptr<JobController> controller_;
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_TESTING_JOB_WORLD_H_
