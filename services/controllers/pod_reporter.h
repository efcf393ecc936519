#ifndef SERVICES_CONTROLLERS_POD_REPORTER_H_
#define SERVICES_CONTROLLERS_POD_REPORTER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/queue_unit.h"
#include "libs/common/mutex.h"
#include "services/controllers/job_adapter.h"

namespace kq::controllers {

// What the pods of a job say about its unit: status.podState and
// status.admissions[].running.
struct PodReport {
  std::vector<Admission> admissions;
  int64_t running = 0, pending = 0;  // podState

  friend bool operator==(const PodReport&, const PodReport&) = default;
};

// The report as it should be. An admission's running counts the pods with a node.
// Replicas follow what is there:
//
//   more pods have a node than were admitted    they count, and so they are charged
//   the pod set became smaller                  what is above it and has no pods is free
//   no admission, but the phase holds quota     it is made, as of a unit of an older version
//
// and the reserved resources are those of the replicas.
// All pods are taken to be of the first pod set. Pure.
PodReport ReportFor(const QueueUnit& unit, const PodCounts& pods);

// Whether the report says something that the unit does not say yet; and whether
// what is charged changes, which is worth a write of its own.
bool Differs(const PodReport& report, const QueueUnit& unit);
bool ChangesCharge(const PodReport& report, const QueueUnit& unit);
// Whether it says that pods run which were not admitted, since the job grew. Not so
// where a pod is still there while another takes its place.
bool GoesBeyond(const PodReport& report, const QueueUnit& unit);

struct ReportPacing {
  // From the first change to the write, where the phase or what is charged changes;
  absl::Duration interval = absl::Seconds(1);
  // and where only counts of pods do.
  absl::Duration quiet_interval = absl::Seconds(10);
};

// When a report may be written: an interval after the first change that it tells
// of, so that a phase, the counts and what else comes meanwhile are one write. What
// is written then is the newest. A job that starts and ends within the quiet
// interval costs no write for its counts.
//
// Holds one entry for each job with a report that waits. Thread-safe.
class ReportPacer {
 public:
  explicit ReportPacer(ReportPacing pacing) : pacing_(pacing) {}

  enum class Urgency { kCounts, kCharge };
  // How long the report must wait; zero: it may be written.
  absl::Duration Wait(const ObjectKey& job, Urgency urgency, absl::Time now);
  // It was written, or there is nothing to report any more: the next change begins
  // an interval anew.
  void Settled(const ObjectKey& job);

 private:
  const ReportPacing pacing_;
  Mutex mu_;
  absl::flat_hash_map<ObjectKey, absl::Time> changed_ ABSL_GUARDED_BY(mu_);  // when it first did
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_POD_REPORTER_H_
