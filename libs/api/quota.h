#ifndef LIBS_API_QUOTA_H_
#define LIBS_API_QUOTA_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/resources.h"

namespace kq {

inline constexpr absl::string_view kRootQuota = "koordinator-root-quota";
inline constexpr absl::string_view kLendLabel = "quota.scheduling.koordinator.sh/allow-lent-resource";

// An ElasticQuota (scheduling.sigs.k8s.io/v1alpha1) as a plain value.
struct Quota {
  ObjectKey key;
  std::string uid;
  uint64_t version = 0;
  absl::Time created = absl::InfinitePast();

  // Bare name of the parent; kRootQuota if the label is absent or empty; empty
  // for the root itself.
  std::string parent;
  Resources min;
  Resources max;      // empty: admits nothing that asks for anything; a resource not named is unlimited
  bool lends = true;  // label allow-lent-resource; absent means true
  // What that label says if it is neither of the two; it lends then, as only "false" means no.
  std::string odd_lends;
  // Label koord-queue/queue-policy (or kube-queue/queue-policy); empty: none.
  std::string queue_policy;
  // Annotations to be copied onto the Queue, in name order.
  std::vector<std::pair<std::string, std::string>> queue_annotations;
  // min and max as spelled on the object, in name order; for people.
  std::vector<std::pair<std::string, std::string>> min_text;
  std::vector<std::pair<std::string, std::string>> max_text;
  std::string invalid;  // as QueueUnit::invalid; an invalid quota admits nothing
  // Fields of the spec that nobody reads ("spec.mx, spec.other; and 3 more"): a slip
  // perhaps, which the definition keeps. They change nothing.
  std::string unknown_fields;

  friend bool operator==(const Quota&, const Quota&) = default;
};

}  // namespace kq

#endif  // LIBS_API_QUOTA_H_
