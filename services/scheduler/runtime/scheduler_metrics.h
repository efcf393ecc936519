#ifndef SERVICES_SCHEDULER_RUNTIME_SCHEDULER_METRICS_H_
#define SERVICES_SCHEDULER_RUNTIME_SCHEDULER_METRICS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "libs/common/metrics.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/runtime/snapshot_publisher.h"
#include "services/scheduler/runtime/turn.h"

namespace kq::scheduler {

// The metrics of the original, under its names, labels and buckets, so that its
// dashboard goes on working; and koord_queue_* about the process itself.
//
// What describes queues, quotas and units comes from the leader alone, so that
// sums over replicas count everything once: gauges are computed from the newest
// snapshot at each scrape, and series of what is gone vanish with it.
//
// OnEvent, OnAdmitted and OnTurn from the decision thread, the rest from any.
class SchedulerMetrics : public TurnObserver {
 public:
  // `registry` and `publisher` must outlive it; it must outlive the registry's
  // last Text. `leads`: whether this process leads, from any thread.
  SchedulerMetrics(MetricRegistry* registry, const SnapshotPublisher* publisher, std::function<bool()> leads);

  void OnEvent(const Event& event) override;
  void OnTurn(const Turn& turn, const TurnTimes& times, const std::vector<Core::AskCount>& asks) override;

  void OnAdmitted(absl::Time since, absl::Time now) override;

 private:
  // What is known of the units of a namespace.
  struct Namespace {
    int64_t units = 0;
    absl::Time empty_since = absl::InfinitePast();  // if there are none
  };

  void Came(const QueueUnit& unit);
  void Went(const UnitRemoved& removed);
  // Takes away the counters of namespaces that have had no unit for long.
  void ForgetNamespaces(absl::Time now);

  const std::function<bool()> leads_;
  HistogramFamily& algorithm_latency_;
  HistogramFamily& e2e_latency_;
  HistogramFamily& phase_seconds_;
  CounterFamily& attempts_;
  CounterFamily& coming_;

  // Of the decision thread: the phase that each unit, by a hash of its UID, was
  // last seen in; and whether the units have been listed, so that those that were
  // there at the start do not count as coming.
  absl::flat_hash_map<uint64_t, Phase> seen_;
  bool listed_ = false;
  std::map<std::string, Namespace> namespaces_;
  absl::Time now_ = absl::InfinitePast();  // of the last turn
};

// The gauges of a leader's snapshot. Pure, for tests and the registry's collector.
void CollectSnapshot(const Snapshot& snapshot, MetricSink* sink);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_SCHEDULER_METRICS_H_
