#ifndef LIBS_KUBE_BEARER_TOKEN_H_
#define LIBS_KUBE_BEARER_TOKEN_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/kube/kubeconfig.h"

namespace kq {

// The token that names us to the API server. One from a file is read again at
// most once a minute, because Kubernetes replaces it before it ends, and at once
// when the server refused it. While the file cannot be read the last token stays.
// Thread-safe.
class BearerToken {
 public:
  // kInvalidArgument: the file cannot be read or what is there is no token.
  // `clock` must outlive the result.
  static absl::StatusOr<std::unique_ptr<BearerToken>> Open(const KubeConnection& connection, const Clock* clock);

  // Empty if the connection has none.
  std::string Current();
  // The server answered 401 to `refused`. True if there is another token by now,
  // so that the call may be made again.
  bool Renew(const std::string& refused);
  // Why the file could not be read the last time; OK if it could.
  absl::Status Health() const;

 private:
  BearerToken(std::string file, const Clock* clock) : file_(std::move(file)), clock_(clock) {}
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string file_;
  const Clock* const clock_;
  mutable Mutex mu_;
  std::string token_ ABSL_GUARDED_BY(mu_);
  absl::Time read_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::Status health_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // LIBS_KUBE_BEARER_TOKEN_H_
