#ifndef SERVICES_VISIBILITY_AUTHENTICATION_H_
#define SERVICES_VISIBILITY_AUTHENTICATION_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/http/http_server.h"
#include "libs/kube/kube_api.h"
#include "services/visibility/outcome.h"
#include "services/visibility/request_header.h"
#include "services/visibility/ttl_cache.h"

namespace kq::visibility {

// Finds out who asks, as the API servers of Kubernetes do:
//
//   a peer with the front proxy's certificate    the user that its headers name
//   any peer with "Authorization: Bearer ..."    the user that a TokenReview names
//   nobody else                                  headers alone prove nothing
//
// Everyone found is in the group system:authenticated. Tokens are remembered by
// their SHA-256 alone, for a short while, and never logged. Thread-safe.
class Authenticator {
 public:
  struct Options {
    absl::Duration remember = absl::Seconds(10);
    size_t cache_limit = 4096;
  };
  // `api` and `clock` must outlive it. Without a `headers` config yet, no peer is a proxy.
  Authenticator(Options options, KubeApi* api, const Clock* clock);

  // What the API server publishes, when it has changed.
  void SetRequestHeader(RequestHeaderConfig config);

  // kUnauthenticated: nobody, or a bad token. kUnavailable: the API server could not
  // be asked; why not is for the log and `reviews`, not for who asks.
  absl::StatusOr<User> Authenticate(const HttpRequest& request, const HttpPeer& peer);

  // How the last TokenReview went. Its words never hold the token.
  const Outcome& reviews() const { return reviews_; }

 private:
  absl::StatusOr<User> Review(const std::string& token);

  const Options options_;
  KubeApi* const api_;
  const Clock* const clock_;
  TtlCache<absl::StatusOr<User>> reviewed_;
  Outcome reviews_;
  Mutex mu_;
  std::shared_ptr<const RequestHeaderConfig> headers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_AUTHENTICATION_H_
