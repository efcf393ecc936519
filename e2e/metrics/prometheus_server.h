#ifndef E2E_METRICS_PROMETHEUS_SERVER_H_
#define E2E_METRICS_PROMETHEUS_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "e2e/support/child_process.h"
#include "libs/common/json.h"
#include "libs/http/http_client.h"

namespace kq::e2e {

// What of the shipped configuration is scraped where: "127.0.0.1:10259", and the
// ports that stand for it here.
struct ScrapeTarget {
  std::string shipped;
  std::vector<int> ports;
};

// A real Prometheus with the configuration and the alerts of deploy/prometheus,
// scraping each second. Ends with the object, and its data with it. Not thread-safe.
class PrometheusServer {
 public:
  explicit PrometheusServer(const std::vector<ScrapeTarget>& targets);
  ~PrometheusServer();

  std::string url() const;
  // What /api/v1/PATH answers with as its data; throws if it answers with an error.
  Json Ask(const std::string& path) const;
  // The series that match, each as its labels, of the whole time since the start.
  std::vector<JsonObject> Series(const std::string& selector) const;
  // The value of a query that gives one; NaN if it gives none.
  double Value(const std::string& query) const;

 private:
  std::string folder_;
  int port_ = 0;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<HttpClient> http_;
};

}  // namespace kq::e2e

#endif  // E2E_METRICS_PROMETHEUS_SERVER_H_
