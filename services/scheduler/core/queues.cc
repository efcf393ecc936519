#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/api/quantity.h"
#include "services/scheduler/core/core_state.h"
#include "services/scheduler/core/queue_policy.h"

namespace kq::scheduler {
namespace {

constexpr int32_t kNewQueuePriority = 1000;
constexpr absl::string_view kDefaultPolicy = "Priority";

// The policy of a Queue that is made for this quota.
std::string PolicyFor(const Quota& quota) {
  const bool known = !quota.queue_policy.empty() && QueuePolicyFromName(quota.queue_policy).has_value();
  return known ? quota.queue_policy : std::string(kDefaultPolicy);
}

Notify AboutQueue(const Queue& queue, std::string message) {
  return Notify{.kind = Notify::Kind::kQueue,
                .object = queue.key,
                .uid = queue.uid,
                .reason = "AddQueueFail",
                .message = std::move(message)};
}

// What is guaranteed above the limit: "min of cpu, 8, is above its max, 4"; empty if nothing is.
std::string MinAboveMax(const Quota& quota) {
  const auto spelled = [](const std::vector<std::pair<std::string, std::string>>& texts, const std::string& resource) {
    for (const auto& [name, text] : texts) {
      if (name == resource) return text;
    }
    return std::string("0");
  };
  std::vector<std::string> found;
  for (const auto& [resource, min] : quota.min) {
    if (!quota.max.Has(resource) || min <= quota.max.At(resource)) continue;
    found.push_back(absl::StrCat("min of ", resource, ", ", spelled(quota.min_text, resource), ", is above its max, ",
                                 spelled(quota.max_text, resource)));
  }
  return absl::StrJoin(found, "; ");
}

// Amounts that are most likely a mistake: "max: hugepages-2Mi: 256 bytes is not a multiple of ..."; empty if
// there are none.
std::string OddAmounts(const Quota& quota) {
  std::vector<std::string> found;
  const auto look_at = [&found](absl::string_view field, const Resources& amounts) {
    for (const auto& [resource, amount] : amounts) {
      if (const std::string warning = AmountWarning(resource, amount); !warning.empty()) {
        found.push_back(absl::StrCat(field, ": ", warning));
      }
    }
  };
  look_at("spec.min", quota.min);
  look_at("spec.max", quota.max);
  return absl::StrJoin(found, "; ");
}

}  // namespace

std::string CoreState::ShadowedText(const ObjectKey& in_force) {
  return absl::StrCat("not in force: ", in_force.ToString(), " has the same name and is older");
}

CoreState::Warning CoreState::WarningAbout(const Quota& quota) {
  if (!quota.unknown_fields.empty()) {
    return {"QuotaUnknownField",
            absl::StrCat(quota.unknown_fields, ": not a field that is read; those are spec.min and spec.max")};
  }
  if (const std::string above = MinAboveMax(quota); !above.empty()) {
    return {"MinAboveMax", absl::StrCat(above, ": no more than max is given")};
  }
  if (std::string odd = OddAmounts(quota); !odd.empty()) return {"QuotaAmountOdd", std::move(odd)};
  if (!quota.odd_lends.empty()) {
    return {"QuotaLabelOdd", absl::StrCat("label ", kLendLabel, ": \"", quota.odd_lends,
                                          "\" is neither true nor false: what is free of its min is lent")};
  }
  return {};
}

void CoreState::SortQueues() {
  queue_order.clear();
  for (auto& [name, record] : queues) queue_order.push_back(&record);
  std::stable_sort(queue_order.begin(), queue_order.end(),
                   [](const QueueRecord* a, const QueueRecord* b) { return a->object.priority > b->object.priority; });
}

void CoreState::Configure(QueueRecord* record) {
  const Queue& queue = record->object;
  record->unusable = RefusalDetail{};
  record->unusable.quota = queue.key.name;
  record->trouble.clear();
  const std::optional<QueuePolicy> policy = QueuePolicyFromName(queue.policy);
  if (policy.has_value()) {
    // Everybody is placed anew by the caller, so nobody stays behind a head of before.
    record->pending.SetPolicy(*policy);
    record->has_policy = true;
  } else if (record->has_policy) {
    record->trouble = absl::StrCat("policy \"", queue.policy, "\" is not supported; the one before it stays in force");
  } else {
    record->unusable.refusal = Refusal::kPolicyUnsupported;
    record->unusable.text = absl::StrCat("\"", queue.policy, "\"");
  }
  if (!queue.admission_checks.empty()) {
    record->unusable.refusal = Refusal::kChecksUnsupported;
    record->unusable.text = absl::StrJoin(queue.admission_checks, ", ");
  }
  if (!queue.invalid.empty()) record->trouble = absl::StrCat("invalid: ", queue.invalid);
  if (record->unusable.refusal != Refusal::kNone) record->trouble = RefusalSentence(record->unusable);
  NoteTrouble(*record);
}

void CoreState::NoteTrouble(const QueueRecord& record) {
  DropNotices(record.object.key);
  if (!record.trouble.empty()) notices.push_back(AboutQueue(record.object, record.trouble));
}

void CoreState::DropNotices(const ObjectKey& queue) {
  std::erase_if(notices, [&queue](const Decision& decision) { return std::get<Notify>(decision).object == queue; });
}

void CoreState::ReconcileQueues(absl::Time now, std::vector<Decision>* decisions) {
  if (reconcile_at.has_value() && *reconcile_at <= now) queues_to_reconcile = true;
  if (!queues_to_reconcile) return;
  queues_to_reconcile = false;
  reconcile_at.reset();
  CreateMissingQueues(now, decisions);
  CarryPolicies(now, decisions);
  DeleteOrphans(now, decisions);
  TellTroubles(decisions);
}

bool CoreState::MayWriteQueue(const std::string& name, absl::Time now) {
  const auto write = queue_writes.find(name);
  if (write == queue_writes.end()) return true;
  if (write->second.on_its_way) return false;
  if (write->second.retry_at <= now) return true;
  reconcile_at = std::min(reconcile_at.value_or(absl::InfiniteFuture()), write->second.retry_at);
  return false;
}

void CoreState::CreateMissingQueues(absl::Time now, std::vector<Decision>* decisions) {
  for (const Quota* quota : ledger.Active()) {
    const std::string& name = quota->key.name;
    if (queues.contains(name) || !MayWriteQueue(name, now)) continue;
    CreateQueue create;
    create.queue.key = ObjectKey{std::string(kQueueNamespace), name};
    create.queue.policy = PolicyFor(*quota);
    create.queue.priority = kNewQueuePriority;
    create.queue.created_by_us = true;
    create.queue.carried_policy = quota->queue_policy;
    create.annotations = quota->queue_annotations;
    create.parent_quota = quota->parent;
    queue_writes[name].on_its_way = true;
    decisions->push_back(std::move(create));
    if (!quota->queue_policy.empty() && PolicyFor(*quota) != quota->queue_policy) {
      decisions->push_back(
          Notify{.kind = Notify::Kind::kQuota,
                 .object = quota->key,
                 .uid = quota->uid,
                 .reason = "UnsupportedQueuePolicy",
                 .message = absl::StrCat("queue policy \"", quota->queue_policy,
                                         "\" is not supported; the queue is made with ", kDefaultPolicy)});
    }
  }
}

void CoreState::CarryPolicies(absl::Time now, std::vector<Decision>* decisions) {
  for (const auto& [name, record] : queues) {
    const Quota* quota = ledger.Find(name);
    if (quota == nullptr || !record.object.created_by_us || quota->queue_policy == record.object.carried_policy)
      continue;
    if (!MayWriteQueue(name, now)) continue;
    if (!quota->queue_policy.empty() && PolicyFor(*quota) != quota->queue_policy) {
      if (!told_conflicts.insert(absl::StrCat(quota->uid, "/", quota->queue_policy)).second) continue;
      decisions->push_back(
          Notify{.kind = Notify::Kind::kQuota,
                 .object = quota->key,
                 .uid = quota->uid,
                 .reason = "UnsupportedQueuePolicy",
                 .message = absl::StrCat("queue policy \"", quota->queue_policy,
                                         "\" is not supported; the queue keeps ", record.object.policy)});
      continue;
    }
    queue_writes[name].on_its_way = true;
    decisions->push_back(UpdateQueue{.queue = record.object.key,
                                     .uid = record.object.uid,
                                     .version = record.object.version,
                                     .policy = PolicyFor(*quota),
                                     .carried_policy = quota->queue_policy});
  }
}

void CoreState::DeleteOrphans(absl::Time now, std::vector<Decision>* decisions) {
  for (const auto& [name, record] : queues) {
    if (!record.object.created_by_us || ledger.Has(name)) continue;
    if (holders.contains(name)) {
      queues_to_reconcile = true;  // looked at again when the last of them is gone
      continue;
    }
    if (!MayWriteQueue(name, now)) continue;
    queue_writes[name].on_its_way = true;
    decisions->push_back(
        DeleteQueue{.queue = record.object.key, .uid = record.object.uid, .version = record.object.version});
  }
}

void CoreState::TellTroubles(std::vector<Decision>* decisions) {
  std::map<std::string, std::string> troubles;
  const auto tell = [&](const Quota& quota, absl::string_view reason, std::string message) {
    const auto told = told_troubles.find(quota.uid);
    if (told == told_troubles.end() || told->second != message) {
      decisions->push_back(Notify{.kind = Notify::Kind::kQuota,
                                  .object = quota.key,
                                  .uid = quota.uid,
                                  .reason = std::string(reason),
                                  .message = message});
    }
    troubles[quota.uid] = std::move(message);
  };
  for (const Quota* quota : ledger.Shadowed()) {
    tell(*quota, "QuotaNameConflict", ShadowedText(ledger.Find(quota->key.name)->key));
  }
  for (const Quota* quota : ledger.Active()) {
    const Verdict& trouble = ledger.PathOf(quota->key.name).trouble();
    if (!trouble.ok()) {
      tell(*quota, RefusalName(trouble.refusal.refusal), RefusalSentence(trouble.refusal));
    } else if (Warning warning = WarningAbout(*quota); !warning.text.empty()) {
      tell(*quota, warning.reason, std::move(warning.text));
    }
  }
  told_troubles = std::move(troubles);
}

}  // namespace kq::scheduler
