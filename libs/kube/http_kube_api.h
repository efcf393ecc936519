#ifndef LIBS_KUBE_HTTP_KUBE_API_H_
#define LIBS_KUBE_HTTP_KUBE_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/http/http_client.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/kubeconfig.h"

namespace kq {

struct HttpKubeApiOptions {
  std::string user_agent;
  absl::Duration timeout = absl::Seconds(30);       // per request, watches excepted
  absl::Duration watch_timeout = absl::Minutes(7);  // asked of the server; the stream then ends and is opened again
  int connections = 32;                             // kept alive
  size_t response_limit_bytes = 256 << 20;
  // Client-side limit, as client-go has it. 0: none; the API server's priority
  // and fairness then decides, by 429 and Retry-After.
  double qps = 0;
  int burst = 0;
  // Called after each request, from its thread: for rest_client_* metrics. `code`
  // is the HTTP status or 0 if there was none; `verb` is an HTTP method.
  std::function<void(absl::string_view verb, absl::string_view host, int code, absl::Duration took)> observe;
};

// The real API server over HTTPS. Thread-safe. Error messages are the server's own, or
// the client's if no answer came; the caller adds what it was doing.
//
// A list's page of which the parser refuses an object comes with it in
// ListPage::broken. A watch asks for bookmarks; it ends by itself after
// watch_timeout and 30 s even if the other end is gone without a word.
absl::StatusOr<std::unique_ptr<KubeApi>> NewHttpKubeApi(const KubeConnection& connection, HttpKubeApiOptions options);

// The outside world of the above, given one by one: for tests.
struct HttpKubeApiParts {
  std::unique_ptr<HttpClient> client;
  const Clock* clock = nullptr;  // outlives the result
};
absl::StatusOr<std::unique_ptr<KubeApi>> NewHttpKubeApi(const KubeConnection& connection, HttpKubeApiOptions options,
                                                        HttpKubeApiParts parts);

}  // namespace kq

#endif  // LIBS_KUBE_HTTP_KUBE_API_H_
