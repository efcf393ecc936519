#ifndef SERVICES_CONTROLLERS_OBJECT_CACHE_H_
#define SERVICES_CONTROLLERS_OBJECT_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/api/object_key.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"
#include "libs/kube/reflector.h"
#include "services/controllers/job_adapter.h"
#include "services/controllers/known_objects.h"
#include "services/controllers/unit_spec.h"

namespace kq::controllers {

// What the watches brought of one kind of job and all that belongs to it: jobs,
// units, priority classes, and of pods no more than their numbers by job.
//
// Whenever something about a job changed, its key is handed on; what it is now is
// asked for later. Thread-safe; `changed` is called without a lock.
class ObjectCache {
 public:
  using Object = std::shared_ptr<const Json>;
  using JobChanged = std::function<void(const ObjectKey& job)>;

  // `adapter` must outlive the cache.
  ObjectCache(const JobAdapter* adapter, JobChanged changed);
  ~ObjectCache();

  enum class Kind { kJobs, kUnits, kPods, kPriorityClasses };
  // The sink of a reflector over `kind`, in the namespace `scope` ("": all). Lives
  // as long as the cache.
  ReflectorSink* AddFeed(Kind kind, absl::string_view scope);

  // One job as it is now.
  struct View {
    Object job;   // null if there is none
    Object unit;  // the object of the unit's name, whosever it is
    PodCounts pods;
    std::shared_ptr<const PriorityValues> priorities;
  };
  View Look(const ObjectKey& job) const;

  // Answers to our own calls.
  void LearnJob(const Json& job);
  void LearnUnit(const Json& unit);
  void ForgetUnit(const ObjectKey& unit, absl::string_view uid);

  // Every job there is, and every job that a unit is for.
  std::vector<ObjectKey> AllJobs() const;

  struct Sizes {
    int64_t jobs = 0, units = 0, pods = 0;
    int64_t broken = 0;  // objects or events that could not be decoded, since the start
  };
  Sizes Now() const;

 private:
  class Feed;
  struct Pod {
    uint64_t version = 0;
    std::string job_uid;
    ObjectKey job;
    PodCounts counts;  // of this one pod
  };

  // Each returns the jobs that are to be looked at.
  std::vector<ObjectKey> Upsert(Kind kind, const Json& object, absl::string_view scope);
  std::vector<ObjectKey> Remove(Kind kind, const ObjectKey& key, uint64_t version, absl::string_view scope);
  std::vector<ObjectKey> UpsertPod(const Json& object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<ObjectKey> RemovePod(const ObjectKey& key, uint64_t version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<ObjectKey> JobsOfUnit(const Json& unit) const;
  std::vector<ObjectKey> PrioritiesChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<ObjectKey> AllJobsLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountPod(const Pod& pod, int sign) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tell(const std::vector<ObjectKey>& jobs) const;

  const JobAdapter* const adapter_;
  const JobChanged changed_;

  mutable Mutex mu_;
  KnownObjects jobs_ ABSL_GUARDED_BY(mu_);
  KnownObjects units_ ABSL_GUARDED_BY(mu_);
  KnownObjects classes_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const PriorityValues> priorities_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<ObjectKey, Pod> pods_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, PodCounts> counts_ ABSL_GUARDED_BY(mu_);  // by the job's UID
  int64_t broken_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<Feed>> feeds_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_OBJECT_CACHE_H_
