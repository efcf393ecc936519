#include "cli/kqctl/views.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/kqctl/amounts.h"
#include "libs/common/time_format.h"
#include "libs/scheduler_client/proto_time.h"

namespace kq::kqctl {
namespace {

namespace v1 = queueing::v1;

constexpr Table::Align kRight = Table::Align::kRight;

std::string AgeSince(bool known, const google::protobuf::Timestamp& since, absl::Time now) {
  return known ? AgeText(now - TimeOf(since)) : "-";
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string PlaceText(v1::Place place) {
  switch (place) {
    case v1::UNMAPPED:
      return "unmapped";
    case v1::INVALID:
      return "invalid";
    case v1::INACTIVE_PLACE:
      return "inactive";
    case v1::READY:
      return "ready";
    case v1::RESTING:
      return "resting";
    case v1::PARKED:
      return "parked";
    case v1::ASSUMED:
      return "assumed";
    case v1::ADMITTED:
      return "admitted";
    case v1::DRAINING:
      return "draining";
    case v1::FINISHED:
      return "finished";
    default:  // of a later version
      return absl::StrCat("place ", static_cast<int>(place));
  }
}

std::string WaitingText(const v1::QueueSnapshot& queue) {
  return absl::StrCat(queue.ready() + queue.resting() + queue.parked());
}

// "Name:      value"
void AddField(absl::string_view name, absl::string_view value, std::string* out) {
  absl::StrAppend(out, name, ":", std::string(name.size() < 11 ? 11 - name.size() : 1, ' '), Printable(value), "\n");
}

std::string JobText(const v1::UnitSnapshot& unit) {
  if (unit.job_kind().empty()) return "no job";
  return absl::StrCat(unit.job_kind(), " ", unit.job_name());
}

std::string PodsText(const v1::UnitSnapshot& unit) {
  std::string text;
  for (const v1::PodSetSnapshot& set : unit.pod_sets()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", set.name(), " ", set.admitted(), " of ", set.count(), " admitted");
    if (set.running() > 0) absl::StrAppend(&text, ", ", set.running(), " running");
    if (set.per_pod_size() > 0) absl::StrAppend(&text, ", each ", AmountsForPeople(set.per_pod()));
  }
  return text;
}

// "team-a", or "default/team-a (dup/team-a is not in force)".
std::string QuotaText(const v1::Explanation& explanation) {
  const std::string& quota = explanation.unit().quota();
  const auto& others = explanation.shadowed_quotas();
  if (others.empty()) return OrDash(quota);
  return absl::StrCat(explanation.quota_namespace(), "/", quota, " (", absl::StrJoin(others, ", "),
                      others.size() == 1 ? " is" : " are", " not in force)");
}

std::string AmountOrDash(const Amounts& amounts, const std::string& resource) {
  const std::optional<int64_t> amount = FindAmount(amounts, resource);
  return amount.has_value() ? AmountForPeople(resource, *amount) : "-";
}

Table LevelsTable(const v1::Explanation& explanation) {
  Table table({{"QUOTA"},
               {"RESOURCE"},
               {"USED", kRight},
               {"MIN", kRight},
               {"MAX", kRight},
               {"NEEDED", kRight},
               {"SHORT BY", kRight}});
  for (const v1::QuotaLevel& level : explanation.levels()) {
    std::string quota = level.quota();
    for (const std::string& resource :
         ResourcesOf({&level.used(), &level.min(), &level.max(), &explanation.unit().need()})) {
      const std::optional<int64_t> used = FindAmount(level.used(), resource);
      table.Add({quota, resource, AmountForPeople(resource, used.value_or(0)), AmountOrDash(level.min(), resource),
                 AmountOrDash(level.max(), resource), AmountOrDash(explanation.unit().need(), resource),
                 AmountOrDash(level.short_by(), resource)});
      quota.clear();
    }
    // A quota without any amounts is shown all the same.
    if (!quota.empty()) table.Add({quota, "-", "-", "-", "-", "-", "-"});
  }
  return table;
}

}  // namespace

std::string ShortReason(const v1::UnitSnapshot& unit) {
  const v1::Refusal& why = unit.refusal();
  std::string lacking =
      absl::StrCat(why.quota(), ": ", AmountForPeople(why.resource(), why.short_by()), " ", why.resource(), " short");
  switch (why.reason()) {
    case v1::REFUSAL_REASON_UNSPECIFIED:
      return unit.invalid() ? "the object could not be understood" : "";
    case v1::NO_QUOTA_LABEL:
      return "no quota label";
    case v1::QUEUE_NOT_FOUND:
      return absl::StrCat("no queue ", why.quota());
    case v1::QUOTA_NOT_FOUND:
      return absl::StrCat("no quota ", why.quota());
    case v1::QUOTA_INVALID:
      return absl::StrCat("quota ", why.quota(), " is invalid");
    case v1::QUOTA_CYCLE:
      return absl::StrCat("quota ", why.quota(), " is its own ancestor");
    case v1::QUOTA_EMPTY:
      return absl::StrCat("quota ", why.quota(), " has an empty max");
    case v1::OVER_MAX:
      return lacking;
    case v1::GUARANTEED_TO_OTHERS:
      return absl::StrCat(lacking, " (kept for others)");
    case v1::BEHIND_HEAD:
      return absl::StrCat("behind ", why.text().empty() ? "the head of its quota" : why.text());
    case v1::UNIT_INVALID:
      return absl::StrCat("invalid: ", why.text());
    case v1::INACTIVE:
      return "spec.active is false";
    case v1::POLICY_UNSUPPORTED:
      return "its queue has an unsupported policy";
    case v1::CHECKS_UNSUPPORTED:
      return "its queue names admission checks";
    case v1::WRITE_FAILED:
      return "the admission could not be written";
    default:  // of a later version
      return why.sentence();
  }
}

Table QueuesTable(const v1::Snapshot& snapshot) {
  std::vector<const v1::QueueSnapshot*> queues;
  for (const v1::QueueSnapshot& queue : snapshot.queues()) queues.push_back(&queue);
  std::stable_sort(queues.begin(), queues.end(),
                   [](const auto* a, const auto* b) { return a->priority() > b->priority(); });
  Table table({{"QUEUE"},
               {"POLICY"},
               {"PRIORITY", kRight},
               {"WAITING", kRight},
               {"READY", kRight},
               {"RESTING", kRight},
               {"PARKED", kRight},
               {"ASSUMED", kRight},
               {"TROUBLE"}});
  // A queue in order admits nothing when its quota, which has its name, is not.
  std::map<std::string, std::string> quota_trouble;
  for (const v1::QuotaSnapshot& quota : snapshot.quotas()) {
    const bool in_force = quota.shadowed_by().empty();
    if (in_force && !quota.trouble().empty()) quota_trouble.emplace(quota.name(), quota.trouble());
  }
  for (const v1::QueueSnapshot* queue : queues) {
    const auto of_quota = quota_trouble.find(queue->name());
    const std::string& trouble =
        queue->trouble().empty() && of_quota != quota_trouble.end() ? of_quota->second : queue->trouble();
    table.Add({queue->name(), OrDash(queue->policy()), absl::StrCat(queue->priority()), WaitingText(*queue),
               absl::StrCat(queue->ready()), absl::StrCat(queue->resting()), absl::StrCat(queue->parked()),
               absl::StrCat(queue->assumed()), trouble});
  }
  return table;
}

Table UnitsTable(const google::protobuf::RepeatedPtrField<v1::UnitSnapshot>& units, absl::Time now) {
  Table table({{"NAMESPACE"},
               {"NAME"},
               {"QUOTA"},
               {"PHASE"},
               {"PLACE"},
               {"POS", kRight},
               {"PRIORITY", kRight},
               {"AGE", kRight},
               {"WHY IT WAITS"}});
  for (const v1::UnitSnapshot& unit : units) {
    table.Add({unit.namespace_(), unit.name(), OrDash(unit.quota()), unit.phase(), PlaceText(unit.place()),
               unit.position() == 0 ? "-" : absl::StrCat(unit.position()), absl::StrCat(unit.priority()),
               AgeSince(unit.has_created(), unit.created(), now), ShortReason(unit)});
  }
  return table;
}

Table DecisionsTable(const v1::DecisionsResponse& response) {
  Table table({{"NUMBER", kRight}, {"TIME"}, {"DECISION"}, {"OBJECT"}, {"DETAIL"}});
  for (const v1::DecisionRecord& record : response.decisions()) {
    const std::string object =
        record.namespace_().empty() ? record.name() : absl::StrCat(record.namespace_(), "/", record.name());
    table.Add({absl::StrCat(record.sequence()), record.has_time() ? TimeText(TimeOf(record.time())) : "-",
               record.kind(), object, record.detail()});
  }
  return table;
}

std::string ExplanationText(const v1::Explanation& explanation, absl::Time now) {
  const v1::UnitSnapshot& unit = explanation.unit();
  std::string out;
  AddField("Unit",
           absl::StrCat(unit.namespace_(), "/", unit.name(), " (", JobText(unit), "), priority ", unit.priority()),
           &out);
  AddField("Quota", QuotaText(explanation), &out);
  if (unit.position() > 0) {
    AddField("Position",
             absl::StrCat(unit.position(), " of ", explanation.queue_length(), ", ", explanation.ahead(), " ahead"),
             &out);
  }
  std::string state = absl::StrCat(unit.phase(), ", ", PlaceText(unit.place()));
  if (unit.has_since()) {
    const absl::Time since = TimeOf(unit.since());
    absl::StrAppend(&state, " since ", TimeText(since), " (", AgeText(now - since), ")");
  }
  AddField("State", state, &out);
  if (!explanation.waits_for().empty()) AddField("Waits for", explanation.waits_for(), &out);
  if (unit.has_retry_at()) AddField("Next try", TimeText(TimeOf(unit.retry_at())), &out);
  AddField("Attempts", absl::StrCat(unit.attempts()), &out);
  AddField("Needs", AmountsForPeople(unit.need()), &out);
  AddField("Holds", AmountsForPeople(unit.charged()), &out);
  if (unit.pod_sets_size() > 0) AddField("Pods", PodsText(unit), &out);
  if (unit.has_refusal()) AddField("Refused", unit.refusal().sentence(), &out);
  if (!unit.message().empty() && unit.message() != unit.refusal().sentence()) AddField("Message", unit.message(), &out);
  if (explanation.levels_size() > 0) absl::StrAppend(&out, "\n", LevelsTable(explanation).Text());
  return out;
}

std::string SnapshotSummary(const v1::Snapshot& snapshot, absl::Time now) {
  int64_t waiting = 0, assumed = 0;
  for (const v1::QueueSnapshot& queue : snapshot.queues()) {
    waiting += queue.ready() + queue.resting() + queue.parked();
    assumed += queue.assumed();
  }
  std::string out;
  AddField("Leader", OrDash(snapshot.id().epoch()), &out);
  AddField("Revision", absl::StrCat(snapshot.id().revision()), &out);
  if (snapshot.id().has_as_of()) {
    const absl::Time as_of = TimeOf(snapshot.id().as_of());
    AddField("Changed", absl::StrCat(TimeText(as_of), " (", AgeText(now - as_of), " ago)"), &out);
  }
  AddField("Complete", snapshot.id().synced() ? "yes" : "no, not every object has been listed yet", &out);
  AddField("Contents",
           absl::StrCat(snapshot.queues_size(), " queues, ", snapshot.quotas_size(), " quotas, ", waiting,
                        " units waiting, ", assumed, " being admitted"),
           &out);
  return out;
}

}  // namespace kq::kqctl
