#include "libs/kube/kube_api.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"

namespace kq {
namespace {

// Where a Status carries Retry-After, as absl::FormatDuration writes it.
constexpr char kRetryAfterUrl[] = "kq.kube/retry-after";

}  // namespace

bool OutcomeUnknown(const absl::Status& status) { return absl::IsDeadlineExceeded(status) || absl::IsUnknown(status); }

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryAfterUrl);
  if (!payload.has_value()) return std::nullopt;
  absl::Duration delay;
  if (!absl::ParseDuration(std::string(*payload), &delay)) return std::nullopt;
  return delay;
}

void SetRetryAfter(absl::Status* status, absl::Duration delay) {
  status->SetPayload(kRetryAfterUrl, absl::Cord(absl::FormatDuration(delay)));
}

ObjectKey KeyOf(const Json& object) {
  return {StringAt(object, {"metadata", "namespace"}), StringAt(object, {"metadata", "name"})};
}

std::string UidOf(const Json& object) { return StringAt(object, {"metadata", "uid"}); }

uint64_t VersionOf(const Json& object) {
  uint64_t version = 0;
  if (!absl::SimpleAtoi(StringAt(object, {"metadata", "resourceVersion"}), &version)) return 0;
  return version;
}

}  // namespace kq
