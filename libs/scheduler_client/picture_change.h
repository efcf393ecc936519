#ifndef LIBS_SCHEDULER_CLIENT_PICTURE_CHANGE_H_
#define LIBS_SCHEDULER_CLIENT_PICTURE_CHANGE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "libs/scheduler_client/picture.h"
#include "proto/queueing/v1/scheduler.pb.h"

namespace kq {

// The picture that `change` leads to from `before` (null: there is none yet). A
// whole one replaces everything; a difference keeps the parts it does not name; a
// message that changes nothing, a sign of life, gives `before` itself.
//
// kFailedPrecondition if the change does not follow on `before`: a difference to no
// picture or to one of another epoch, or an older revision. The stream is to be
// opened again then. Pure.
absl::StatusOr<std::shared_ptr<const Picture>> ApplyChange(const std::shared_ptr<const Picture>& before,
                                                           queueing::v1::SnapshotChange change);

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_PICTURE_CHANGE_H_
