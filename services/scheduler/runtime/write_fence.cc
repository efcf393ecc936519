#include "services/scheduler/runtime/write_fence.h"

#include <utility>

#include "libs/common/status_macros.h"

namespace kq::scheduler {

WriteFence::WriteFence(KubeApi* api, std::function<absl::Status()> may_write)
    : api_(api), may_write_(std::move(may_write)) {}

absl::Status WriteFence::Check() {
  absl::Status may = may_write_();
  if (!may.ok()) ++refused_;
  return may;
}

absl::StatusOr<ListPage> WriteFence::List(const ListRequest& request) { return api_->List(request); }

absl::StatusOr<std::unique_ptr<WatchStream>> WriteFence::Watch(const WatchRequest& request) {
  return api_->Watch(request);
}

absl::StatusOr<Json> WriteFence::Get(const KubeResource& resource, const ObjectKey& key) {
  return api_->Get(resource, key);
}

absl::StatusOr<Json> WriteFence::Create(const KubeResource& resource, absl::string_view ns, const Json& object) {
  KQ_RETURN_IF_ERROR(Check());
  return api_->Create(resource, ns, object);
}

absl::StatusOr<Json> WriteFence::Update(const KubeResource& resource, Subresource subresource, const Json& object) {
  KQ_RETURN_IF_ERROR(Check());
  return api_->Update(resource, subresource, object);
}

absl::StatusOr<Json> WriteFence::Patch(const PatchRequest& request) {
  KQ_RETURN_IF_ERROR(Check());
  return api_->Patch(request);
}

absl::Status WriteFence::Delete(const DeleteRequest& request) {
  KQ_RETURN_IF_ERROR(Check());
  return api_->Delete(request);
}

}  // namespace kq::scheduler
