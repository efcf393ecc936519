#include "services/controllers/controller_metrics.h"

#include <map>
#include <utility>

namespace kq::controllers {

ControllerMetrics::ControllerMetrics(MetricRegistry* registry)
    : reconciles_(registry->AddCounter("controller_runtime_reconcile_total",
                                       "Total number of reconciliations per controller",
                                       {"controller", {"result", {"success", "error"}}})),
      errors_(registry->AddCounter("controller_runtime_reconcile_errors_total",
                                   "Total number of reconciliation errors per controller", {"controller"})),
      seconds_(registry->AddHistogram(
          "controller_runtime_reconcile_time_seconds", "Length of time per reconciliation per controller",
          {0.000'1, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}, {"controller"})),
      queue_seconds_(registry->AddHistogram("workqueue_queue_duration_seconds",
                                            "How long in seconds an item stays in workqueue before being requested",
                                            ExponentialBounds(1e-8, 10, 12), {"name"})),
      work_seconds_(registry->AddHistogram("workqueue_work_duration_seconds",
                                           "How long in seconds processing an item from workqueue takes.",
                                           ExponentialBounds(1e-8, 10, 12), {"name"})) {}

void ControllerMetrics::OnReconcile(const std::string& controller, const absl::Status& result, absl::Duration took) {
  reconciles_.Increment({controller, result.ok() ? "success" : "error"});
  if (!result.ok()) errors_.Increment({controller});
  seconds_.Observe({controller}, absl::ToDoubleSeconds(took));
  work_seconds_.Observe({controller}, absl::ToDoubleSeconds(took));
}

void ControllerMetrics::OnTaken(const std::string& controller, absl::Duration waited) {
  queue_seconds_.Observe({controller}, absl::ToDoubleSeconds(waited));
}

void CollectController(const JobController& controller, MetricSink* sink) {
  const std::string name = controller.adapter().kind().extension;
  const auto number = [](int64_t value) { return static_cast<double>(value); };

  const WorkQueue::Totals queue = controller.QueueTotals();
  sink->Gauge("workqueue_depth", "Current depth of workqueue", {{"name", name}}, number(queue.ready));
  sink->Gauge("koord_queue_controllers_waiting", "Jobs that are looked at again at a known time",
              {{"controller", name}}, number(queue.waiting));
  sink->Gauge("controller_runtime_active_workers", "Number of currently used workers per controller",
              {{"controller", name}}, number(queue.taken));
  sink->Gauge("controller_runtime_max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller",
              {{"controller", name}}, number(controller.workers()));
  sink->Counter("workqueue_adds_total", "Total number of adds handled by workqueue", {{"name", name}},
                number(queue.adds));
  sink->Counter("workqueue_retries_total", "Total number of retries handled by workqueue", {{"name", name}},
                number(queue.retries));

  const ObjectCache::Sizes sizes = controller.CacheSizes();
  for (const auto& [kind, size] : {std::pair("jobs", sizes.jobs), {"queueunits", sizes.units}, {"pods", sizes.pods}}) {
    sink->Gauge("koord_queue_controllers_objects", "Objects known from the watches",
                {{"controller", name}, {"kind", kind}}, number(size));
  }
  sink->Counter("koord_queue_controllers_undecodable_total", "Objects and events that could not be decoded",
                {{"controller", name}}, number(sizes.broken));

  const Reflector::Counts watches = controller.WatchTotals();
  sink->Counter("koord_queue_controllers_lists_total", "Lists begun", {{"controller", name}}, number(watches.lists));
  sink->Counter("koord_queue_controllers_watch_events_total", "Events of the watches", {{"controller", name}},
                number(watches.events));
  sink->Counter("koord_queue_controllers_watch_errors_total", "Lists and watches that failed", {{"controller", name}},
                number(watches.errors));
  for (const auto& [step, count] : controller.StepCounts()) {
    const std::string text(StepName(step));
    for (const auto& [result, value] :
         {std::pair("made", count.made), {"conflict", count.conflicts}, {"failed", count.failed}}) {
      sink->Counter("koord_queue_controllers_steps_total", "Steps in the life of jobs, by what became of them",
                    {{"controller", name}, {"step", text}, {"result", result}}, number(value));
    }
  }
}

}  // namespace kq::controllers
