#ifndef SERVICES_VISIBILITY_AUTHORIZATION_H_
#define SERVICES_VISIBILITY_AUTHORIZATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "services/visibility/outcome.h"
#include "services/visibility/request_header.h"
#include "services/visibility/ttl_cache.h"

namespace kq::visibility {

// What is asked for. A resource of this group, or, with an empty resource, a path.
struct Attributes {
  std::string verb;  // "get"
  std::string resource, name, subresource;
  std::string path;
};

// May this user do that? The API server decides, by SubjectAccessReview; its answers
// are remembered for a short while. system:masters may do everything, as anywhere
// in Kubernetes. Thread-safe.
class Authorizer {
 public:
  struct Options {
    absl::Duration remember = absl::Seconds(10);
    size_t cache_limit = 4096;
  };
  // `api` and `clock` must outlive it.
  Authorizer(Options options, KubeApi* api, const Clock* clock);

  // OK: allowed. kPermissionDenied with a sentence for people. kUnavailable: the API
  // server could not be asked; why not is for the log and `reviews`, not for who asks.
  absl::Status Authorize(const User& user, const Attributes& attributes);

  // How the last SubjectAccessReview went.
  const Outcome& reviews() const { return reviews_; }

 private:
  KubeApi* const api_;
  const Clock* const clock_;
  TtlCache<absl::Status> reviewed_;
  Outcome reviews_;
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_AUTHORIZATION_H_
