#include "services/scheduler/core/decision.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/api/quantity.h"

namespace kq::scheduler {

absl::string_view RefusalName(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "None";
    case Refusal::kNoQuotaLabel:
      return "NoQuotaLabel";
    case Refusal::kQueueNotFound:
      return "QueueNotFound";
    case Refusal::kQuotaNotFound:
      return "QuotaNotFound";
    case Refusal::kQuotaInvalid:
      return "QuotaInvalid";
    case Refusal::kQuotaCycle:
      return "QuotaCycle";
    case Refusal::kQuotaEmpty:
      return "QuotaEmpty";
    case Refusal::kOverMax:
      return "OverMax";
    case Refusal::kGuaranteedToOthers:
      return "GuaranteedToOthers";
    case Refusal::kBehindHead:
      return "BehindHead";
    case Refusal::kUnitInvalid:
      return "UnitInvalid";
    case Refusal::kInactive:
      return "Inactive";
    case Refusal::kPolicyUnsupported:
      return "PolicyUnsupported";
    case Refusal::kChecksUnsupported:
      return "ChecksUnsupported";
    case Refusal::kWriteFailed:
      return "WriteFailed";
  }
  return "";
}

std::string RefusalPrefix(const RefusalDetail& why) {
  switch (why.refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kNoQuotaLabel:
      return "no quota label: set quota.scheduling.koordinator.sh/name";
    case Refusal::kQueueNotFound:
      return absl::StrCat("queue ", why.quota, " not found");
    case Refusal::kQuotaNotFound:
      return absl::StrCat("CheckUsage found quota not exist, quotaName:", why.quota, ",");
    case Refusal::kQuotaInvalid:
      return absl::StrCat("limited quotaName:", why.quota, ", quota is invalid:");
    case Refusal::kQuotaCycle:
      return absl::StrCat("CheckUsage found cycle reference, quotaName:", why.quota, ",");
    case Refusal::kQuotaEmpty:
      return absl::StrCat("limited quotaName:", why.quota, ", quota spec is empty but queue unit res is not empty");
    case Refusal::kOverMax:
      return absl::StrCat("limited quotaName:", why.quota, ", limited resKey:", why.resource, ", requested");
    case Refusal::kGuaranteedToOthers:
      return absl::StrCat("limited quotaName:", why.quota, ", limited resKey:", why.resource, ", kept for others:");
    case Refusal::kBehindHead:
      return absl::StrCat("blocked in quota ", why.quota, " by the unit before it");
    case Refusal::kUnitInvalid:
      return "invalid queue unit:";
    case Refusal::kInactive:
      return "the queue unit is not active";
    case Refusal::kPolicyUnsupported:
      return absl::StrCat("queue ", why.quota, " has a policy that is not supported:");
    case Refusal::kChecksUnsupported:
      return absl::StrCat("queue ", why.quota, " names admission checks, which are not supported yet:");
    case Refusal::kWriteFailed:
      return "the admission could not be written:";
  }
  return "";
}

std::string RefusalSentence(const RefusalDetail& why) {
  const auto amount = [&](int64_t value) { return QuantityText(why.resource, value); };
  std::string prefix = RefusalPrefix(why);
  switch (why.refusal) {
    case Refusal::kOverMax:
      return absl::StrCat(prefix, " ", amount(why.requested), ", used ", amount(why.used), " of ", amount(why.limit),
                          ", short by ", amount(why.short_by));
    case Refusal::kGuaranteedToOthers:
      return absl::StrCat(prefix, " ", amount(why.reserved), ", requested ", amount(why.requested), ", used ",
                          amount(why.used), " of ", amount(why.limit), ", short by ", amount(why.short_by));
    case Refusal::kQuotaNotFound:
    case Refusal::kQuotaCycle:
      return absl::StrCat(prefix, " visited quota: [", why.text, "]");
    case Refusal::kQuotaInvalid:
    case Refusal::kUnitInvalid:
    case Refusal::kPolicyUnsupported:
    case Refusal::kChecksUnsupported:
    case Refusal::kWriteFailed:
    case Refusal::kBehindHead:
      return why.text.empty() ? prefix : absl::StrCat(prefix, " ", why.text);
    case Refusal::kQueueNotFound:
      return absl::StrCat(prefix, why.text.empty() ? "" : absl::StrCat(" for queueUnit ", why.text));
    case Refusal::kNone:
    case Refusal::kNoQuotaLabel:
    case Refusal::kQuotaEmpty:
    case Refusal::kInactive:
      return prefix;
  }
  return prefix;
}

bool IsAdmittedWhole(const QueueUnit& unit) {
  const Resources need = Need(unit);
  return HoldsQuota(unit.phase) &&
         std::none_of(need.begin(), need.end(), [](const Resources::Entry& entry) { return entry.amount > 0; });
}

}  // namespace kq::scheduler
