#include "libs/scheduler_client/picture_change.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

namespace v1 = queueing::v1;

absl::Status CheckFollows(const Picture* before, const v1::SnapshotChange& change) {
  if (change.whole()) return absl::OkStatus();
  if (before == nullptr) return absl::FailedPreconditionError("a change came before the whole picture");
  if (before->id.epoch() != change.id().epoch()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a change of epoch ", change.id().epoch(), " came on a picture of epoch ", before->id.epoch()));
  }
  if (change.id().revision() < before->id.revision()) {
    return absl::FailedPreconditionError(
        absl::StrCat("revision ", change.id().revision(), " came after ", before->id.revision()));
  }
  return absl::OkStatus();
}

bool ChangesNothing(const Picture& before, const v1::SnapshotChange& change) {
  return !change.whole() && change.id().revision() == before.id.revision() && change.queues().empty() &&
         change.removed_queues().empty() && change.quotas().empty() && change.removed_quotas().empty() &&
         !change.unplaced_changed();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Picture>> ApplyChange(const std::shared_ptr<const Picture>& before,
                                                           v1::SnapshotChange change) {
  KQ_RETURN_IF_ERROR(CheckFollows(before.get(), change));
  if (before != nullptr && ChangesNothing(*before, change)) return before;

  auto picture = change.whole() ? std::make_shared<Picture>() : std::make_shared<Picture>(*before);
  picture->id = std::move(*change.mutable_id());
  for (const std::string& name : change.removed_queues()) picture->queues.erase(name);
  for (const std::string& name : change.removed_quotas()) picture->quotas.erase(name);
  for (v1::QueueSnapshot& queue : *change.mutable_queues()) {
    std::string name = queue.name();
    picture->queues[std::move(name)] = std::make_shared<const v1::QueueSnapshot>(std::move(queue));
  }
  for (v1::QuotaSnapshot& quota : *change.mutable_quotas()) {
    std::string name = absl::StrCat(quota.namespace_(), "/", quota.name());
    picture->quotas[std::move(name)] = std::make_shared<const v1::QuotaSnapshot>(std::move(quota));
  }
  if (change.unplaced_changed()) {
    picture->unplaced = std::make_shared<const std::vector<v1::UnitSnapshot>>(
        std::make_move_iterator(change.mutable_unplaced()->begin()),
        std::make_move_iterator(change.mutable_unplaced()->end()));
  }
  return picture;
}

}  // namespace kq
