#include "libs/kube/rest_client_metrics.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

TEST_CASE("requests are counted by code, method and host, and timed by verb and host, as client-go does") {
  MetricRegistry registry;
  RestClientMetrics metrics(&registry);
  CHECK(registry.Text().find("rest_client") == std::string::npos);
  metrics.Observe("GET", "127.0.0.1:6443", 200, absl::Milliseconds(50));
  metrics.Observe("GET", "127.0.0.1:6443", 200, absl::Milliseconds(150));
  metrics.Observe("PATCH", "127.0.0.1:6443", 503, absl::Seconds(2));
  metrics.Observe("PATCH", "127.0.0.1:6443", 0, absl::Minutes(2));
  const std::string text = registry.Text();
  for (const char* line :
       {R"(rest_client_requests_total{code="200",host="127.0.0.1:6443",method="GET"} 2)",
        R"(rest_client_requests_total{code="503",host="127.0.0.1:6443",method="PATCH"} 1)",
        R"(rest_client_requests_total{code="<error>",host="127.0.0.1:6443",method="PATCH"} 1)",
        R"(rest_client_request_duration_seconds_bucket{host="127.0.0.1:6443",verb="GET",le="0.1"} 1)",
        R"(rest_client_request_duration_seconds_bucket{host="127.0.0.1:6443",verb="GET",le="0.25"} 2)",
        R"(rest_client_request_duration_seconds_bucket{host="127.0.0.1:6443",verb="PATCH",le="60"} 1)",
        R"(rest_client_request_duration_seconds_bucket{host="127.0.0.1:6443",verb="PATCH",le="+Inf"} 2)"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(text.find("# TYPE rest_client_requests_total counter") != std::string::npos);
  CHECK(text.find("# TYPE rest_client_request_duration_seconds histogram") != std::string::npos);
}

TEST_CASE("the buckets are client-go's") {
  MetricRegistry registry;
  RestClientMetrics(&registry).Observe("GET", "h", 200, absl::ZeroDuration());
  std::string bounds;
  const std::string text = registry.Text();
  for (size_t at = 0; (at = text.find("le=\"", at)) != std::string::npos; ++at) {
    bounds += text.substr(at + 4, text.find('"', at + 4) - at - 4) + " ";
  }
  CHECK(bounds == "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60 +Inf ");
}

}  // namespace
}  // namespace kq
