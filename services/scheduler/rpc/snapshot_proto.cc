#include "services/scheduler/rpc/snapshot_proto.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace kq::scheduler {
namespace {

namespace v1 = queueing::v1;

using Quantities = google::protobuf::RepeatedPtrField<v1::Quantity>;

v1::Place PlaceProto(Place place) {
  switch (place) {
    case Place::kUnmapped:
      return v1::UNMAPPED;
    case Place::kInvalid:
      return v1::INVALID;
    case Place::kInactive:
      return v1::INACTIVE_PLACE;
    case Place::kReady:
      return v1::READY;
    case Place::kResting:
      return v1::RESTING;
    case Place::kParked:
      return v1::PARKED;
    case Place::kAssumed:
      return v1::ASSUMED;
    case Place::kAdmitted:
      return v1::ADMITTED;
    case Place::kDraining:
      return v1::DRAINING;
    case Place::kFinished:
      return v1::FINISHED;
  }
  return v1::PLACE_UNSPECIFIED;
}

v1::RefusalReason ReasonProto(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return v1::REFUSAL_REASON_UNSPECIFIED;
    case Refusal::kNoQuotaLabel:
      return v1::NO_QUOTA_LABEL;
    case Refusal::kQueueNotFound:
      return v1::QUEUE_NOT_FOUND;
    case Refusal::kQuotaNotFound:
      return v1::QUOTA_NOT_FOUND;
    case Refusal::kQuotaInvalid:
      return v1::QUOTA_INVALID;
    case Refusal::kQuotaCycle:
      return v1::QUOTA_CYCLE;
    case Refusal::kQuotaEmpty:
      return v1::QUOTA_EMPTY;
    case Refusal::kOverMax:
      return v1::OVER_MAX;
    case Refusal::kGuaranteedToOthers:
      return v1::GUARANTEED_TO_OTHERS;
    case Refusal::kBehindHead:
      return v1::BEHIND_HEAD;
    case Refusal::kUnitInvalid:
      return v1::UNIT_INVALID;
    case Refusal::kInactive:
      return v1::INACTIVE;
    case Refusal::kPolicyUnsupported:
      return v1::POLICY_UNSUPPORTED;
    case Refusal::kChecksUnsupported:
      return v1::CHECKS_UNSUPPORTED;
    case Refusal::kWriteFailed:
      return v1::WRITE_FAILED;
  }
  return v1::REFUSAL_REASON_UNSPECIFIED;
}

void AddTexts(const std::vector<std::pair<std::string, std::string>>& texts, Quantities* out) {
  for (const auto& [resource, quantity] : texts) {
    v1::Quantity* entry = out->Add();
    entry->set_resource(resource);
    entry->set_quantity(quantity);
  }
}

const Admission* AdmissionOf(const QueueUnit& unit, absl::string_view pod_set) {
  for (const Admission& admission : unit.admissions) {
    if (admission.name == pod_set) return &admission;
  }
  return nullptr;
}

v1::PodSetSnapshot* AddPodSet(const PodSet& set, const Admission* admission, v1::UnitSnapshot* out) {
  v1::PodSetSnapshot* entry = out->add_pod_sets();
  entry->set_name(set.name);
  entry->set_count(set.count);
  if (admission != nullptr) {
    entry->set_admitted(admission->replicas);
    entry->set_running(admission->running);
  }
  return entry;
}

void AddPodSets(const QueueUnit& unit, v1::UnitSnapshot* out) {
  for (const PodSet& set : unit.pod_sets) {
    ToProto(set.per_pod, AddPodSet(set, AdmissionOf(unit, set.name), out)->mutable_per_pod());
  }
  if (!unit.pod_sets.empty()) return;
  // A unit without pod sets is one claim, admitted as a whole.
  if (const Admission* whole = AdmissionOf(unit, kDefaultPodSet); whole != nullptr) {
    AddPodSet({std::string(kDefaultPodSet), 1, {}}, whole, out);
  }
}

void AddAmounts(const UnitSnapshot& picture, v1::UnitSnapshot* out) {
  const QueueUnit& unit = *picture.unit;
  Resources charged = Held(unit);
  Resources need = Need(unit);
  if (picture.place == Place::kAssumed) charged.Add(std::exchange(need, {}));
  ToProto(charged, out->mutable_charged());
  ToProto(need, out->mutable_need());
}

}  // namespace

absl::string_view ShownPhase(const QueueUnit& unit) {
  return PhaseName(unit.phase == Phase::kUnset ? Phase::kEnqueued : unit.phase);
}

bool IsFinite(absl::Time time) { return time != absl::InfinitePast() && time != absl::InfiniteFuture(); }

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  const int64_t seconds = absl::ToUnixSeconds(time);
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return timestamp;
}

void ToProto(const Resources& amounts, google::protobuf::RepeatedPtrField<v1::Amount>* out) {
  for (const auto& [resource, amount] : amounts) {
    v1::Amount* entry = out->Add();
    entry->set_resource(resource);
    entry->set_amount(amount);
  }
}

void ToProto(const RefusalDetail& why, v1::Refusal* out) {
  out->set_reason(ReasonProto(why.refusal));
  out->set_quota(why.quota);
  out->set_resource(why.resource);
  out->set_requested(why.requested);
  out->set_used(why.used);
  out->set_limit(why.limit);
  out->set_reserved(why.reserved);
  out->set_short_by(why.short_by);
  out->set_text(why.text);
  out->set_sentence(RefusalSentence(why));
}

void ToProto(const UnitSnapshot& picture, v1::UnitSnapshot* out) {
  const QueueUnit& unit = *picture.unit;
  out->set_namespace_(unit.key.ns);
  out->set_name(unit.key.name);
  out->set_uid(unit.uid);
  out->set_quota(unit.quota);
  // The queue of its quota, for nobody waits by what the object names.
  out->set_queue(unit.quota.empty() ? unit.queue : unit.quota);
  out->set_priority(unit.priority);
  out->set_priority_class(unit.priority_class);
  const absl::string_view phase = ShownPhase(unit);
  out->set_phase(phase.data(), phase.size());
  out->set_place(PlaceProto(picture.place));
  out->set_position(picture.position);
  if (picture.why != nullptr && picture.why->refusal != Refusal::kNone) ToProto(*picture.why, out->mutable_refusal());
  out->set_message(unit.message);
  out->set_attempts(picture.attempts);
  if (IsFinite(unit.created)) *out->mutable_created() = ToTimestamp(unit.created);
  if (IsFinite(picture.since)) *out->mutable_since() = ToTimestamp(picture.since);
  if (picture.place == Place::kResting && IsFinite(picture.retry_at)) {
    *out->mutable_retry_at() = ToTimestamp(picture.retry_at);
  }
  AddTexts(unit.request_text, out->mutable_request());
  AddTexts(unit.resource_text, out->mutable_resources());
  out->set_pods_running(unit.pods_running);
  out->set_pods_pending(unit.pods_pending);
  out->set_job_api_version(unit.consumer.api_version);
  out->set_job_kind(unit.consumer.kind);
  out->set_job_name(unit.consumer.key.name);
  AddPodSets(unit, out);
  AddAmounts(picture, out);
  out->set_invalid(!unit.invalid.empty());
}

void ToProto(const QueueSnapshot& queue, Detail detail, v1::QueueSnapshot* out) {
  out->set_name(queue.queue.key.name);
  out->set_policy(queue.policy);
  out->set_priority(queue.queue.priority);
  out->set_ready(queue.ready);
  out->set_resting(queue.resting);
  out->set_parked(queue.parked);
  out->set_assumed(queue.assumed);
  out->set_trouble(queue.trouble);
  if (detail == Detail::kWithoutUnits) return;
  out->mutable_waiting()->Reserve(static_cast<int>(queue.waiting.size()));
  for (const UnitSnapshot& unit : queue.waiting) {
    v1::UnitSnapshot* waiting = out->add_waiting();
    ToProto(unit, waiting);
    waiting->set_queue(queue.queue.key.name);  // the object need not name it
  }
}

void ToProto(const QuotaSnapshot& quota, Detail detail, v1::QuotaSnapshot* out) {
  out->set_namespace_(quota.quota.key.ns);
  out->set_name(quota.quota.key.name);
  out->set_parent(quota.quota.parent);
  out->set_lends(quota.quota.lends);
  AddTexts(quota.quota.min_text, out->mutable_min());
  AddTexts(quota.quota.max_text, out->mutable_max());
  ToProto(quota.quota.min, out->mutable_min_amounts());
  ToProto(quota.quota.max, out->mutable_max_amounts());
  ToProto(quota.used, out->mutable_used());
  ToProto(quota.self_used, out->mutable_self_used());
  ToProto(quota.children_used, out->mutable_children_used());
  ToProto(quota.guaranteed_used, out->mutable_guaranteed_used());
  ToProto(quota.self_guaranteed_used, out->mutable_self_guaranteed_used());
  ToProto(quota.children_guaranteed_used, out->mutable_children_guaranteed_used());
  for (const std::string& child : quota.children) out->add_children(child);
  out->set_trouble(quota.trouble);
  if (quota.shadowed_by.has_value()) out->set_shadowed_by(quota.shadowed_by->ToString());
  out->set_warning(quota.warning);
  if (detail == Detail::kWithoutUnits) return;
  for (const UnitSnapshot& unit : quota.charged) ToProto(unit, out->add_charged());
}

void ToPictureId(const Snapshot& snapshot, v1::PictureId* out) {
  out->set_epoch(snapshot.epoch);
  out->set_revision(snapshot.revision);
  if (IsFinite(snapshot.as_of)) *out->mutable_as_of() = ToTimestamp(snapshot.as_of);
  out->set_synced(snapshot.synced);
}

void ToProto(const Snapshot& snapshot, Detail detail, v1::Snapshot* out) {
  ToPictureId(snapshot, out->mutable_id());
  for (const auto& queue : snapshot.queues) ToProto(*queue, detail, out->add_queues());
  for (const auto& quota : snapshot.quotas) ToProto(*quota, detail, out->add_quotas());
  if (detail == Detail::kWithoutUnits || snapshot.unplaced == nullptr) return;
  for (const UnitSnapshot& unit : *snapshot.unplaced) ToProto(unit, out->add_unplaced());
}

}  // namespace kq::scheduler
