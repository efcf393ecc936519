#ifndef E2E_SUPPORT_OBJECTS_H_
#define E2E_SUPPORT_OBJECTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "libs/common/json.h"

// The objects that tests create, and how many are created at once.
namespace kq::e2e {

// Where quotas of tests live; their names begin with the test's namespace.
inline constexpr char kQuotaNamespace[] = "kube-system";

// An ElasticQuota with `cores` of cpu at most; no parent if `parent` is empty.
Json QuotaObject(const std::string& name, const std::string& parent, int64_t cores);
// The same with any spec.
Json QuotaWith(const std::string& name, const std::string& parent, Json spec);

// The Queue of a quota, as koord-queue would make it.
Json QueueObject(const std::string& name);

// A QueueUnit without a job, that asks for one core.
Json UnitObject(const std::string& name, const std::string& quota);

// A suspended batch/v1 Job of one pod that asks for one core and runs for `run_for` ("1s").
Json JobObject(const std::string& name, const std::string& quota, const std::string& run_for);

// Runs `work` for 0 .. count-1 in eight threads.
void InParallel(int count, const std::function<void(int)>& work);

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_OBJECTS_H_
