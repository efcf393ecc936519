#ifndef SERVICES_SCHEDULER_RPC_SNAPSHOT_PROTO_H_
#define SERVICES_SCHEDULER_RPC_SNAPSHOT_PROTO_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <google/protobuf/timestamp.pb.h>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/queue_unit.h"
#include "libs/api/resources.h"
#include "proto/queueing/v1/snapshot.pb.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/snapshot.h"

// Pictures of the core as messages. Everything here is a pure function of what
// it is given; it may be called from any thread.
namespace kq::scheduler {

// Whether the units come along, or only what is counted of them.
enum class Detail { kWithUnits, kWithoutUnits };

void ToProto(const Snapshot& snapshot, Detail detail, queueing::v1::Snapshot* out);
void ToProto(const QueueSnapshot& queue, Detail detail, queueing::v1::QueueSnapshot* out);
void ToProto(const QuotaSnapshot& quota, Detail detail, queueing::v1::QuotaSnapshot* out);

// What a unit is charged for and still needs is worked out here: while its
// admission is being written it holds what it asked for.
void ToProto(const UnitSnapshot& unit, queueing::v1::UnitSnapshot* out);
void ToProto(const RefusalDetail& why, queueing::v1::Refusal* out);
void ToProto(const Resources& amounts, google::protobuf::RepeatedPtrField<queueing::v1::Amount>* out);

// The identity of a picture.
void ToPictureId(const Snapshot& snapshot, queueing::v1::PictureId* out);

// As shown: a unit without a phase is Enqueued.
absl::string_view ShownPhase(const QueueUnit& unit);

// Whether a time can be told: the infinite past and future stay unset.
bool IsFinite(absl::Time time);
google::protobuf::Timestamp ToTimestamp(absl::Time time);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_SNAPSHOT_PROTO_H_
