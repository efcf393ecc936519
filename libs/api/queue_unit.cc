#include "libs/api/queue_unit.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kq {
namespace {

struct NamedPhase {
  Phase phase;
  absl::string_view name;
};
constexpr std::array<NamedPhase, 12> kPhases = {{
    {Phase::kUnset, ""},
    {Phase::kEnqueued, "Enqueued"},
    {Phase::kReserved, "Reserved"},
    {Phase::kDequeued, "Dequeued"},
    {Phase::kRunning, "Running"},
    {Phase::kSucceed, "Succeed"},
    {Phase::kFailed, "Failed"},
    {Phase::kSchedReady, "SchedReady"},
    {Phase::kSchedSucceed, "SchedSucceed"},
    {Phase::kSchedFailed, "SchedFailed"},
    {Phase::kTimeoutBackoff, "TimeoutBackoff"},
    {Phase::kPreempted, "Preempted"},
}};

const PodSet* FindPodSet(const QueueUnit& unit, absl::string_view name) {
  for (const PodSet& set : unit.pod_sets) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

// All of what the unit claims, where it is not told by pod sets.
const Resources& Whole(const QueueUnit& unit) { return unit.resource.Empty() ? unit.request : unit.resource; }

bool StandsForWhole(const QueueUnit& unit, const Admission& admission) {
  return admission.name == kDefaultPodSet && FindPodSet(unit, admission.name) == nullptr;
}

bool AdmittedAsWhole(const QueueUnit& unit) {
  return std::any_of(unit.admissions.begin(), unit.admissions.end(), [&unit](const Admission& admission) {
    return admission.replicas > 0 && StandsForWhole(unit, admission);
  });
}

// A unit of an older version: its phase holds quota, but it names no admissions.
bool HoldsByPhase(const QueueUnit& unit) { return unit.admissions.empty() && HoldsQuota(unit.phase); }

int64_t Admitted(const QueueUnit& unit, absl::string_view pod_set) {
  int64_t sum = 0;
  for (const Admission& admission : unit.admissions) {
    if (admission.name == pod_set) sum = SaturatingAdd(sum, std::max<int64_t>(admission.replicas, 0));
  }
  return sum;
}

// Whether there is nothing to ask for, whatever the counts say.
bool AsksForNothing(const QueueUnit& unit) {
  return IsFinished(unit.phase) || HoldsByPhase(unit) || AdmittedAsWhole(unit);
}

// The longest message that the API server takes in a condition is 32768
// characters. This many bytes say enough.
constexpr size_t kMaxMessageBytes = 4096;

// The beginning of `text`, never half a character.
std::string Shortened(absl::string_view text) {
  if (text.size() <= kMaxMessageBytes) return std::string(text);
  size_t end = kMaxMessageBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// Conditions while they are edited.
class ConditionList {
 public:
  ConditionList(const std::vector<Condition>& existing, absl::Time now) : conditions_(existing), now_(now) {}

  void Set(absl::string_view type, bool status, absl::string_view reason, absl::string_view message) {
    Condition* condition = Find(type);
    if (condition == nullptr) {
      MakeRoom();
      condition = &conditions_.emplace_back();
      condition->type = std::string(type);
    }
    const absl::string_view text = status ? "True" : "False";
    if (condition->status != text) condition->last_transition = now_;
    condition->status = std::string(text);
    condition->reason = std::string(reason);
    condition->message = Shortened(message);
  }

  // Nobody is told that something ended that never began.
  void EndIfPresent(absl::string_view type, absl::string_view reason, absl::string_view message) {
    if (Find(type) != nullptr) Set(type, false, reason, message);
  }

  std::vector<Condition> Take() { return std::move(conditions_); }

 private:
  static bool IsOurs(const Condition& condition) {
    static constexpr std::array<absl::string_view, 5> kTypes = {"QuotaReserved", "Admitted", "PodsReady", "Evicted",
                                                                "Finished"};
    return std::find(kTypes.begin(), kTypes.end(), condition.type) != kTypes.end();
  }

  Condition* Find(absl::string_view type) {
    for (Condition& condition : conditions_) {
      if (condition.type == type) return &condition;
    }
    return nullptr;
  }

  // Gives up the last foreign conditions until one more fits.
  void MakeRoom() {
    for (size_t i = conditions_.size(); i > 0 && conditions_.size() >= kMaxConditions; --i) {
      if (!IsOurs(conditions_[i - 1])) conditions_.erase(conditions_.begin() + static_cast<ptrdiff_t>(i) - 1);
    }
  }

  std::vector<Condition> conditions_;
  const absl::Time now_;
};

constexpr absl::string_view kWaiting = "The queue unit is waiting in its queue";
constexpr absl::string_view kReservedText = "Quota is reserved for the queue unit";
constexpr absl::string_view kAdmittedText = "The queue unit is admitted";

void SetWaiting(ConditionList* list) {
  list->Set("QuotaReserved", false, "Pending", kWaiting);
  list->Set("Admitted", false, "Pending", kWaiting);
  list->EndIfPresent("PodsReady", "Pending", kWaiting);
  list->EndIfPresent("Evicted", "Requeued", kWaiting);
}

void SetAdmitted(ConditionList* list) {
  list->Set("QuotaReserved", true, "QuotaReserved", kReservedText);
  list->Set("Admitted", true, "Admitted", kAdmittedText);
}

void SetBackoff(absl::string_view message, ConditionList* list) {
  constexpr absl::string_view kReason = "BackoffTimeout";
  constexpr absl::string_view kText = "The queue unit waits for its backoff to end";
  list->Set("QuotaReserved", false, kReason, kText);
  list->Set("Admitted", false, kReason, kText);
  list->Set("PodsReady", false, kReason, kText);
  list->Set("Evicted", true, kReason, message);
}

}  // namespace

absl::string_view PhaseName(Phase phase) {
  for (const NamedPhase& named : kPhases) {
    if (named.phase == phase) return named.name;
  }
  return "";
}

std::optional<Phase> PhaseFromName(absl::string_view name) {
  for (const NamedPhase& named : kPhases) {
    if (named.name == name) return named.phase;
  }
  return std::nullopt;
}

bool IsWaiting(Phase phase) {
  return phase == Phase::kUnset || phase == Phase::kEnqueued || phase == Phase::kPreempted;
}

bool IsFinished(Phase phase) { return phase == Phase::kSucceed || phase == Phase::kFailed; }

bool HoldsQuota(Phase phase) {
  return phase == Phase::kReserved || phase == Phase::kDequeued || phase == Phase::kRunning ||
         phase == Phase::kSchedReady || phase == Phase::kSchedSucceed;
}

Resources ReservedFor(const PodSet& set, int64_t replicas) {
  return replicas > 0 ? set.per_pod.Scaled(replicas) : Resources();
}

Resources Need(const QueueUnit& unit) {
  if (AsksForNothing(unit)) return {};
  if (unit.pod_sets.empty()) return Whole(unit);
  Resources need;
  for (const PodSet& set : unit.pod_sets) {
    const int64_t open = SaturatingSubtract(set.count, Admitted(unit, set.name));
    if (open > 0) need.Add(set.per_pod.Scaled(open));
  }
  return need;
}

Resources Held(const QueueUnit& unit) {
  if (IsFinished(unit.phase)) return {};
  if (unit.admissions.empty()) return HoldsQuota(unit.phase) ? Whole(unit) : Resources();
  Resources held;
  for (const Admission& admission : unit.admissions) {
    Resources granted;
    if (const PodSet* set = FindPodSet(unit, admission.name); set != nullptr) {
      granted = ReservedFor(*set, admission.replicas);
    } else if (admission.replicas > 0 && StandsForWhole(unit, admission)) {
      granted = Whole(unit);
    }
    held.Add(Resources::Max(granted, admission.resources));
  }
  return held;
}

bool HasAdmission(const QueueUnit& unit) {
  return std::any_of(unit.admissions.begin(), unit.admissions.end(),
                     [](const Admission& admission) { return admission.replicas > 0; });
}

std::vector<Admission> FullAdmissions(const QueueUnit& unit) {
  std::vector<Admission> full = unit.admissions;
  if (AsksForNothing(unit)) return full;
  const auto grant = [&](absl::string_view name, int64_t count) {
    const int64_t open = SaturatingSubtract(count, Admitted(unit, name));
    auto at = std::find_if(full.begin(), full.end(), [name](const Admission& a) { return a.name == name; });
    if (at == full.end()) {
      at = full.insert(full.end(), Admission());
      at->name = std::string(name);
    }
    if (open > 0) at->replicas = SaturatingAdd(std::max<int64_t>(at->replicas, 0), open);
    return at;
  };
  for (const PodSet& set : unit.pod_sets) {
    const auto at = grant(set.name, set.count);
    at->resources = Resources::Max(at->resources, ReservedFor(set, at->replicas));
  }
  if (unit.pod_sets.empty()) grant(kDefaultPodSet, 1);
  return full;
}

std::vector<Condition> ConditionsFor(Phase phase, const std::vector<Condition>& existing, absl::string_view message,
                                     absl::Time now) {
  ConditionList list(existing, now);
  switch (phase) {
    case Phase::kUnset:
    case Phase::kEnqueued:
    case Phase::kPreempted:
      SetWaiting(&list);
      break;
    case Phase::kReserved:
      list.Set("QuotaReserved", true, "QuotaReserved", kReservedText);
      list.Set("Admitted", false, "WaitingForAdmissionChecks", "Admission checks are not ready yet");
      break;
    case Phase::kDequeued:
    case Phase::kSchedReady:
    case Phase::kSchedSucceed:
      SetAdmitted(&list);
      break;
    case Phase::kRunning:
      SetAdmitted(&list);
      list.Set("PodsReady", true, "PodsRunning", "The pods of the job are running");
      break;
    case Phase::kSucceed:
      list.Set("Finished", true, "Succeeded", message);
      break;
    case Phase::kFailed:
      list.Set("Finished", true, "Failed", message);
      break;
    case Phase::kSchedFailed:
      list.Set("Admitted", false, "SchedulingFailed", message);
      break;
    case Phase::kTimeoutBackoff:
      SetBackoff(message, &list);
      break;
  }
  return list.Take();
}

std::vector<Condition> EvictedConditions(absl::string_view reason, const std::vector<Condition>& existing,
                                         absl::string_view message, absl::Time now) {
  ConditionList list(existing, now);
  list.Set("Admitted", false, reason, message);
  list.Set("Evicted", true, reason, message);
  return list.Take();
}

}  // namespace kq
