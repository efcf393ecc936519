#ifndef LIBS_API_CODEC_H_
#define LIBS_API_CODEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"
#include "libs/common/json.h"

// JSON objects of the API server <-> the plain values.
//
// Parsing never loses an object: one that cannot be understood comes back with
// what could be read and `invalid` set to the field path and the reason; several
// are joined by "; ", many are counted. Only metadata without a name is an error
// (kInvalidArgument). Of lists that are too long (kMaxPodSets, kMaxAdmissions,
// kMaxConditions, 64 resources) the beginning is read.
//
// Labels with an empty value count as absent. Resource names are canonical
// (requests.nvidia.com/gpu is nvidia.com/gpu); two spellings with different
// amounts are invalid. Fields that are not understood are not looked at, and
// merge patches leave them alone.
namespace kq {

absl::StatusOr<QueueUnit> ParseQueueUnit(const Json& object);
absl::StatusOr<Queue> ParseQueue(const Json& object);
absl::StatusOr<Quota> ParseQuota(const Json& object);

// What one pod of this template will request: container requests, defaulted from
// limits as the API server does it; per resource the larger of the containers'
// sum with all sidecars and each init container with the sidecars before it.
// Pod-level requests (spec.resources) win where they are given, pod-level limits
// count where nothing else is. Overhead comes on top.
// `path` is where the template is, for errors.
absl::StatusOr<Resources> PodRequest(const Json& pod_template, absl::string_view path);

// A ResourceList ({"cpu": "500m"}) as amounts; kInvalidArgument with the field
// path for a value that is no quantity, negative, or more than can be held.
absl::StatusOr<Resources> ParseResourceList(const Json& list, absl::string_view path);
// The reverse: canonical quantities ({"cpu": "500m", "memory": "8Gi"}).
Json ResourceListJson(const Resources& resources);

// The changes to a QueueUnit's status as a merge patch, without metadata. Only
// the fields that are set are in it. Lists are replaced as a whole: they are the
// only place where fields of later versions, inside their entries, are lost. A
// time of InfinitePast takes the field away.
struct UnitStatusChange {
  std::optional<Phase> phase;
  std::optional<std::string> message;
  std::optional<int64_t> attempts;
  std::optional<absl::Time> last_update;
  std::optional<absl::Time> last_allocate;
  std::optional<std::vector<Admission>> admissions;  // the whole list
  std::optional<std::vector<Condition>> conditions;  // the whole list
  std::optional<std::pair<int64_t, int64_t>> pods;   // running, pending
};
Json UnitStatusPatch(const UnitStatusChange& change);

// A Queue object as it is created for a quota.
Json QueueJson(const Queue& queue, const std::vector<std::pair<std::string, std::string>>& annotations,
               absl::string_view parent_quota);

}  // namespace kq

#endif  // LIBS_API_CODEC_H_
