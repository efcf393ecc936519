#ifndef SERVICES_VISIBILITY_PROXY_AUTHORITY_H_
#define SERVICES_VISIBILITY_PROXY_AUTHORITY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"
#include "services/visibility/authentication.h"

namespace kq::visibility {

// Follows the ConfigMap kube-system/extension-apiserver-authentication: whose client
// certificates are the front proxy's, and in which headers it names the user. The
// authority goes into a file, which the HTTP server reads again for the next
// connection; the rest to the authenticator.
//
// Of a ConfigMap that is malformed or gone the last good one stays in force.
// Thread-safe: Run in one thread, the rest from any.
class ProxyAuthority {
 public:
  // `file` is written; `api`, `clock` and `authenticator` must outlive it.
  ProxyAuthority(std::string file, KubeApi* api, const Clock* clock, Authenticator* authenticator);
  ~ProxyAuthority();

  // An authority that nobody knows, so that a server can be started.
  absl::Status WriteProvisional() const;

  // Until Stop.
  void Run();
  void Stop();

  // OK once a good ConfigMap was seen; else why not. For /readyz.
  absl::Status Health() const;
  // Why a change of it would not be noticed or taken now; OK if it would.
  absl::Status Trouble() const;

 private:
  class Sink;
  const std::string file_;
  const Clock* const clock_;
  const std::unique_ptr<Sink> sink_;
  struct Watch;
  const std::unique_ptr<Watch> watch_;
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_PROXY_AUTHORITY_H_
