#ifndef SERVICES_SCHEDULER_RPC_SNAPSHOT_CHANGE_H_
#define SERVICES_SCHEDULER_RPC_SNAPSHOT_CHANGE_H_

#include "proto/queueing/v1/scheduler.pb.h"
#include "services/scheduler/core/snapshot.h"
#include "services/scheduler/rpc/snapshot_proto.h"

namespace kq::scheduler {

// What leads a reader from the picture `before` to `now`: the whole of `now` if
// `before` is null or of another epoch, else the parts that differ. Parts are
// compared by identity, which costs nothing: a picture shares what did not change
// with the one before. Pictures between the two may have been skipped.
void ToChange(const Snapshot* before, const Snapshot& now, Detail detail, queueing::v1::SnapshotChange* out);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_SNAPSHOT_CHANGE_H_
