#include "libs/kube/rest_client_metrics.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace kq {

RestClientMetrics::RestClientMetrics(MetricRegistry* registry)
    : seconds_(registry->AddHistogram("rest_client_request_duration_seconds",
                                      "Request latency in seconds. Broken down by verb, and host.",
                                      {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, {"verb", "host"})),
      requests_(registry->AddCounter("rest_client_requests_total",
                                     "Number of HTTP requests, partitioned by status code, method, and host.",
                                     {"code", "method", "host"})) {}

void RestClientMetrics::Observe(absl::string_view method, absl::string_view host, int code, absl::Duration took) {
  const std::string text = code == 0 ? "<error>" : absl::StrCat(code);
  requests_.Increment({text, method, host});
  seconds_.Observe({method, host}, absl::ToDoubleSeconds(took));
}

}  // namespace kq
