#ifndef LIBS_HTTP_HEALTH_H_
#define LIBS_HTTP_HEALTH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "libs/http/http.h"

namespace kq {

// What a check found.
struct HealthState {
  absl::Status status;
  std::string note;  // shown beside an "ok" in the verbose answer
};

// The answers of /livez, /healthz (the same under its older name) and /readyz, in
// the form of Kubernetes' own components:
//
//   GET /readyz           200 "ok", or 503 with the verbose text
//   GET /readyz?verbose   [+]ping ok
//                         [-]cluster failed: waiting for CRD queues.scheduling.x-k8s.io
//                         readyz check failed
//
// `exclude=NAME` leaves a check out. Checks are added before the first answer and
// must be callable from any thread, at any time, quickly. Thread-safe after that.
class Health {
 public:
  using Check = std::function<HealthState()>;

  // Live: without it the process is to be restarted. Ready: it can do its work.
  void AddLive(std::string name, Check check) { live_.push_back({std::move(name), std::move(check)}); }
  void AddReady(std::string name, Check check) { ready_.push_back({std::move(name), std::move(check)}); }

  // nullopt if the target is not one of the three paths.
  std::optional<HttpResponse> Answer(absl::string_view target) const;

  // OK if every ready check is.
  absl::Status Ready() const;

 private:
  struct Named {
    std::string name;
    Check check;
  };
  static HttpResponse Run(const std::string& path, const std::vector<Named>& checks, absl::string_view target);

  std::vector<Named> live_;
  std::vector<Named> ready_;
};

}  // namespace kq

#endif  // LIBS_HTTP_HEALTH_H_
