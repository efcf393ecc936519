#include "services/scheduler/rpc/snapshot_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/grpc_status.h"
#include "services/scheduler/rpc/decision_proto.h"
#include "services/scheduler/rpc/snapshot_proto.h"
#include "services/scheduler/rpc/unit_listing.h"

namespace kq::scheduler {
namespace {

Detail DetailOf(bool without_units) { return without_units ? Detail::kWithoutUnits : Detail::kWithUnits; }

}  // namespace

SnapshotService::SnapshotService(SnapshotServiceParts parts, SnapshotServiceOptions options)
    : parts_(std::move(parts)), options_(options), feed_(parts_.publisher, options.feed) {}

absl::StatusOr<std::shared_ptr<const Snapshot>> SnapshotService::Picture(grpc::CallbackServerContext* context) const {
  const LeaderView view = parts_.leadership();
  if (!view.leader.empty()) context->AddTrailingMetadata(kLeaderMetadata, view.leader);
  if (!view.leading) {
    return absl::UnavailableError(view.leader.empty()
                                      ? "this replica does not lead, and no leader is known"
                                      : absl::StrCat("this replica does not lead; the leader is ", view.leader));
  }
  std::shared_ptr<const Snapshot> snapshot = parts_.publisher->Latest();
  if (snapshot == nullptr) return absl::UnavailableError("this replica leads but has not seen all objects yet");
  return snapshot;
}

grpc::ServerUnaryReactor* SnapshotService::Answer(grpc::CallbackServerContext* context,
                                                  const std::function<absl::Status(const Snapshot&)>& answer) const {
  const absl::StatusOr<std::shared_ptr<const Snapshot>> snapshot = Picture(context);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(snapshot.ok() ? answer(**snapshot) : snapshot.status()));
  return reactor;
}

grpc::ServerUnaryReactor* SnapshotService::GetSnapshot(grpc::CallbackServerContext* context,
                                                       const queueing::v1::GetSnapshotRequest* request,
                                                       queueing::v1::Snapshot* response) {
  return Answer(context, [&](const Snapshot& snapshot) {
    ToProto(snapshot, DetailOf(request->without_units()), response);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<queueing::v1::SnapshotChange>* SnapshotService::WatchSnapshots(
    grpc::CallbackServerContext* context, const queueing::v1::WatchSnapshotsRequest* request) {
  if (const auto snapshot = Picture(context); !snapshot.ok()) return RefusedWatch(snapshot.status());
  return feed_.Watch(DetailOf(request->without_units()));
}

grpc::ServerUnaryReactor* SnapshotService::ListUnits(grpc::CallbackServerContext* context,
                                                     const queueing::v1::ListUnitsRequest* request,
                                                     queueing::v1::ListUnitsResponse* response) {
  return Answer(context, [&](const Snapshot& snapshot) -> absl::Status {
    const UnitFilter filter{request->queue(),  request->quota(), request->phase(), request->namespace_(),
                            request->offset(), request->limit(), request->below()};
    const absl::StatusOr<UnitPage> page = kq::scheduler::ListUnits(snapshot, filter);
    if (!page.ok()) return page.status();
    ToPictureId(snapshot, response->mutable_id());
    for (const UnitSnapshot* unit : page->units) ToProto(*unit, response->add_units());
    response->set_total(page->total);
    response->set_remaining(page->remaining);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* SnapshotService::Explain(grpc::CallbackServerContext* context,
                                                   const queueing::v1::ExplainRequest* request,
                                                   queueing::v1::Explanation* response) {
  return Answer(context, [&](const Snapshot& snapshot) -> absl::Status {
    absl::StatusOr<queueing::v1::Explanation> explanation =
        kq::scheduler::Explain(snapshot, {request->namespace_(), request->name()}, options_.explain);
    if (!explanation.ok()) return explanation.status();
    *response = *std::move(explanation);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* SnapshotService::Decisions(grpc::CallbackServerContext* context,
                                                     const queueing::v1::DecisionsRequest* request,
                                                     queueing::v1::DecisionsResponse* response) {
  return Answer(context, [&](const Snapshot& snapshot) {
    ToPictureId(snapshot, response->mutable_id());
    return SelectDecisions(parts_.decisions->Turns(), *request, response);
  });
}

}  // namespace kq::scheduler
