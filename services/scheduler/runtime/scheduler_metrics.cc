#include "services/scheduler/runtime/scheduler_metrics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/hash/hash.h"
#include "services/scheduler/core/snapshot.h"

namespace kq::scheduler {
namespace {

using Labels = MetricSink::Labels;
// Amounts by the value of the first label and the resource.
using Sums = std::map<std::pair<std::string, std::string>, double>;

constexpr char kUsageHelp[] = "Sum resources of dequeued job, by quota; cpu in thousandths of a core.";
constexpr char kNamespaceUsageHelp[] = "Sum resources of dequeued job, by namespace; cpu in cores.";
constexpr char kActiveHelp[] =
    "The total number of queueunits in active queues: ready or waiting for something to change.";
constexpr char kBackoffHelp[] = "The total number of queueunits in backoff queue: tried again at a given time.";
constexpr char kTypeHelp[] = "total queueunits";
constexpr char kMaxHelp[] = "What the quota may use at most, of each resource that it names; cpu in cores.";
constexpr char kMinHelp[] = "What the quota is guaranteed, of each resource that it names; cpu in cores.";
constexpr char kOverHelp[] = "What is charged above the quota's max, of each resource that it names; cpu in cores.";
constexpr char kShadowedHelp[] = "ElasticQuotas that are not in force because an older one has their name.";
constexpr char kWantedHelp[] = "What the units that wait in the queue ask for in sum, by resource; cpu in cores.";
constexpr char kReasonHelp[] =
    "Queueunits that wait in the queue, by why they were refused when last asked; NotAsked: not yet.";
constexpr char kSinceHelp[] =
    "When the unit that waits longest in the queue began to wait, in seconds since unix epoch. Absent while nobody "
    "waits.";
// Counters of a namespace stay so long after its last unit: one that vanished with
// each unit could not be rated.
constexpr absl::Duration kNamespaceMemory = absl::Hours(1);

std::string KindOf(const QueueUnit& unit) { return unit.consumer.kind; }

uint64_t UidHash(absl::string_view uid) { return absl::Hash<absl::string_view>{}(uid); }

// As metrics of ours show amounts: cpu in cores.
double Shown(const std::string& resource, int64_t amount) {
  return static_cast<double>(amount) / (resource == "cpu" ? 1000.0 : 1.0);
}

// What a unit holds; one whose admission is on its way holds what it asked for.
Resources ChargeOf(const UnitSnapshot& unit) {
  if (unit.place == Place::kAssumed) return Held(*unit.unit) + Need(*unit.unit);
  return HoldsQuota(unit.unit->phase) || HasAdmission(*unit.unit) ? Held(*unit.unit) : Resources();
}

// Whether a unit that holds quota is in the picture of its queue, or with the unplaced
// ones, besides that of its quota.
bool ShownElsewhere(Place place) {
  return place != Place::kAssumed && place != Place::kAdmitted && place != Place::kDraining;
}

// Each unfinished unit once.
template <typename Visit>
void ForEachUnit(const Snapshot& snapshot, const Visit& visit) {
  for (const auto& queue : snapshot.queues) {
    for (const UnitSnapshot& unit : queue->waiting) visit(unit);
  }
  for (const auto& quota : snapshot.quotas) {
    for (const UnitSnapshot& unit : quota->charged) {
      if (!ShownElsewhere(unit.place)) visit(unit);
    }
  }
  if (snapshot.unplaced == nullptr) return;
  for (const UnitSnapshot& unit : *snapshot.unplaced) visit(unit);
}

void CollectWaiting(const QueueSnapshot& queue, MetricSink* sink) {
  const std::string& name = queue.queue.key.name;
  std::map<std::string, double> wanted;
  std::map<std::string, int64_t> reasons;
  absl::Time since = absl::InfiniteFuture();
  for (const UnitSnapshot& unit : queue.waiting) {
    for (const auto& [resource, amount] : Need(*unit.unit)) wanted[resource] += Shown(resource, amount);
    ++reasons[unit.why == nullptr ? "NotAsked" : std::string(RefusalName(unit.why->refusal))];
    if (unit.since > absl::InfinitePast()) since = std::min(since, unit.since);
  }
  for (const auto& [resource, amount] : wanted) {
    sink->Gauge("koord_queue_queue_waiting_resources", kWantedHelp, {{"queue", name}, {"resource", resource}}, amount);
  }
  for (const auto& [reason, count] : reasons) {
    sink->Gauge("koord_queue_queue_waiting_units", kReasonHelp, {{"queue", name}, {"reason", reason}},
                static_cast<double>(count));
  }
  if (since == absl::InfiniteFuture()) return;
  sink->Gauge("koord_queue_queue_waiting_since_timestamp_seconds", kSinceHelp, {{"queue", name}},
              absl::ToDoubleSeconds(since - absl::UnixEpoch()));
}

void CollectQueues(const Snapshot& snapshot, MetricSink* sink) {
  for (const auto& queue : snapshot.queues) {
    const Labels labels = {{"queue", queue->queue.key.name}};
    sink->Gauge("queueunits_in_active_queue", kActiveHelp, labels, static_cast<double>(queue->ready + queue->parked));
    sink->Gauge("queueunits_in_backoff_queue", kBackoffHelp, labels, static_cast<double>(queue->resting));
    sink->Gauge("koord_queue_queue_trouble", "1 if the queue admits nothing, whatever its quotas allow.", labels,
                queue->admits_nothing ? 1 : 0);
    CollectWaiting(*queue, sink);
  }
}

void GaugeSums(const char* metric, const char* help, const char* label, const Sums& sums, MetricSink* sink) {
  for (const auto& [key, sum] : sums) sink->Gauge(metric, help, {{label, key.first}, {"resource", key.second}}, sum);
}

void CollectUnits(const Snapshot& snapshot, MetricSink* sink) {
  std::map<Place, int64_t> places;
  for (const Place place : {Place::kUnmapped, Place::kInvalid, Place::kInactive, Place::kReady, Place::kResting,
                            Place::kParked, Place::kAssumed, Place::kAdmitted, Place::kDraining}) {
    places[place] = 0;
  }
  Sums by_namespace;
  ForEachUnit(snapshot, [&](const UnitSnapshot& unit) {
    ++places[unit.place];
    for (const auto& [resource, amount] : ChargeOf(unit)) {
      by_namespace[{unit.unit->key.ns, resource}] += Shown(resource, amount);
    }
  });
  GaugeSums("dequeued_quota_usage_by_namespace", kNamespaceUsageHelp, "namespace", by_namespace, sink);
  for (const auto& [place, count] : places) {
    sink->Gauge("koord_queue_units", "Unfinished queueunits by the place they are in.",
                {{"place", std::string(PlaceName(place))}}, static_cast<double>(count));
  }
}

void CollectQuotas(const Snapshot& snapshot, MetricSink* sink) {
  Sums by_quota, over, max, min;
  int64_t shadowed = 0;
  for (const auto& quota : snapshot.quotas) {
    // Of two quotas of one name, the one in force counts.
    if (quota->shadowed_by.has_value()) {
      ++shadowed;
      continue;
    }
    const std::string& name = quota->quota.key.name;
    sink->Gauge("koord_queue_quota_trouble", "1 if the quota admits nothing, whatever room it has.", {{"quota", name}},
                quota->trouble.empty() ? 0 : 1);
    for (const auto& [resource, amount] : quota->quota.max) {
      by_quota[{name, resource}] += 0;
      over[{name, resource}] += Shown(resource, std::max<int64_t>(0, quota->used.At(resource) - amount));
    }
    for (const auto& [resource, amount] : quota->quota.max) max[{name, resource}] = Shown(resource, amount);
    for (const auto& [resource, amount] : quota->quota.min) min[{name, resource}] = Shown(resource, amount);
    for (const auto& [resource, amount] : quota->used) by_quota[{name, resource}] += static_cast<double>(amount);
  }
  GaugeSums("dequeued_quota_usage_by_quota", kUsageHelp, "quota", by_quota, sink);
  GaugeSums("koord_queue_quota_max", kMaxHelp, "quota", max, sink);
  GaugeSums("koord_queue_quota_min", kMinHelp, "quota", min, sink);
  GaugeSums("koord_queue_quota_over_max", kOverHelp, "quota", over, sink);
  sink->Gauge("koord_queue_quotas_shadowed", kShadowedHelp, {}, static_cast<double>(shadowed));
}

}  // namespace

void CollectSnapshot(const Snapshot& snapshot, MetricSink* sink) {
  CollectQueues(snapshot, sink);
  CollectQuotas(snapshot, sink);
  CollectUnits(snapshot, sink);
  if (snapshot.units_by_type != nullptr) {
    for (const auto& [type, count] : *snapshot.units_by_type) {
      sink->Gauge("queueunits_by_job_type", kTypeHelp, {{"namespace", type.first}, {"type", type.second}},
                  static_cast<double>(count));
    }
  }
  sink->Gauge("koord_queue_snapshot_revision", "Number of the newest picture of this leadership.", {},
              static_cast<double>(snapshot.revision));
}

SchedulerMetrics::SchedulerMetrics(MetricRegistry* registry, const SnapshotPublisher* publisher,
                                   std::function<bool()> leads)
    : leads_(std::move(leads)),
      algorithm_latency_(registry->AddHistogram("job_scheduling_algorithm_latency",
                                                "Latency of job scheduling algorithm", ExponentialBounds(0.01, 2, 15))),
      e2e_latency_(
          registry->AddHistogram("job_scheduling_e2e_latency",
                                 "Milliseconds that a queueunit waited, from its creation (its last requeueing, "
                                 "its growth) to its confirmed admission",
                                 ExponentialBounds(1, 2, 28))),
      phase_seconds_(registry->AddHistogram("koord_queue_turn_phase_seconds", "Time spent in each phase of a turn.",
                                            ExponentialBounds(0.000'01, 4, 11),
                                            {{"phase", {"apply", "cycle", "snapshot", "submit"}}})),
      attempts_(registry->AddCounter("job_schedule_attempts", "Number of scheduling attempts, by queue and result.",
                                     {"queue", {"result", {"scheduled", "unschedulable"}}})),
      coming_(registry->AddCounter("queueunits_coming_rate_by_job_type",
                                   "total queueunits that came into a status, by namespace, type and status",
                                   {"namespace", "type", "status"})) {
  for (const char* family : {"job_schedule_attempts", "queueunits_coming_rate_by_job_type"}) {
    registry->ShowWhile(family, leads_);
  }
  registry->AddCollector([publisher, leads = leads_](MetricSink& sink) {
    if (!leads()) return;
    const std::shared_ptr<const Snapshot> snapshot = publisher->Latest();
    if (snapshot != nullptr && !snapshot->epoch.empty()) CollectSnapshot(*snapshot, &sink);
  });
}

void SchedulerMetrics::OnEvent(const Event& event) {
  if (const auto* news = std::get_if<UnitUpserted>(&event)) {
    Came(news->unit);
  } else if (const auto* removed = std::get_if<UnitRemoved>(&event)) {
    Went(*removed);
  } else if (const auto* gone = std::get_if<QueueRemoved>(&event)) {
    attempts_.RemoveWhere("queue", gone->queue.name);
  } else if (const auto* listed = std::get_if<Listed>(&event)) {
    listed_ = listed_ || listed->kind == ListedKind::kUnits;
  }
}

void SchedulerMetrics::Came(const QueueUnit& unit) {
  const Phase phase = unit.phase == Phase::kUnset ? Phase::kEnqueued : unit.phase;
  const auto [at, inserted] = seen_.try_emplace(UidHash(unit.uid), phase);
  if (inserted) ++namespaces_[unit.key.ns].units;
  if (!inserted && std::exchange(at->second, phase) == phase) return;
  if (!listed_ || !leads_()) return;
  coming_.Increment({unit.key.ns, KindOf(unit), PhaseName(phase)});
}

void SchedulerMetrics::Went(const UnitRemoved& removed) {
  if (seen_.erase(UidHash(removed.uid)) == 0) return;
  Namespace& ns = namespaces_[removed.unit.ns];
  if (--ns.units == 0) ns.empty_since = now_;
}

void SchedulerMetrics::ForgetNamespaces(absl::Time now) {
  now_ = now;
  std::erase_if(namespaces_, [this](const auto& entry) {
    const auto& [name, ns] = entry;
    if (ns.units > 0 || now_ - ns.empty_since < kNamespaceMemory) return false;
    coming_.RemoveWhere("namespace", name);
    return true;
  });
}

void SchedulerMetrics::OnTurn(const Turn& turn, const TurnTimes& times, const std::vector<Core::AskCount>& asks) {
  ForgetNamespaces(turn.now);
  const bool worked = !turn.events->empty() || turn.asked > 0;
  if (worked) phase_seconds_.Observe({"apply"}, absl::ToDoubleSeconds(times.apply));
  if (!turn.cycled) return;
  if (worked) {
    phase_seconds_.Observe({"cycle"}, absl::ToDoubleSeconds(times.cycle));
    phase_seconds_.Observe({"snapshot"}, absl::ToDoubleSeconds(times.snapshot));
    phase_seconds_.Observe({"submit"}, absl::ToDoubleSeconds(times.submit));
  }
  if (turn.asked == 0) return;
  algorithm_latency_.ObserveTimes({}, absl::ToDoubleMilliseconds(times.cycle) / static_cast<double>(turn.asked),
                                  turn.asked);
  for (const Core::AskCount& count : asks) {
    attempts_.Increment({count.queue, count.admitted ? "scheduled" : "unschedulable"},
                        static_cast<double>(count.count));
  }
}

void SchedulerMetrics::OnAdmitted(absl::Time since, absl::Time now) {
  e2e_latency_.Observe(absl::ToDoubleMilliseconds(now - since));
}

}  // namespace kq::scheduler
