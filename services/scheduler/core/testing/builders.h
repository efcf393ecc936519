#ifndef SERVICES_SCHEDULER_CORE_TESTING_BUILDERS_H_
#define SERVICES_SCHEDULER_CORE_TESTING_BUILDERS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"

// Short ways to write down the objects of a test. Everything has a default, and
// every call returns the builder:
//
//   MakeUnit("a").Quota("team-a").Cpu(4).Priority(10).Obj()
//
// Cpu is in whole cores here, so that the sums can be done in the head; amounts in
// the objects are milli.
namespace kq::scheduler {

class MakeUnit {
 public:
  explicit MakeUnit(const std::string& name, const std::string& ns = "default") {
    unit_.key = {ns, name};
    unit_.uid = "uid-" + ns + "-" + name;
    unit_.version = 1;
    unit_.created = absl::UnixEpoch();
    unit_.quota = "team-a";
    unit_.consumer.kind = "Job";
    unit_.phase = kq::Phase::kEnqueued;
  }

  MakeUnit& Uid(const std::string& uid) { return Set(unit_.uid, uid); }
  MakeUnit& Version(uint64_t version) { return Set(unit_.version, version); }
  MakeUnit& Created(absl::Time created) { return Set(unit_.created, created); }
  MakeUnit& Quota(const std::string& quota) { return Set(unit_.quota, quota); }
  MakeUnit& Priority(int32_t priority) { return Set(unit_.priority, priority); }
  MakeUnit& Phase(kq::Phase phase) { return Set(unit_.phase, phase); }
  MakeUnit& Active(bool active) { return Set(unit_.active, active); }
  MakeUnit& Message(const std::string& message) { return Set(unit_.message, message); }
  MakeUnit& Invalid(const std::string& why) { return Set(unit_.invalid, why); }
  MakeUnit& Attempts(int64_t attempts) { return Set(unit_.attempts, attempts); }
  MakeUnit& Conditions(const std::vector<kq::Condition>& conditions) { return Set(unit_.conditions, conditions); }
  // lastAllocateTime and lastUpdateTime.
  MakeUnit& Times(absl::Time last_allocate, absl::Time last_update) {
    unit_.last_allocate = last_allocate;
    return Set(unit_.last_update, last_update);
  }
  // One pod set of `count` pods, each of `cores`.
  MakeUnit& Pods(int64_t count, int64_t cores) {
    return Set(unit_.pod_sets, {PodSet{unit_.key.name, count, Resources{{"cpu", cores * 1000}}}});
  }
  MakeUnit& Cpu(int64_t cores) { return Pods(1, cores); }
  MakeUnit& Each(const Resources& per_pod) { return Set(unit_.pod_sets, {PodSet{unit_.key.name, 1, per_pod}}); }
  // Without pod sets: spec.resource.
  MakeUnit& Resource(const Resources& resource) {
    unit_.pod_sets.clear();
    return Set(unit_.resource, resource);
  }
  // Admitted with `replicas` of its pod set.
  MakeUnit& Admitted(int64_t replicas, kq::Phase phase = kq::Phase::kDequeued) {
    Admission admission;
    admission.name = unit_.pod_sets.empty() ? std::string(kDefaultPodSet) : unit_.pod_sets[0].name;
    admission.replicas = replicas;
    unit_.admissions = {admission};
    return Phase(phase);
  }

  kq::QueueUnit Obj() const { return unit_; }

 private:
  template <typename T, typename V>
  MakeUnit& Set(T& field, V&& value) {
    field = std::forward<V>(value);
    return *this;
  }
  MakeUnit& Set(std::vector<PodSet>& field, std::vector<PodSet> value) {
    field = std::move(value);
    return *this;
  }

  QueueUnit unit_;
};

class MakeQueue {
 public:
  explicit MakeQueue(const std::string& name) {
    queue_.key = {std::string(kQueueNamespace), name};
    queue_.uid = "uid-queue-" + name;
    queue_.version = 1;
    queue_.policy = "Priority";
    queue_.created_by_us = true;
  }

  MakeQueue& Version(uint64_t version) {
    queue_.version = version;
    return *this;
  }
  MakeQueue& Policy(const std::string& policy) {
    queue_.policy = policy;
    return *this;
  }
  MakeQueue& Carried(const std::string& label) {
    queue_.carried_policy = label;
    return *this;
  }
  MakeQueue& Priority(int32_t priority) {
    queue_.priority = priority;
    return *this;
  }
  MakeQueue& Check(const std::string& name) {
    queue_.admission_checks.push_back(name);
    return *this;
  }
  MakeQueue& ByHand() {
    queue_.created_by_us = false;
    return *this;
  }

  kq::Queue Obj() const { return queue_; }

 private:
  Queue queue_;
};

class MakeQuota {
 public:
  explicit MakeQuota(const std::string& name, const std::string& ns = "kube-system") {
    quota_.key = {ns, name};
    quota_.uid = "uid-quota-" + ns + "-" + name;
    quota_.version = 1;
    quota_.created = absl::UnixEpoch();
    quota_.parent = name == kRootQuota ? "" : std::string(kRootQuota);
  }

  MakeQuota& Version(uint64_t version) {
    quota_.version = version;
    return *this;
  }
  MakeQuota& Created(absl::Time created) {
    quota_.created = created;
    return *this;
  }
  MakeQuota& Parent(const std::string& parent) {
    quota_.parent = parent;
    return *this;
  }
  MakeQuota& Min(int64_t cores) {
    quota_.min.Set("cpu", cores * 1000);
    return *this;
  }
  MakeQuota& Max(int64_t cores) {
    quota_.max.Set("cpu", cores * 1000);
    return *this;
  }
  MakeQuota& MaxOf(const Resources& max) {
    quota_.max = max;
    return *this;
  }
  MakeQuota& Lends(bool lends) {
    quota_.lends = lends;
    return *this;
  }
  MakeQuota& OddLends(const std::string& label) {
    quota_.odd_lends = label;
    return *this;
  }
  MakeQuota& Policy(const std::string& label) {
    quota_.queue_policy = label;
    return *this;
  }
  MakeQuota& UnknownFields(const std::string& names) {
    quota_.unknown_fields = names;
    return *this;
  }
  MakeQuota& Invalid(const std::string& why) {
    quota_.invalid = why;
    return *this;
  }

  kq::Quota Obj() const { return quota_; }

 private:
  Quota quota_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_TESTING_BUILDERS_H_
