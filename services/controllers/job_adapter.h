#ifndef SERVICES_CONTROLLERS_JOB_ADAPTER_H_
#define SERVICES_CONTROLLERS_JOB_ADAPTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/resources.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"
#include "services/controllers/plan.h"

// What the controllers must know of a kind of job, and no more. A new kind is one
// class in adapters/, one line in server.cc and the rows of its table test.
namespace kq::controllers {

struct JobKind {
  std::string extension;  // its name in --enabled-extensions: "job"
  KubeResource resource;
  std::string api_version;  // "batch/v1"
  std::string kind;         // "Job"
  // Narrows the watch of pods to those of jobs of this kind.
  std::string pod_label_selector;
};

// Which jobs are queued that do not ask for it by a quota label.
struct ManageRules {
  bool all_jobs = false;  // --manage-all-jobs
};

// The pods of one job that are not over; those that are being deleted count.
struct PodCounts {
  int64_t running = 0;  // phase Running
  int64_t pending = 0;  // any other phase that is not over
  int64_t bound = 0;    // have a node

  int64_t live() const { return running + pending; }
  friend bool operator==(const PodCounts&, const PodCounts&) = default;
};

// A group of equal pods, priced.
struct PodSetClaim {
  std::string name;
  int64_t count = 0;
  Json pod_template;  // requests defaulted from limits
  Resources per_pod;
};

struct PriorityClaim {
  std::string class_name;
  std::optional<int32_t> value;  // on the pod template
};

// What is written on a job in the patch that un-suspends it.
struct Release {
  ObjectKey unit;
  absl::Time enqueued;  // when the unit was created
  absl::Time now;
};

// An optional capability: a kind with several pod sets says which a pod is of.
class PodGrouping {
 public:
  virtual ~PodGrouping() = default;
  // Empty if the pod belongs to none.
  virtual std::string PodSetOf(const Json& pod) const = 0;
};

// One kind of job. Stateless: the same job gives the same answer. Thread-safe.
//
// Jobs are the API server's objects, whose types it vouches for. Patches are merge
// patches without metadata.resourceVersion and uid; the caller adds them. Each may
// be applied twice.
class JobAdapter {
 public:
  virtual ~JobAdapter() = default;

  virtual const JobKind& kind() const = 0;
  // Name of the unit of the job of this name.
  virtual std::string UnitName(absl::string_view job_name) const = 0;
  // The reverse; empty if no job of this kind can have a unit of this name.
  virtual std::string JobNameOfUnit(absl::string_view unit_name) const = 0;

  // Whether a job that has no unit is to get one: it is suspended, never started,
  // and asks for a quota or is covered by the rules; or it was released by us.
  virtual bool WantsUnit(const Json& job, const ManageRules& rules) const = 0;
  // Never kAbsent.
  virtual JobState State(const Json& job, const PodCounts& pods) const = 0;
  // kInvalidArgument with the field path if it cannot be understood or held.
  virtual absl::StatusOr<std::vector<PodSetClaim>> PodSets(const Json& job) const = 0;
  virtual PriorityClaim Priority(const Json& job) const = 0;

  // The one patch of a release: not suspended, and everything that the original
  // writes on a job and its pod template.
  virtual Json ResumePatch(const Json& job, const Release& release) const = 0;
  // The same without the pod template, which cannot be changed once a job ran.
  virtual Json BareResumePatch(const Json& job, const Release& release) const = 0;
  // Suspended, and the mark of the release taken off.
  virtual Json SuspendPatch(const Json& job) const = 0;

  // Optional; null: all pods are of the first pod set.
  virtual const PodGrouping* pod_grouping() const { return nullptr; }
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_JOB_ADAPTER_H_
