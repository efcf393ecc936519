#ifndef PERF_ARRIVALS_H_
#define PERF_ARRIVALS_H_

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/reflector.h"

namespace kq::perf {

// Watches the objects of one namespace and notes when each was first seen in a
// state. It runs from its construction to its end. Thread-safe.
class Arrivals : public ReflectorSink {
 public:
  using State = std::function<bool(const Json& object)>;

  // `api` must outlive it. Returns when the first list is there.
  Arrivals(KubeApi* api, const KubeResource& resource, const std::string& ns, State state);
  ~Arrivals() override;

  int64_t count() const;
  std::map<std::string, absl::Time> Times() const;  // by name

  bool Upserted(const Json& object) override;
  bool Removed(const ObjectKey& key, absl::string_view uid, uint64_t version) override;
  void Listed(uint64_t version) override;
  void Broken(const absl::Status& why) override;

 private:
  const State state_;
  Reflector reflector_;
  mutable Mutex mu_;
  std::map<std::string, absl::Time> times_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace kq::perf

#endif  // PERF_ARRIVALS_H_
