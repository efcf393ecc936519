#include "services/scheduler/runtime/event_json.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"
#include "services/scheduler/runtime/value_json.h"

namespace kq::scheduler {
namespace {

void PutKey(JsonObject* object, const ObjectKey& key) {
  PutText(object, "ns", key.ns);
  PutText(object, "name", key.name);
}

JsonObject Typed(absl::string_view type) {
  JsonObject object;
  PutText(&object, "type", std::string(type));
  return object;
}

JsonObject Removal(absl::string_view type, const ObjectKey& key, absl::string_view uid, uint64_t version) {
  JsonObject object = Typed(type);
  PutKey(&object, key);
  PutText(&object, "uid", std::string(uid));
  PutInt(&object, "version", static_cast<int64_t>(version));
  return object;
}

void PutStatus(JsonObject* object, const absl::Status& status) {
  PutInt(object, "code", status.raw_code());
  PutText(object, "error", std::string(status.message()));
}

absl::Status ReadStatus(ValueReader* reader) {
  return absl::Status(static_cast<absl::StatusCode>(reader->Int("code")), reader->Text("error"));
}

absl::string_view KindName(ListedKind kind) {
  switch (kind) {
    case ListedKind::kUnits:
      return "units";
    case ListedKind::kQueues:
      return "queues";
    case ListedKind::kQuotas:
      return "quotas";
  }
  return "";
}

struct EventEncoder {
  JsonObject operator()(const UnitUpserted& e) const {
    JsonObject object = Typed("UnitUpserted");
    object["unit"] = EncodeUnit(e.unit);
    return object;
  }
  JsonObject operator()(const QueueUpserted& e) const {
    JsonObject object = Typed("QueueUpserted");
    object["queue"] = EncodeQueue(e.queue);
    return object;
  }
  JsonObject operator()(const QuotaUpserted& e) const {
    JsonObject object = Typed("QuotaUpserted");
    object["quota"] = EncodeQuota(e.quota);
    return object;
  }
  JsonObject operator()(const UnitRemoved& e) const { return Removal("UnitRemoved", e.unit, e.uid, e.version); }
  JsonObject operator()(const QueueRemoved& e) const { return Removal("QueueRemoved", e.queue, "", e.version); }
  JsonObject operator()(const QuotaRemoved& e) const { return Removal("QuotaRemoved", e.quota, "", e.version); }
  JsonObject operator()(const Listed& e) const {
    JsonObject object = Typed("Listed");
    PutText(&object, "kind", std::string(KindName(e.kind)));
    return object;
  }
  JsonObject operator()(const LeadershipTaken& e) const {
    JsonObject object = Typed("LeadershipTaken");
    PutText(&object, "epoch", e.epoch);
    return object;
  }
  JsonObject operator()(const WriteFinished& e) const {
    JsonObject object = Removal("WriteFinished", e.unit, e.uid, e.based_on);
    if (e.result.ok()) {
      object["unit"] = EncodeUnit(*e.result);
    } else {
      PutStatus(&object, e.result.status());
    }
    return object;
  }
  JsonObject operator()(const TellFinished& e) const {
    JsonObject object = Removal("TellFinished", e.unit, e.uid, e.based_on);
    object["written"] = e.written;
    return object;
  }
  JsonObject operator()(const QueueWriteFinished& e) const {
    JsonObject object = Typed("QueueWriteFinished");
    PutText(&object, "queue", e.queue);
    PutStatus(&object, e.status);
    return object;
  }
};

absl::StatusOr<Event> DecodeListed(const std::string& kind) {
  for (const ListedKind known : {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas}) {
    if (KindName(known) == kind) return Event(Listed{known});
  }
  return absl::InvalidArgumentError(absl::StrCat("event.kind: unknown kind ", kind));
}

absl::StatusOr<Event> DecodeAnswer(ValueReader* reader) {
  WriteFinished answer{reader->Key(), reader->Text("uid"), reader->Version("version"), absl::UnknownError("")};
  if (reader->Has("unit")) {
    KQ_ASSIGN_OR_RETURN(QueueUnit unit, DecodeUnit(reader->Value("unit")));
    answer.result = std::move(unit);
  } else {
    absl::Status status = ReadStatus(reader);
    if (status.ok()) return absl::InvalidArgumentError("event: a WriteFinished has neither a unit nor an error");
    answer.result = std::move(status);
  }
  return Event(std::move(answer));
}

absl::StatusOr<Event> DecodeByType(const std::string& type, ValueReader* reader) {
  if (type == "UnitUpserted") {
    KQ_ASSIGN_OR_RETURN(QueueUnit unit, DecodeUnit(reader->Value("unit")));
    return Event(UnitUpserted{std::move(unit)});
  }
  if (type == "QueueUpserted") {
    KQ_ASSIGN_OR_RETURN(Queue queue, DecodeQueue(reader->Value("queue")));
    return Event(QueueUpserted{std::move(queue)});
  }
  if (type == "QuotaUpserted") {
    KQ_ASSIGN_OR_RETURN(Quota quota, DecodeQuota(reader->Value("quota")));
    return Event(QuotaUpserted{std::move(quota)});
  }
  if (type == "UnitRemoved") return Event(UnitRemoved{reader->Key(), reader->Text("uid"), reader->Version("version")});
  if (type == "QueueRemoved") return Event(QueueRemoved{reader->Key(), reader->Version("version")});
  if (type == "QuotaRemoved") return Event(QuotaRemoved{reader->Key(), reader->Version("version")});
  if (type == "Listed") return DecodeListed(reader->Text("kind"));
  if (type == "LeadershipTaken") return Event(LeadershipTaken{reader->Text("epoch")});
  if (type == "WriteFinished") return DecodeAnswer(reader);
  if (type == "QueueWriteFinished") return Event(QueueWriteFinished{reader->Text("queue"), ReadStatus(reader)});
  if (type == "TellFinished") {
    return Event(TellFinished{reader->Key(), reader->Text("uid"), reader->Version("version"), reader->Bool("written")});
  }
  return absl::InvalidArgumentError(absl::StrCat("event.type: unknown type ", type));
}

JsonObject EncodeRefusal(const RefusalDetail& why) {
  JsonObject object;
  PutText(&object, "refusal", std::string(RefusalName(why.refusal)));
  PutText(&object, "quota", why.quota);
  PutText(&object, "resource", why.resource);
  PutInt(&object, "requested", why.requested);
  PutInt(&object, "used", why.used);
  PutInt(&object, "limit", why.limit);
  PutInt(&object, "reserved", why.reserved);
  PutInt(&object, "shortBy", why.short_by);
  PutText(&object, "text", why.text);
  return object;
}

struct DecisionEncoder {
  JsonObject operator()(const Dequeue& d) const {
    JsonObject object = Removal("Dequeue", d.unit, d.uid, d.version);
    object["admissions"] = EncodeAdmissions(d.admissions);
    object["conditions"] = EncodeConditions(d.conditions);
    PutInt(&object, "attempts", d.attempts);
    PutTime(&object, "now", d.now);
    return object;
  }
  JsonObject operator()(const Requeue& d) const {
    JsonObject object = Removal("Requeue", d.unit, d.uid, d.version);
    object["why"] = EncodeRefusal(d.why);
    object["conditions"] = EncodeConditions(d.conditions);
    PutInt(&object, "attempts", d.attempts);
    PutTime(&object, "now", d.now);
    object["withEvent"] = d.with_event;
    return object;
  }
  JsonObject operator()(const CreateQueue& d) const {
    JsonObject object = Typed("CreateQueue");
    PutKey(&object, d.queue.key);
    object["queue"] = EncodeQueue(d.queue);
    object["annotations"] = EncodePairs(d.annotations);
    PutText(&object, "parentQuota", d.parent_quota);
    return object;
  }
  JsonObject operator()(const UpdateQueue& d) const {
    JsonObject object = Removal("UpdateQueue", d.queue, d.uid, d.version);
    PutText(&object, "policy", d.policy);
    PutText(&object, "carriedPolicy", d.carried_policy);
    return object;
  }
  JsonObject operator()(const DeleteQueue& d) const { return Removal("DeleteQueue", d.queue, d.uid, d.version); }
  JsonObject operator()(const Notify& d) const {
    JsonObject object = Removal("Notify", d.object, d.uid, 0);
    object["kind"] = static_cast<int64_t>(d.kind);
    object["warning"] = d.warning;
    PutText(&object, "reason", d.reason);
    PutText(&object, "message", d.message);
    return object;
  }
};

struct KindOfDecision {
  absl::string_view operator()(const Dequeue&) const { return "Dequeue"; }
  absl::string_view operator()(const Requeue&) const { return "Requeue"; }
  absl::string_view operator()(const CreateQueue&) const { return "CreateQueue"; }
  absl::string_view operator()(const UpdateQueue&) const { return "UpdateQueue"; }
  absl::string_view operator()(const DeleteQueue&) const { return "DeleteQueue"; }
  absl::string_view operator()(const Notify&) const { return "Notify"; }
};

}  // namespace

JsonObject EncodeEvent(const Event& event) { return std::visit(EventEncoder{}, event); }

absl::StatusOr<Event> DecodeEvent(const Json& value) {
  absl::Status error;
  ValueReader reader(value, "event", &error);
  const std::string type = reader.Text("type");
  if (!error.ok()) return error;
  absl::StatusOr<Event> event = DecodeByType(type, &reader);
  if (!error.ok()) return error;
  return event;
}

JsonObject EncodeDecision(const Decision& decision) { return std::visit(DecisionEncoder{}, decision); }

absl::string_view DecisionKind(const Decision& decision) { return std::visit(KindOfDecision{}, decision); }

}  // namespace kq::scheduler
