#include "services/scheduler/plugins/elastic_quota.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace kq::scheduler {
namespace {

constexpr int64_t kMillion = 1'000'000;

bool AsksForAnything(const Resources& need) {
  return std::any_of(need.begin(), need.end(), [](const Resources::Entry& entry) { return entry.amount > 0; });
}

Verdict Short(Refusal refusal, const std::string& quota, const Resources::Entry& need, int64_t used, int64_t limit) {
  Verdict verdict;
  RefusalDetail& why = verdict.refusal;
  why.refusal = refusal;
  why.quota = quota;
  why.resource = need.name;
  why.requested = need.amount;
  why.used = used;
  why.limit = limit;
  return verdict;
}

}  // namespace

ElasticQuota::ElasticQuota(double oversell) : oversell_millionths_(std::llround(oversell * kMillion)) {}

int64_t ElasticQuota::LimitOf(int64_t max) const {
  const __int128 limit = static_cast<__int128>(max) * oversell_millionths_ / kMillion;
  return static_cast<int64_t>(std::min<__int128>(limit, std::numeric_limits<int64_t>::max()));
}

Verdict ElasticQuota::Check(const QueueUnit&, const Resources& need, const QuotaPath& path) const {
  if (!path.trouble().ok()) return path.trouble();
  Verdict verdict = CheckHardLimits(need, path);
  if (!verdict.ok()) return verdict;
  return CheckGuarantees(need, path);
}

Verdict ElasticQuota::CheckHardLimits(const Resources& need, const QuotaPath& path) const {
  for (int level = 0; level < path.levels(); ++level) {
    const Resources& max = path.max(level);
    const Resources& used = path.used(level);
    if (max.Empty()) {
      if (!AsksForAnything(need)) continue;
      Verdict verdict;
      verdict.refusal.refusal = Refusal::kQuotaEmpty;
      verdict.refusal.quota = path.name(level);
      return verdict;
    }
    for (const Resources::Entry& entry : need) {
      if (entry.amount <= 0 || !max.Has(entry.name)) continue;
      const int64_t limit = LimitOf(max.At(entry.name));
      const int64_t in_use = used.At(entry.name);
      const int64_t after = SaturatingAdd(in_use, entry.amount);
      // A sum that does not fit into int64 fits under no limit.
      const bool fits = after <= limit && after != std::numeric_limits<int64_t>::max();
      if (fits) continue;
      Verdict verdict = Short(Refusal::kOverMax, path.name(level), entry, in_use, limit);
      verdict.refusal.short_by = SaturatingSubtract(after, limit);
      return verdict;
    }
  }
  return Verdict{};
}

Verdict ElasticQuota::CheckGuarantees(const Resources& need, const QuotaPath& path) const {
  if (path.levels() == 0) return Verdict{};
  const Resources& min = path.min(0);
  const Resources& used_here = path.used(0);
  for (int level = 1; level < path.levels(); ++level) {
    const Resources& max = path.max(level);
    for (const Resources::Entry& entry : need) {
      if (entry.amount <= 0 || !max.Has(entry.name)) continue;
      const int64_t guaranteed = SaturatingSubtract(min.At(entry.name), used_here.At(entry.name));
      if (entry.amount <= guaranteed) continue;  // stays within min
      const int64_t kept = path.KeptForOthers(level, entry.name);
      const int64_t limit = LimitOf(max.At(entry.name));
      const int64_t in_use = path.used(level).At(entry.name);
      const int64_t after = SaturatingAdd(SaturatingAdd(in_use, entry.amount), kept);
      if (after <= limit) continue;
      Verdict verdict = Short(Refusal::kGuaranteedToOthers, path.name(level), entry, in_use, limit);
      verdict.refusal.reserved = kept;
      verdict.refusal.short_by = SaturatingSubtract(after, limit);
      return verdict;
    }
  }
  return Verdict{};
}

}  // namespace kq::scheduler
