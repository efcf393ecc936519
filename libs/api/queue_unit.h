#ifndef LIBS_API_QUEUE_UNIT_H_
#define LIBS_API_QUEUE_UNIT_H_

#include <cstddef>
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
  Resources resources;  // reserved for the replicas of a pod set; empty if whoever wrote it did not say
  int64_t running = 0;
  std::optional<int64_t> reclaim_replicas;  // reclaimState

  friend bool operator==(const Admission&, const Admission&) = default;
};

// status.message of a unit whose job was suspended by its user; koord-queue leaves it.
inline constexpr absl::string_view kHeldMessage = "Held: the job was suspended by its user";

// The name of the admission of a unit without pod sets.
inline constexpr absl::string_view kDefaultPodSet = "koord-queue/default-requirement";

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  absl::Time last_transition = absl::InfinitePast();
  // Written back as it was read; nothing here looks at it.
  std::optional<int64_t> observed_generation;

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
  Resources request;   // spec.request; counts only where `resource` is empty
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

// The one arithmetic of amounts; charge, check and restart all use it. It never
// gives a negative amount and saturates at the ends of int64.
//
// What the unit still asks for: the sum over its pod sets of (count - admitted) *
// per_pod. More admitted than the count asks for nothing. A unit without pod sets
// asks for spec.resource (where that is empty, spec.request) until it was
// admitted. A finished unit asks for nothing, and so does one that holds its
// quota by its phase alone.
Resources Need(const QueueUnit& unit);
// What the unit holds: the sum over its admissions, in whatever phase (a unit in
// backoff holds them until they are cleared), of the larger of replicas * per_pod
// and the reported resources. An admission of no pod set counts as reported; one
// named kDefaultPodSet stands for the whole of spec.resource. Without admissions
// a phase that holds quota holds spec.resource, any other nothing. A finished unit
// holds nothing.
Resources Held(const QueueUnit& unit);
// Whether any admission grants any replicas.
bool HasAdmission(const QueueUnit& unit);
// What so many replicas of a pod set reserve.
Resources ReservedFor(const PodSet& set, int64_t replicas);
// The admissions after everything the unit still needs is granted: those it has,
// raised to the counts, then those of the other pod sets, with what they reserve.
// Need is nothing after it.
std::vector<Admission> FullAdmissions(const QueueUnit& unit);

// The conditions that belong to `phase`, on top of `existing`: QuotaReserved,
// Admitted, PodsReady, Evicted, Finished. last_transition changes only when a
// status flips. Conditions of other types are kept, as long as all fit into
// kMaxConditions; ours win, for without them no status could be written. `message`
// is the status message: it goes into what says Evicted, Finished or
// SchedulingFailed; the others have fixed texts, so that they do not change while
// a unit waits. Pure; every status writer uses it.
std::vector<Condition> ConditionsFor(Phase phase, const std::vector<Condition>& existing, absl::string_view message,
                                     absl::Time now);
// The conditions of a unit that loses its admission for `reason` ("Deactivated",
// "Preempted", "MaximumExecutionTimeExceeded"): Evicted, and no longer Admitted.
std::vector<Condition> EvictedConditions(absl::string_view reason, const std::vector<Condition>& existing,
                                         absl::string_view message, absl::Time now);

// The limits of the lists, as in the CRD.
inline constexpr size_t kMaxPodSets = 8;
inline constexpr size_t kMaxAdmissions = 32;
inline constexpr size_t kMaxConditions = 8;

}  // namespace kq

#endif  // LIBS_API_QUEUE_UNIT_H_
