#ifndef E2E_FAULT_PROXY_FAULT_PROXY_H_
#define E2E_FAULT_PROXY_FAULT_PROXY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "e2e/fault_proxy/fault_rules.h"
#include "e2e/fault_proxy/kube_request.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/http/http.h"
#include "libs/http/http_client.h"

namespace kq {

struct FaultProxyOptions {
  absl::Duration timeout = absl::Minutes(1);            // for an answer of the API server, watches excepted
  absl::Duration watch_turn = absl::Milliseconds(200);  // how long a watch waits for bytes before it looks around
};

// Stands before an API server and does to its clients what networks and busy
// servers do. Forwards every request with its Authorization as it came, so that
// the server sees the client's rights; a client certificate cannot pass.
//
//   GET /fault-proxy/stats   what happened so far, as JSON
//   PUT /fault-proxy/rules   new rules (fault_rules.h); counts and the request number start again
//
// An API server that cannot be reached is answered 503 "not ready", since nothing
// was done; one that breaks off is passed on as a closed connection.
// Thread-safe: Handle is called from the server's threads.
class FaultProxy {
 public:
  // `upstream` and `clock` must outlive the proxy and the answers it gave.
  FaultProxy(FaultProxyOptions options, std::unique_ptr<FaultRules> rules, HttpClient* upstream, const Clock* clock);

  HttpResponse Handle(const HttpRequest& request);

  // {"seed", "requests", "forwarded", "upstreamErrors", "faults": {"lose-answer": N, ...}, "rules": [...]}
  std::string StatsText() const;

 private:
  // The faults for one request, taken together.
  struct Plan {
    absl::Duration before, after;
    Fault fault;
    bool strikes = false;  // `fault` counts
    bool Is(Fault::Kind kind) const { return strikes && fault.kind == kind; }
  };

  HttpResponse Own(const HttpRequest& request);
  HttpResponse ReplaceRules(const HttpRequest& request);
  Plan PlanFor(const KubeRequest& request);
  HttpResponse Forward(const HttpRequest& request);
  HttpResponse ForwardWatch(const HttpRequest& request, const Plan& plan);
  HttpResponse UpstreamFailed(const absl::Status& why);
  void CountForwarded();

  const FaultProxyOptions options_;
  HttpClient* const upstream_;
  const Clock* const clock_;

  mutable Mutex mu_;
  std::shared_ptr<FaultRules> rules_ ABSL_GUARDED_BY(mu_);
  int64_t requests_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t forwarded_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t upstream_errors_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, int64_t> faults_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq

#endif  // E2E_FAULT_PROXY_FAULT_PROXY_H_
