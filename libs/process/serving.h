#ifndef LIBS_PROCESS_SERVING_H_
#define LIBS_PROCESS_SERVING_H_

#include <vector>

#include "libs/common/metrics.h"
#include "libs/http/health.h"
#include "libs/http/router.h"

// The routes that every process of ours has. What they show must outlive the server.
namespace kq {

// GET /metrics.
std::vector<Route> MetricsRoutes(const MetricRegistry* registry);
// GET /healthz, /livez and /readyz.
std::vector<Route> HealthRoutes(const Health* health);

}  // namespace kq

#endif  // LIBS_PROCESS_SERVING_H_
