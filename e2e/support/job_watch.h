#ifndef E2E_SUPPORT_JOB_WATCH_H_
#define E2E_SUPPORT_JOB_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "e2e/support/usage_watch.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/reflector.h"

namespace kq::e2e {

// A watch on the Jobs of a namespace, from beginning to end: when each was
// released, and how many are complete.
class JobWatch : public ReflectorSink {
 public:
  JobWatch(KubeApi* api, const std::string& ns);
  ~JobWatch() override;

  int64_t Jobs() const;
  int64_t Complete() const;
  // What is wrong, a line each, empty if nothing is: a Job that was not released exactly once, or before its unit was
  // admitted, or whose unit was not admitted exactly once. Versions of all objects
  // come from one counter, so they tell what was first.
  std::string WrongReleases(const UsageWatch& units) const;

 private:
  struct Seen {
    bool suspended = true;
    bool complete = false;
    std::vector<uint64_t> released_at;  // versions
  };

  bool Upserted(const Json& object) override;
  bool Removed(const ObjectKey& key, absl::string_view uid, uint64_t version) override;
  void Listed(uint64_t version) override;
  void Broken(const absl::Status& why) override;

  mutable Mutex mu_;
  std::map<ObjectKey, Seen> jobs_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> trouble_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Reflector> reflector_;
  std::thread thread_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_JOB_WATCH_H_
