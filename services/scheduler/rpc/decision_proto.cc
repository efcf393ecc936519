#include "services/scheduler/rpc/decision_proto.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "libs/api/object_key.h"
#include "services/scheduler/rpc/snapshot_proto.h"

namespace kq::scheduler {
namespace {

using queueing::v1::DecisionRecord;

DecisionRecord Record(const char* kind, const ObjectKey& object, const std::string& uid, uint64_t version) {
  DecisionRecord record;
  record.set_kind(kind);
  record.set_namespace_(object.ns);
  record.set_name(object.name);
  record.set_uid(uid);
  record.set_version(version);
  return record;
}

const ObjectKey& ObjectOf(const Decision& decision) {
  struct Visitor {
    const ObjectKey& operator()(const Dequeue& d) { return d.unit; }
    const ObjectKey& operator()(const Requeue& d) { return d.unit; }
    const ObjectKey& operator()(const CreateQueue& d) { return d.queue.key; }
    const ObjectKey& operator()(const UpdateQueue& d) { return d.queue; }
    const ObjectKey& operator()(const DeleteQueue& d) { return d.queue; }
    const ObjectKey& operator()(const Notify& d) { return d.object; }
  };
  return std::visit(Visitor(), decision);
}

// Whether it is about a QueueUnit; a Queue may have the same namespace and name.
bool IsAboutUnit(const Decision& decision) {
  if (const Notify* notify = std::get_if<Notify>(&decision)) return notify->kind == Notify::Kind::kUnit;
  return std::holds_alternative<Dequeue>(decision) || std::holds_alternative<Requeue>(decision);
}

struct ToRecord {
  DecisionRecord operator()(const Dequeue& d) {
    DecisionRecord record = Record("Dequeue", d.unit, d.uid, d.version);
    std::string detail = "admitted";
    for (const Admission& admission : d.admissions) {
      absl::StrAppend(&detail, " ", admission.name, "=", admission.replicas);
    }
    record.set_detail(detail);
    return record;
  }
  DecisionRecord operator()(const Requeue& d) {
    DecisionRecord record = Record("Requeue", d.unit, d.uid, d.version);
    ToProto(d.why, record.mutable_refusal());
    record.set_detail(record.refusal().sentence());
    return record;
  }
  DecisionRecord operator()(const CreateQueue& d) {
    DecisionRecord record = Record("CreateQueue", d.queue.key, "", 0);
    record.set_detail(absl::StrCat("policy ", d.queue.policy, ", priority ", d.queue.priority));
    return record;
  }
  DecisionRecord operator()(const UpdateQueue& d) {
    DecisionRecord record = Record("UpdateQueue", d.queue, d.uid, d.version);
    record.set_detail(absl::StrCat("policy ", d.policy));
    return record;
  }
  DecisionRecord operator()(const DeleteQueue& d) { return Record("DeleteQueue", d.queue, d.uid, d.version); }
  DecisionRecord operator()(const Notify& d) {
    DecisionRecord record = Record("Notify", d.object, d.uid, 0);
    record.set_detail(absl::StrCat(d.reason, ": ", d.message));
    return record;
  }
};

}  // namespace

DecisionRecord ToProto(const Decision& decision) { return std::visit(ToRecord(), decision); }

absl::Status SelectDecisions(const std::vector<DecidedTurn>& turns, const queueing::v1::DecisionsRequest& request,
                             queueing::v1::DecisionsResponse* out) {
  if (request.limit() < 0) return absl::InvalidArgumentError(absl::StrCat("limit: ", request.limit(), " is negative"));
  if (request.name().empty() != request.namespace_().empty()) {
    return absl::InvalidArgumentError("namespace and name: either both or none may be given");
  }
  const ObjectKey unit{request.namespace_(), request.name()};
  std::vector<DecisionRecord> newest;
  for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
    if (turn->decisions == nullptr) continue;
    for (size_t i = turn->decisions->size(); i > 0; --i) {
      if (request.limit() != 0 && static_cast<int64_t>(newest.size()) == request.limit()) break;
      const Decision& decision = (*turn->decisions)[i - 1];
      if (!unit.name.empty() && !(IsAboutUnit(decision) && ObjectOf(decision) == unit)) continue;
      DecisionRecord& record = newest.emplace_back(ToProto(decision));
      record.set_sequence(turn->first + i - 1);
      if (IsFinite(turn->now)) *record.mutable_time() = ToTimestamp(turn->now);
    }
  }
  for (auto record = newest.rbegin(); record != newest.rend(); ++record) *out->add_decisions() = std::move(*record);
  if (!turns.empty() && turns.front().first > 0) out->set_dropped(turns.front().first - 1);
  return absl::OkStatus();
}

}  // namespace kq::scheduler
