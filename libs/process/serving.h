#ifndef LIBS_PROCESS_SERVING_H_
#define LIBS_PROCESS_SERVING_H_

#include <string>
#include <vector>

#include "libs/common/metrics.h"
#include "libs/http/health.h"
#include "libs/http/http_server.h"
#include "libs/http/router.h"

// The routes that every process of ours has. What they show must outlive the server.
namespace kq {

// GET /metrics.
std::vector<Route> MetricsRoutes(const MetricRegistry* registry);
// GET /healthz, /livez and /readyz.
std::vector<Route> HealthRoutes(const Health* health);

// What a server has met with, as koord_queue_http_*{listener="..."}. Both must live
// as long as the registry is asked.
void AddHttpServerMetrics(MetricRegistry* registry, std::string listener, const HttpServer* server);

}  // namespace kq

#endif  // LIBS_PROCESS_SERVING_H_
