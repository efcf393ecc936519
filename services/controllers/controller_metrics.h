#ifndef SERVICES_CONTROLLERS_CONTROLLER_METRICS_H_
#define SERVICES_CONTROLLERS_CONTROLLER_METRICS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/common/metrics.h"
#include "services/controllers/job_controller.h"

namespace kq::controllers {

// The metrics of the controllers, under the names that controller-runtime
// gives them, so that dashboards for controllers work:
//
//   controller_runtime_reconcile_total{controller,result}     result: success, error
//   controller_runtime_reconcile_errors_total{controller}
//   controller_runtime_reconcile_time_seconds{controller}
//   workqueue_depth, workqueue_adds_total, workqueue_retries_total{name}
//   workqueue_queue_duration_seconds, workqueue_work_duration_seconds{name}
//   controller_runtime_active_workers, controller_runtime_max_concurrent_reconciles{controller}
//
// and of ours
//
//   koord_queue_controllers_steps_total{controller,step,result}
//   koord_queue_controllers_objects{controller,kind}          known from the watches
//   koord_queue_controllers_watch_events_total, _watch_errors_total, _lists_total{controller}
//   koord_queue_controllers_undecodable_total{controller}
//
// `controller` is the name of an extension. Thread-safe.
class ControllerMetrics {
 public:
  // `registry` must outlive the metrics.
  explicit ControllerMetrics(MetricRegistry* registry);

  // A job waited so long for a worker.
  void OnTaken(const std::string& controller, absl::Duration waited);
  void OnReconcile(const std::string& controller, const absl::Status& result, absl::Duration took);

 private:
  CounterFamily& reconciles_;
  CounterFamily& errors_;
  HistogramFamily& seconds_;
  HistogramFamily& queue_seconds_;
  HistogramFamily& work_seconds_;
};

// What is computed when it is asked for; for MetricRegistry::AddCollector.
void CollectController(const JobController& controller, MetricSink* sink);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_CONTROLLER_METRICS_H_
