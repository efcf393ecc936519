#ifndef SERVICES_CONTROLLERS_JOB_VIEW_H_
#define SERVICES_CONTROLLERS_JOB_VIEW_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/api/queue_unit.h"
#include "libs/common/json.h"
#include "services/controllers/job_adapter.h"
#include "services/controllers/object_cache.h"
#include "services/controllers/plan.h"
#include "services/controllers/pod_reporter.h"

namespace kq::controllers {

// One job and its unit with everything that the plan asks and its steps need.
struct JobView {
  ObjectKey job_key, unit_key;
  std::string job_uid;  // empty if there is no job

  ObjectCache::Object job;          // null if there is none
  ObjectCache::Object unit_object;  // null if there is none
  QueueUnit unit;                   // of unit_object, as far as it could be read
  PodCounts pods;

  Observation seen;
  std::optional<Json> desired;  // the unit as it should be created; empty without a price
  absl::Status price_error;     // why there is none
  std::optional<Json> patch;    // what the unit lacks to follow its job
  PodReport report;             // of a unit that is ours
  absl::Time backoff_until = absl::InfinitePast();
};

// Makes the view of a job from what is known. Pure.
JobView ViewOf(const ObjectKey& job, const ObjectCache::View& known, const JobAdapter& adapter,
               const ManageRules& rules, absl::Time now);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_JOB_VIEW_H_
