#ifndef SERVICES_CONTROLLERS_UNIT_SPEC_H_
#define SERVICES_CONTROLLERS_UNIT_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/api/object_key.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"
#include "services/controllers/job_adapter.h"
#include "services/controllers/plan.h"

// The QueueUnit that belongs to a job: its whole text when it is created, and what
// to change when the job changed. Pure.
namespace kq::controllers {

inline constexpr absl::string_view kUnitApiVersion = "scheduling.x-k8s.io/v1alpha1";
inline constexpr absl::string_view kUnitKind = "QueueUnit";
// On a unit whose job was suspended by its user after the release: spec.active is
// false because of that, and no operator's wish.
inline constexpr absl::string_view kHeldAnnotation = "koord-queue/held";

// On a unit that holds quota: the quota that its job names by now ("none" if it names
// none). It counts once the unit holds nothing any more.
inline constexpr absl::string_view kIgnoredQuotaAnnotation = "koord-queue/ignored-quota";

KubeResource UnitResource();

// The values of the PriorityClasses there are.
struct PriorityValues {
  std::map<std::string, int32_t> by_name;
  std::optional<int32_t> global_default;

  friend bool operator==(const PriorityValues&, const PriorityValues&) = default;
};

// A job's priority: its annotation, else the value of its class, else that of its
// pod template, else the cluster's default. Empty: the unit names none, which
// counts as 0.
std::optional<int32_t> PriorityOf(const Json& job, const PriorityClaim& claim, const PriorityValues& values);

// The unit as it is to be created, without a status: the CRD's default phase is
// Enqueued. `held`: see kHeldAnnotation. kInvalidArgument with the field path on the
// job if the job cannot be priced.
absl::StatusOr<Json> DesiredUnit(const Json& job, const JobAdapter& adapter, const PriorityValues& values, bool held);

// What to change about `unit` so that it says what `desired` says, as a merge patch
// without metadata.resourceVersion and uid; nullopt if nothing.
//
//   spec              as desired; amounts are compared, not their spelling
//   pod templates     while the job is `suspended`; later they cannot change, and
//                     annotations of ours on them never count
//   spec.active       as the job's annotation or the hold says, and unset when they
//                     no longer say anything; else left as it is, because an
//                     operator may have set it
//   labels, annotations
//                     those of the job are added and changed. Others stay, but for a
//                     quota label, and the annotation that is spec.active, that the
//                     job no longer has
//   the quota         of a unit that `holds_quota`, its labels and spec.queue, stays as
//                     it is: nobody gives back what runs by a change of a label. See
//                     kIgnoredQuotaAnnotation
std::optional<Json> UnitPatch(const Json& desired, const Json& unit, bool suspended, bool holds_quota);

// Whose the unit is, seen from the job `uid` of `kind` with this unit name.
// `job_name` is the name of the job, which may be gone (`uid` empty): then the unit of
// any job of this kind and name counts as ours.
Claim ClaimOf(const Json& unit, const JobKind& kind, absl::string_view job_name, absl::string_view uid);

// The name of the job of this kind that the unit is for; empty if there is none.
std::string JobNameOf(const Json& unit, const JobKind& kind);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_UNIT_SPEC_H_
