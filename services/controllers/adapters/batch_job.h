#ifndef SERVICES_CONTROLLERS_ADAPTERS_BATCH_JOB_H_
#define SERVICES_CONTROLLERS_ADAPTERS_BATCH_JOB_H_

#include <memory>

#include "services/controllers/job_adapter.h"

namespace kq::controllers {

// batch/v1 Job. Parked by spec.suspend; one pod set of the job's name with
// min(parallelism, what is left of completions) pods; its unit has the job's name.
// Without completions parallelism counts until a pod succeeded, and what still runs from then on.
//
// --manage-all-jobs leaves alone: kube-system, jobs with another's spec.managedBy,
// jobs in a Kueue queue, and jobs that are a part of something that is queued as a
// whole (RayJob, TFJob, JobSet, Workflow, ...). A quota label asks for more
// than all of these.
std::unique_ptr<JobAdapter> NewBatchJobAdapter();

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_ADAPTERS_BATCH_JOB_H_
