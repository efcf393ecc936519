#ifndef PERF_WORKLOAD_H_
#define PERF_WORKLOAD_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "libs/common/json.h"

// The objects that a measurement makes, and threads to make them.
namespace kq::perf {

// "job-0042": names of one length.
std::string NumberedName(const std::string& prefix, int number);

// An ElasticQuota below the root with `cores` of cpu and as many Gi of memory.
Json QuotaObject(const std::string& name, int64_t cores);
// A QueueUnit of one pod of 100m and 64Mi.
Json UnitObject(const std::string& name, const std::string& quota);
// A suspended Job with one such pod, which runs for `run_for`.
Json JobObject(const std::string& name, const std::string& quota, absl::Duration run_for);
// A status as the scheduler writes it on an admitted unit.
Json AdmittedStatus();

// Runs `work` for 0 .. count-1 in `threads` threads; returns when all is done. What
// the first of them throws ends it, and is thrown again here.
void InParallel(int count, int threads, const std::function<void(int)>& work);

}  // namespace kq::perf

#endif  // PERF_WORKLOAD_H_
