#ifndef LIBS_API_QUEUE_UNIT_H_
#define LIBS_API_QUEUE_UNIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/resources.h"

// A QueueUnit (scheduling.x-k8s.io/v1alpha1) as a plain value: one job's claim
// to resources. Amounts are int64: cpu in milli, everything else in base units,
// rounded up. What the scheduler does not need is not here: pod templates are
// opaque and stay on the server.
namespace kq {

// status.phase. kUnset is the empty string, which counts as kEnqueued.
enum class Phase {
  kUnset,
  kEnqueued,
  kReserved,
  kDequeued,
  kRunning,
  kSucceed,
  kFailed,
  kSchedReady,
  kSchedSucceed,
  kSchedFailed,
  kTimeoutBackoff,
  kPreempted,  // historic; counts as kEnqueued
};

absl::string_view PhaseName(Phase phase);  // "Enqueued"; "" for kUnset
std::optional<Phase> PhaseFromName(absl::string_view name);

// Enqueued, unset or Preempted: the unit waits for admission.
bool IsWaiting(Phase phase);
// Succeed or Failed: over for good.
bool IsFinished(Phase phase);
// Reserved, Dequeued, Running, SchedReady or SchedSucceed: the unit holds quota
// even if it names no admissions (units of older versions).
bool HoldsQuota(Phase phase);

struct PodSet {
  std::string name;
  int64_t count = 1;
  Resources per_pod;  // what one pod will request: requests, sidecars, init containers, overhead

  friend bool operator==(const PodSet&, const PodSet&) = default;
};

struct Admission {
  std::string name;  // of a pod set, or kDefaultPodSet
  int64_t replicas = 0;
  Resources resources;  // as reported for the running pods; may be empty
  int64_t running = 0;
  std::optional<int64_t> reclaim_replicas;  // reclaimState

  friend bool operator==(const Admission&, const Admission&) = default;
};

// The name of the admission of a unit without pod sets.
inline constexpr absl::string_view kDefaultPodSet = "koord-queue/default-requirement";

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  absl::Time last_transition = absl::InfinitePast();

  friend bool operator==(const Condition&, const Condition&) = default;
};

// metav1.ObjectReference, as far as it is used: the job behind the unit.
struct ConsumerRef {
  std::string api_version;
  std::string kind;
  ObjectKey key;
  std::string uid;

  friend bool operator==(const ConsumerRef&, const ConsumerRef&) = default;
};

struct QueueUnit {
  ObjectKey key;
  std::string uid;
  uint64_t version = 0;  // metadata.resourceVersion; never goes back
  absl::Time created = absl::InfinitePast();

  // The quota label (quota.scheduling.koordinator.sh/name, else
  // alibabacloud.com/quota-name); empty: none.
  std::string quota;
  ConsumerRef consumer;
  int32_t priority = 0;
  std::string priority_class;
  std::string queue;   // spec.queue, as set at creation
  Resources resource;  // spec.resource
  // spec.request and spec.resource as spelled on the object ("8Gi"), in name order; for people.
  std::vector<std::pair<std::string, std::string>> request_text;
  std::vector<std::pair<std::string, std::string>> resource_text;
  std::vector<PodSet> pod_sets;
  bool active = true;

  Phase phase = Phase::kUnset;
  int64_t attempts = 0;
  std::string message;
  absl::Time last_update = absl::InfinitePast();
  absl::Time last_allocate = absl::InfinitePast();
  int64_t pods_running = 0, pods_pending = 0;  // status.podState
  std::vector<Admission> admissions;
  std::vector<Condition> conditions;

  // Not empty: the object could not be understood; the field path and what is
  // wrong with it ("spec.resource.cpu: ..."). Such a unit is shown and charged as
  // far as it could be read, and never tried.
  std::string invalid;

  friend bool operator==(const QueueUnit&, const QueueUnit&) = default;
};

// The one arithmetic of amounts; charge, check and restart all use it.
//
// What the unit still asks for: the sum over its pod sets of (count - admitted) *
// per_pod; without pod sets spec.resource, or nothing once it was admitted.
Resources Need(const QueueUnit& unit);
// What the unit holds by its phase and admissions: nothing when finished or never
// admitted; by admission the larger of replicas * per_pod and the reported
// resources; spec.resource for a phase that holds quota without admissions.
Resources Held(const QueueUnit& unit);
// The admissions after everything the unit still needs is granted.
std::vector<Admission> FullAdmissions(const QueueUnit& unit);

// The conditions that belong to `phase`, on top of `existing`: QuotaReserved,
// Admitted, PodsReady, Evicted, Finished. last_transition changes only when a
// status flips. Pure; every status writer uses it.
std::vector<Condition> ConditionsFor(Phase phase, const std::vector<Condition>& existing, absl::string_view message,
                                     absl::Time now);

}  // namespace kq

#endif  // LIBS_API_QUEUE_UNIT_H_
