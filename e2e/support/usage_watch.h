#ifndef E2E_SUPPORT_USAGE_WATCH_H_
#define E2E_SUPPORT_USAGE_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "libs/api/queue_unit.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/reflector.h"

namespace kq::e2e {

// A watch that a test keeps from beginning to end: what the units of a namespace
// hold, per quota and in sum, at every moment that the API server tells of, and
// every moment at which that was more than the limit.
class UsageWatch : public ReflectorSink {
 public:
  // `limits`: cpu in milli by quota; "" is the sum over all quotas.
  UsageWatch(KubeApi* api, const std::string& ns, std::map<std::string, int64_t> limits);
  ~UsageWatch() override;

  // One line for each such moment; empty if there was none. Moments are versions: all
  // objects of a cluster share one counter, so that a list, which comes in the order
  // of names after the API server was away, is put into the order of what happened.
  std::string exceeded() const;
  int64_t admissions() const;  // units that became holders so far
  int64_t Held(const std::string& quota) const;
  // Units that hold quota now.
  std::vector<QueueUnit> Holders() const;
  size_t UnitCount() const;
  // Units that are over.
  int64_t Finished() const;
  // By unit: the versions of the object at which it became a holder. One each, if
  // nothing is admitted twice; 0 for one of which a list told, because the API server
  // was away: a list has the newest version of an object, which may be a later one.
  std::map<ObjectKey, std::vector<uint64_t>> AdmittedAt() const;
  // Units of a quota that wait.
  int64_t Waiting(const std::string& quota) const;

 private:
  bool Upserted(const Json& object) override;
  bool Removed(const ObjectKey& key, absl::string_view uid, uint64_t version) override;
  void Listed(uint64_t version) override;
  void Broken(const absl::Status& why) override;
  // True if it became a holder.
  bool Set(const ObjectKey& key, const QueueUnit* unit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::map<std::string, int64_t> limits_;
  mutable Mutex mu_;
  std::map<ObjectKey, QueueUnit> units_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, int64_t> held_ ABSL_GUARDED_BY(mu_);
  int64_t admissions_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<ObjectKey, std::vector<uint64_t>> admitted_at_ ABSL_GUARDED_BY(mu_);
  // What each version of a unit held.
  struct Seen {
    uint64_t version = 0;
    ObjectKey unit;
    std::string quota;
    int64_t held = 0;
    bool removed = false;
    bool admitted = false;  // by this version, or an earlier one that was not seen
  };
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> trouble_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Reflector> reflector_;
  std::thread thread_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_USAGE_WATCH_H_
