#include "services/controllers/object_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "libs/common/log.h"

namespace kq::controllers {
namespace {

// The value of one PriorityClass; nullptr-like false if it has none.
bool ReadClass(const Json& object, int32_t* value, bool* is_default) {
  const Json* number = Find(object, {"value"});
  if (number == nullptr || !number->is_int64()) return false;
  *value = static_cast<int32_t>(std::clamp<int64_t>(number->get_int64(), std::numeric_limits<int32_t>::min(),
                                                    std::numeric_limits<int32_t>::max()));
  const Json* global = Find(object, {"globalDefault"});
  *is_default = global != nullptr && global->is_bool() && global->get_bool();
  return true;
}

PriorityValues ReadClasses(const KnownObjects& classes) {
  PriorityValues values;
  for (const auto& [key, object] : classes.objects()) {
    int32_t value = 0;
    bool is_default = false;
    const std::shared_ptr<const Json> parsed = ParseKnown(object.text);
    if (parsed == nullptr || !ReadClass(*parsed, &value, &is_default)) continue;
    values.by_name[key.name] = value;
    // Of several defaults the lowest counts, as the API server has it.
    if (is_default) values.global_default = std::min(value, values.global_default.value_or(value));
  }
  return values;
}

PodCounts CountsOf(const Json& pod) {
  const std::string phase = StringAt(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return {};
  PodCounts counts;
  (phase == "Running" ? counts.running : counts.pending) = 1;
  counts.bound = StringAt(pod, {"spec", "nodeName"}).empty() ? 0 : 1;
  return counts;
}

}  // namespace

// What a reflector sees goes into the cache, and the jobs it is about are told.
class ObjectCache::Feed : public ReflectorSink {
 public:
  Feed(ObjectCache* cache, Kind kind, absl::string_view scope) : cache_(cache), kind_(kind), scope_(scope) {}

  bool Upserted(const Json& object) override {
    cache_->Tell(cache_->Upsert(kind_, object, scope_));
    return true;
  }
  bool Removed(const ObjectKey& key, absl::string_view /*uid*/, uint64_t version) override {
    cache_->Tell(cache_->Remove(kind_, key, version, scope_));
    return true;
  }
  void Listed(uint64_t version) override {
    MutexLock lock(&cache_->mu_);
    if (kind_ == Kind::kJobs) cache_->jobs_.Listed(version, scope_);
    if (kind_ == Kind::kUnits) cache_->units_.Listed(version, scope_);
  }
  void Broken(const absl::Status& why) override {
    KQ_LOG(Warning, "An object could not be decoded", {{"err", why}});
    MutexLock lock(&cache_->mu_);
    ++cache_->broken_;
  }

 private:
  ObjectCache* const cache_;
  const Kind kind_;
  const std::string scope_;
};

ObjectCache::ObjectCache(const JobAdapter* adapter, JobChanged changed)
    : adapter_(adapter), changed_(std::move(changed)), priorities_(std::make_shared<const PriorityValues>()) {}

ObjectCache::~ObjectCache() = default;

ReflectorSink* ObjectCache::AddFeed(Kind kind, absl::string_view scope) {
  MutexLock lock(&mu_);
  feeds_.push_back(std::make_unique<Feed>(this, kind, scope));
  return feeds_.back().get();
}

ObjectCache::View ObjectCache::Look(const ObjectKey& job) const {
  View view;
  std::shared_ptr<const std::string> job_text, unit_text;
  {
    MutexLock lock(&mu_);
    view.priorities = priorities_;
    if (const KnownObjects::Known* known = jobs_.Find(job); known != nullptr) {
      job_text = known->text;
      const auto at = counts_.find(known->uid);
      if (at != counts_.end()) view.pods = at->second;
    }
    if (const KnownObjects::Known* known = units_.Find({job.ns, adapter_->UnitName(job.name)}); known != nullptr) {
      unit_text = known->text;
    }
  }
  view.job = ParseKnown(job_text);
  view.unit = ParseKnown(unit_text);
  return view;
}

void ObjectCache::LearnJob(const Json& job) {
  MutexLock lock(&mu_);
  jobs_.Learn(job);
}

void ObjectCache::LearnUnit(const Json& unit) {
  MutexLock lock(&mu_);
  units_.Learn(unit);
}

void ObjectCache::ForgetUnit(const ObjectKey& unit, absl::string_view uid) {
  MutexLock lock(&mu_);
  units_.Forget(unit, uid);
}

std::vector<ObjectKey> ObjectCache::AllJobs() const {
  MutexLock lock(&mu_);
  return AllJobsLocked();
}

ObjectCache::Sizes ObjectCache::Now() const {
  MutexLock lock(&mu_);
  Sizes sizes;
  sizes.jobs = static_cast<int64_t>(jobs_.size());
  sizes.units = static_cast<int64_t>(units_.size());
  sizes.pods = static_cast<int64_t>(pods_.size());
  sizes.broken = broken_;
  return sizes;
}

std::vector<ObjectKey> ObjectCache::Upsert(Kind kind, const Json& object, absl::string_view scope) {
  MutexLock lock(&mu_);
  switch (kind) {
    case Kind::kJobs:
      if (!jobs_.Upsert(object, scope)) return {};
      return {KeyOf(object)};
    case Kind::kUnits:
      if (!units_.Upsert(object, scope)) return {};
      return JobsOfUnit(object);
    case Kind::kPods:
      return UpsertPod(object);
    case Kind::kPriorityClasses:
      if (!classes_.Upsert(object, scope)) return {};
      return PrioritiesChanged();
  }
  return {};
}

std::vector<ObjectKey> ObjectCache::Remove(Kind kind, const ObjectKey& key, uint64_t version, absl::string_view scope) {
  MutexLock lock(&mu_);
  switch (kind) {
    case Kind::kJobs:
      if (!jobs_.Remove(key, version, scope)) return {};
      return {key};
    case Kind::kUnits: {
      const KnownObjects::Known* known = units_.Find(key);
      const Object unit = known == nullptr ? nullptr : ParseKnown(known->text);
      if (!units_.Remove(key, version, scope) || unit == nullptr) return {};
      return JobsOfUnit(*unit);
    }
    case Kind::kPods:
      return RemovePod(key, version);
    case Kind::kPriorityClasses:
      if (!classes_.Remove(key, version, scope)) return {};
      return PrioritiesChanged();
  }
  return {};
}

std::vector<ObjectKey> ObjectCache::UpsertPod(const Json& object) {
  const Json* owners = Find(object, {"metadata", "ownerReferences"});
  Pod pod;
  pod.version = VersionOf(object);
  const ObjectKey key = KeyOf(object);
  if (owners != nullptr && owners->is_array()) {
    for (const Json& owner : owners->get_array()) {
      if (StringAt(owner, {"kind"}) != adapter_->kind().kind) continue;
      if (StringAt(owner, {"apiVersion"}) != adapter_->kind().api_version) continue;
      pod.job_uid = StringAt(owner, {"uid"});
      pod.job = {key.ns, StringAt(owner, {"name"})};
    }
  }
  const auto at = pods_.find(key);
  if (at != pods_.end() && at->second.version >= pod.version) return {};
  if (pod.job_uid.empty()) return at == pods_.end() ? std::vector<ObjectKey>() : RemovePod(key, pod.version);
  pod.counts = CountsOf(object);

  std::vector<ObjectKey> changed = {pod.job};
  if (at != pods_.end()) {
    const Pod before = at->second;
    if (before.job_uid == pod.job_uid && before.counts == pod.counts) changed.clear();
    if (before.job != pod.job) changed.push_back(before.job);
    CountPod(before, -1);
  }
  CountPod(pod, +1);
  pods_[key] = std::move(pod);
  return changed;
}

std::vector<ObjectKey> ObjectCache::RemovePod(const ObjectKey& key, uint64_t version) {
  const auto at = pods_.find(key);
  if (at == pods_.end() || at->second.version > version) return {};
  const ObjectKey job = at->second.job;
  CountPod(at->second, -1);
  pods_.erase(at);
  return {job};
}

std::vector<ObjectKey> ObjectCache::JobsOfUnit(const Json& unit) const {
  const ObjectKey key = KeyOf(unit);
  std::vector<ObjectKey> jobs;
  // The job it is for, and the job that would have this name for its unit.
  for (const std::string& name : {JobNameOf(unit, adapter_->kind()), adapter_->JobNameOfUnit(key.name)}) {
    const ObjectKey job{key.ns, name};
    if (!name.empty() && (jobs.empty() || jobs[0] != job)) jobs.push_back(job);
  }
  return jobs;
}

std::vector<ObjectKey> ObjectCache::PrioritiesChanged() {
  auto values = std::make_shared<const PriorityValues>(ReadClasses(classes_));
  if (*values == *priorities_) return {};
  priorities_ = std::move(values);
  return AllJobsLocked();
}

std::vector<ObjectKey> ObjectCache::AllJobsLocked() const {
  std::vector<ObjectKey> all;
  all.reserve(jobs_.size());
  for (const auto& [key, job] : jobs_.objects()) all.push_back(key);
  for (const auto& [key, unit] : units_.objects()) {
    const Object parsed = ParseKnown(unit.text);
    if (parsed == nullptr) continue;
    const std::string name = JobNameOf(*parsed, adapter_->kind());
    if (!name.empty() && jobs_.Find({key.ns, name}) == nullptr) all.push_back({key.ns, name});
  }
  std::sort(all.begin(), all.end());
  return all;
}

void ObjectCache::CountPod(const Pod& pod, int sign) {
  PodCounts& counts = counts_[pod.job_uid];
  counts.running += sign * pod.counts.running;
  counts.pending += sign * pod.counts.pending;
  counts.bound += sign * pod.counts.bound;
  if (counts == PodCounts()) counts_.erase(pod.job_uid);
}

void ObjectCache::Tell(const std::vector<ObjectKey>& jobs) const {
  for (const ObjectKey& job : jobs) changed_(job);
}

}  // namespace kq::controllers
