#include "libs/process/serving.h"

namespace kq {

std::vector<Route> MetricsRoutes(const MetricRegistry* registry) {
  return {{"GET", "/metrics", [registry](const HttpRequest&, const HttpPeer&, const PathCaptures&) {
             HttpResponse response;
             response.headers.Add("Content-Type", MetricRegistry::kContentType);
             response.body = registry->Text();
             return response;
           }}};
}

std::vector<Route> HealthRoutes(const Health* health) {
  const auto answer = [health](const HttpRequest& request, const HttpPeer&, const PathCaptures&) {
    return health->Answer(request.target).value_or(TextResponse(404));
  };
  return {{"GET", "/healthz", answer}, {"GET", "/livez", answer}, {"GET", "/readyz", answer}};
}

}  // namespace kq
