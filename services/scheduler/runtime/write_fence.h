#ifndef SERVICES_SCHEDULER_RUNTIME_WRITE_FENCE_H_
#define SERVICES_SCHEDULER_RUNTIME_WRITE_FENCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "libs/kube/kube_api.h"

namespace kq::scheduler {

// The API server for a leader: reads pass, writes pass only while `may_write` is
// OK; else its error is the answer: kUnavailable for the time being, kCancelled
// for good. It is asked right before each request, so a write that waited for a
// backoff while the lease ran out is not made.
//
// Thread-safe if `may_write` is.
class WriteFence : public KubeApi {
 public:
  // `api` must outlive the fence.
  WriteFence(KubeApi* api, std::function<absl::Status()> may_write);

  absl::StatusOr<ListPage> List(const ListRequest& request) override;
  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override;
  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override;
  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override;
  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override;
  absl::StatusOr<Json> Patch(const PatchRequest& request) override;
  absl::Status Delete(const DeleteRequest& request) override;

  // Writes that were not made.
  int64_t refused() const { return refused_.load(); }

 private:
  absl::Status Check();

  KubeApi* const api_;
  const std::function<absl::Status()> may_write_;
  std::atomic<int64_t> refused_ = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_WRITE_FENCE_H_
