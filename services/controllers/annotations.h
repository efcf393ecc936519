#ifndef SERVICES_CONTROLLERS_ANNOTATIONS_H_
#define SERVICES_CONTROLLERS_ANNOTATIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/json.h"

// The labels and annotations by which jobs and units speak to each other and to
// people. All functions are pure; a value that cannot be understood counts as
// absent, as it does in the original.
namespace kq::controllers {

inline constexpr absl::string_view kQuotaLabel = "quota.scheduling.koordinator.sh/name";
inline constexpr absl::string_view kOldQuotaLabel = "alibabacloud.com/quota-name";

// On a job, by its user.
inline constexpr absl::string_view kPriorityAnnotation = "scheduling.x-k8s.io/priority";
inline constexpr absl::string_view kActiveAnnotation = "scheduling.x-k8s.io/active";
inline constexpr absl::string_view kMaxExecutionAnnotation = "scheduling.x-k8s.io/max-exec-time-seconds";

// On a job, by us, in the patch that un-suspends it.
inline constexpr absl::string_view kEnqueuedAnnotation = "koord-queue/job-has-enqueued";
inline constexpr absl::string_view kEnqueueTimeAnnotation = "koord-queue/job-enqueue-timestamp";
inline constexpr absl::string_view kDequeueTimeAnnotation = "koord-queue/job-dequeue-timestamp";

// On the pod template of a job, by us, in the same patch.
inline constexpr absl::string_view kRelatedUnitAnnotation = "koord-queue/related-queueunit";
inline constexpr absl::string_view kRelatedPodSetAnnotation = "koord-queue/related-podset-name";
inline constexpr absl::string_view kRelatedKindAnnotation = "koord-queue/related-apiversion-kind";
inline constexpr absl::string_view kRelatedObjectAnnotation = "koord-queue/related-object";

// Label or annotation of any object; empty if absent.
std::string LabelOf(const Json& object, absl::string_view name);
std::string AnnotationOf(const Json& object, absl::string_view name);

// The quota a job or unit names; empty if none.
std::string QuotaOf(const Json& object);

// int32 as decimal text.
std::optional<int32_t> PriorityOverride(const Json& object);
std::optional<bool> ActiveOverride(const Json& object);
// A positive int32.
std::optional<int32_t> MaxExecutionSeconds(const Json& object);

// The annotations of these three that are there and say nothing that counts, in words for
// people: "annotation KEY: \"abc\" is no whole number of 32 bits". Long values are cut.
std::vector<std::pair<absl::string_view, std::string>> IgnoredAnnotations(const Json& object);

// Go's printed form of a time: "2026-11-29 21:26:16.123456789 +0000 UTC".
std::string GoTimeText(absl::Time time);
// The reverse, in any zone, with or without a fraction and the suffix of Go's
// monotonic clock (" m=+1.23").
std::optional<absl::Time> ParseGoTime(absl::string_view text);

// metadata.creationTimestamp; InfinitePast if absent.
absl::Time CreationTime(const Json& object);

// Whether the job carries the mark of its release. A mark older than the job
// came with a copied manifest and does not count; clocks may differ by a minute.
bool IsMarkedReleased(const Json& job);

// The annotations of a release on the job itself: the mark, and when it was
// enqueued and dequeued.
JsonObject ReleaseAnnotations(absl::Time enqueued, absl::Time now);

// A text of ours as Boost.JSON takes it.
inline boost::json::string_view JsonKey(absl::string_view name) { return {name.data(), name.size()}; }

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_ANNOTATIONS_H_
