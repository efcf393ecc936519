#include "e2e/support/usage_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "e2e/support/test_cluster.h"
#include "libs/api/codec.h"
#include "libs/common/clock.h"

namespace kq::e2e {
namespace {

ReflectorOptions UnitsOf(const std::string& ns) {
  ReflectorOptions options;
  options.resource = kUnits;
  options.ns = ns;
  return options;
}

int64_t CpuHeld(const QueueUnit& unit) { return kq::Held(unit).At("cpu"); }

}  // namespace

UsageWatch::UsageWatch(KubeApi* api, const std::string& ns, std::map<std::string, int64_t> limits)
    : limits_(std::move(limits)), reflector_(std::make_unique<Reflector>(UnitsOf(ns), api, &Clock::Real(), this)) {
  thread_ = std::thread([this] { reflector_->Run(); });
}

UsageWatch::~UsageWatch() {
  reflector_->Stop();
  thread_.join();
}

std::string UsageWatch::exceeded() const {
  MutexLock lock(&mu_);
  std::vector<std::string> wrong = trouble_;
  // In the order in which it happened, which is not that of a list.
  std::vector<Seen> history = seen_;
  std::stable_sort(history.begin(), history.end(), [](const Seen& a, const Seen& b) { return a.version < b.version; });
  std::map<ObjectKey, std::pair<std::string, int64_t>> units;
  std::map<std::string, int64_t> held;
  for (const Seen& seen : history) {
    auto& [quota, amount] = units[seen.unit];
    held[quota] -= amount;
    held[""] -= amount;
    quota = seen.quota;
    amount = seen.held;
    held[quota] += amount;
    held[""] += amount;
    for (const auto& [name, limit] : limits_) {
      if (held[name] <= limit) continue;
      wrong.push_back(
          absl::StrCat("at version ", seen.version, ": quota \"", name, "\" holds ", held[name], "m of ", limit, "m"));
    }
  }
  return absl::StrJoin(wrong, "\n");
}

int64_t UsageWatch::admissions() const {
  MutexLock lock(&mu_);
  return admissions_;
}

int64_t UsageWatch::Held(const std::string& quota) const {
  MutexLock lock(&mu_);
  const auto held = held_.find(quota);
  return held == held_.end() ? 0 : held->second;
}

std::vector<QueueUnit> UsageWatch::Holders() const {
  MutexLock lock(&mu_);
  std::vector<QueueUnit> holders;
  for (const auto& [key, unit] : units_) {
    if (CpuHeld(unit) > 0) holders.push_back(unit);
  }
  return holders;
}

size_t UsageWatch::UnitCount() const {
  MutexLock lock(&mu_);
  return units_.size();
}

int64_t UsageWatch::Waiting(const std::string& quota) const {
  MutexLock lock(&mu_);
  int64_t waiting = 0;
  for (const auto& [key, unit] : units_) {
    if (unit.quota == quota && IsWaiting(unit.phase)) ++waiting;
  }
  return waiting;
}

int64_t UsageWatch::Finished() const {
  MutexLock lock(&mu_);
  int64_t finished = 0;
  for (const auto& [key, unit] : units_) {
    if (IsFinished(unit.phase)) ++finished;
  }
  return finished;
}

std::map<ObjectKey, std::vector<uint64_t>> UsageWatch::AdmittedAt() const {
  MutexLock lock(&mu_);
  return admitted_at_;
}

bool UsageWatch::Set(const ObjectKey& key, const QueueUnit* unit) {
  const auto known = units_.find(key);
  int64_t before = 0;
  if (known != units_.end()) {
    before = CpuHeld(known->second);
    held_[known->second.quota] -= before;
    held_[""] -= before;
    units_.erase(known);
  }
  if (unit == nullptr) return false;
  const int64_t after = CpuHeld(*unit);
  const bool admitted = before == 0 && after > 0;
  if (admitted) {
    ++admissions_;
    admitted_at_[key].push_back(unit->version);
  } else if (before == 0 && IsFinished(unit->phase) && unit->last_allocate != absl::InfinitePast() &&
             admitted_at_[key].empty()) {
    // It held quota and was over while this watch was cut and its history gone, so that it had to list again.
    ++admissions_;
    admitted_at_[key].push_back(0);
  }
  held_[unit->quota] += after;
  held_[""] += after;
  units_.emplace(key, *unit);
  return admitted;
}

bool UsageWatch::Upserted(const Json& object) {
  const absl::StatusOr<QueueUnit> unit = ParseQueueUnit(object);
  MutexLock lock(&mu_);
  if (unit.ok()) {
    const bool admitted = Set(unit->key, &*unit);
    seen_.push_back({unit->version, unit->key, unit->quota, CpuHeld(*unit), false, admitted});
  } else {
    trouble_.push_back(unit.status().ToString());
  }
  return true;
}

bool UsageWatch::Removed(const ObjectKey& key, absl::string_view, uint64_t version) {
  MutexLock lock(&mu_);
  Set(key, nullptr);
  seen_.push_back({version, key, "", 0, true, false});
  return true;
}

void UsageWatch::Listed(uint64_t) {
  MutexLock lock(&mu_);
  // The list was all units that are there, and came just now.
  size_t left = units_.size();
  for (auto seen = seen_.rbegin(); seen != seen_.rend() && left > 0; ++seen) {
    if (seen->removed) continue;
    if (seen->admitted) admitted_at_[seen->unit].back() = 0;
    --left;
  }
}

void UsageWatch::Broken(const absl::Status& why) {
  MutexLock lock(&mu_);
  trouble_.push_back(why.ToString());
}

}  // namespace kq::e2e
