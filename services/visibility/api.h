#ifndef SERVICES_VISIBILITY_API_H_
#define SERVICES_VISIBILITY_API_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/http/health.h"
#include "libs/http/router.h"
#include "libs/scheduler_client/picture.h"
#include "services/visibility/authentication.h"
#include "services/visibility/authorization.h"

namespace kq::visibility {

struct ApiOptions {
  // Units are shown from no picture older than that; discovery always answers.
  absl::Duration max_picture_age = absl::Seconds(30);
  // So many long answers are sent at once; who is one too many is told to come again.
  int long_answers = 64;
  // Whether requests and answers go to the log (-v=4); see request_log.h.
  std::function<bool()> log_bodies = [] { return false; };
  // Told of every answer: what was asked for ("queues/queueunits", "discovery",
  // "health", "other"), its code, and how long it took up to its first byte.
  std::function<void(absl::string_view what, int code, absl::Duration took)> observe = [](absl::string_view, int,
                                                                                          absl::Duration) {};
};

struct ApiParts {
  const PictureSource* pictures = nullptr;
  Authenticator* authenticator = nullptr;
  Authorizer* authorizer = nullptr;
  const Health* health = nullptr;
  const Clock* clock = nullptr;
};

// The aggregated API: who are you, may you, and then the answer.
//
//   /healthz /livez /readyz                                  for everybody
//   /apis, /apis/G, /apis/G/V, /openapi/v2 and v3, /version  discovery
//   /apis/G/V/queues/{queue}/queueunits                      who waits in a queue
//   /apis/G/V/elasticquotas/{quota}/queueunits               the units of a quota
//   /apis/G/V/queues, /apis/G/V/elasticquotas                405: for discovery alone
//
// Errors are Status objects; they say what is wrong, but name no host of ours: causes
// are for the log and /readyz?verbose. Thread-safe; called by the HTTP server's threads.
class Api {
 public:
  // The parts must outlive it.
  Api(ApiOptions options, ApiParts parts);

  HttpResponse Handle(const HttpRequest& request, const HttpPeer& peer);

 private:
  struct Seen {
    std::string what = "other";  // as `observe` is told
    bool let_in = false;         // we know who asks, and that he may
  };
  HttpResponse Answer(const HttpRequest& request, const HttpPeer& peer, Seen* seen);
  std::vector<Route> Routes();
  HttpResponse Units(const HttpRequest& request, const std::string& queue, const std::string& quota);
  // Takes the answer's place among the long ones, or refuses it.
  HttpResponse Counted(HttpResponse response);

  const ApiOptions options_;
  const ApiParts parts_;
  const std::shared_ptr<std::atomic<int>> long_answers_ = std::make_shared<std::atomic<int>>(0);
  Router router_;
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_API_H_
