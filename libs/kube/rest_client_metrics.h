#ifndef LIBS_KUBE_REST_CLIENT_METRICS_H_
#define LIBS_KUBE_REST_CLIENT_METRICS_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/metrics.h"

namespace kq {

// The metrics that client-go keeps of its requests to the API server, under its
// names, labels and buckets, so that dashboards and alerts for them go on working:
//
//   rest_client_requests_total{code,method,host}            code: "<error>" if there was no answer
//   rest_client_request_duration_seconds{verb,host}         verb: as the method, "GET"
//
// A watch counts when its stream is opened, as a GET. Thread-safe.
class RestClientMetrics {
 public:
  // `registry` must outlive it.
  explicit RestClientMetrics(MetricRegistry* registry);

  // A request has ended; for HttpKubeApiOptions::observe. `code` is 0 if it got no answer.
  void Observe(absl::string_view method, absl::string_view host, int code, absl::Duration took);

 private:
  HistogramFamily& seconds_;
  CounterFamily& requests_;
};

}  // namespace kq

#endif  // LIBS_KUBE_REST_CLIENT_METRICS_H_
