#ifndef SERVICES_SCHEDULER_PLUGINS_ELASTIC_QUOTA_H_
#define SERVICES_SCHEDULER_PLUGINS_ELASTIC_QUOTA_H_

#include <cstdint>

#include "services/scheduler/core/policy.h"

namespace kq::scheduler {

// The quota rule of ElasticQuota trees (plugin name ElasticQuotaV2).
//
// Hard limit: at the unit's quota and at every ancestor, for every resource that
// `max` names,
//     used + need <= max * oversell.
// The root object is checked too if it exists and has a max. An empty max refuses
// everything that asks for anything; a resource that max does not name is unlimited.
//
// Guarantee and lending: let `over` be the part of `need` that lifts the unit's
// quota above its min. For each resource with over > 0, at every ancestor with a
// max that names it,
//     used + need + kept for others <= max * oversell,
// where "kept for others" is the sum, over the branches other than the unit's own
// that do not lend, of max(0, min - used). Need within min meets the hard limit
// alone.
//
// The first shortage is reported: levels from the quota upwards, resources by name;
// hard limits before guarantees.
class ElasticQuota : public AdmissionPolicy {
 public:
  // `oversell` multiplies every max; it is rounded to millionths, so that
  // no comparison is made in floating point. REQUIRES: oversell > 0.
  explicit ElasticQuota(double oversell = 1.0);

  Verdict Check(const QueueUnit& unit, const Resources& need, const QuotaPath& path) const override;

 private:
  int64_t LimitOf(int64_t max) const;
  Verdict CheckHardLimits(const Resources& need, const QuotaPath& path) const;
  Verdict CheckGuarantees(const Resources& need, const QuotaPath& path) const;

  const int64_t oversell_millionths_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_PLUGINS_ELASTIC_QUOTA_H_
