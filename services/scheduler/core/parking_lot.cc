#include "services/scheduler/core/parking_lot.h"

#include <limits>

#include "libs/api/resources.h"

namespace kq::scheduler {
namespace {

constexpr int64_t kAnyRoom = std::numeric_limits<int64_t>::max();

bool IsForQuota(Refusal refusal) {
  switch (refusal) {
    case Refusal::kQuotaNotFound:
    case Refusal::kQuotaInvalid:
    case Refusal::kQuotaCycle:
    case Refusal::kQuotaEmpty:
    case Refusal::kOverMax:
    case Refusal::kGuaranteedToOthers:
      return true;
    case Refusal::kNone:
    case Refusal::kNoQuotaLabel:
    case Refusal::kQueueNotFound:
    case Refusal::kBehindHead:
    case Refusal::kUnitInvalid:
    case Refusal::kInactive:
    case Refusal::kPolicyUnsupported:
    case Refusal::kChecksUnsupported:
    case Refusal::kWriteFailed:
      return false;
  }
  return false;
}

// The highest use at which this unit would fit.
int64_t FitsUpTo(const RefusalDetail& why) {
  return why.refusal == Refusal::kOverMax ? SaturatingSubtract(why.limit, why.requested) : kAnyRoom;
}

}  // namespace

void ParkingLot::Park(UnitEntry* entry) {
  ParkedUnits& lot = lots_[Cause{entry->why->quota, entry->why->resource, entry->why->refusal}];
  entry->lot = &lot;
  entry->parked_at = lot.emplace(FitsUpTo(*entry->why), entry);
  entry->place = Place::kParked;
  ++size_;
}

void ParkingLot::Unpark(UnitEntry* entry) {
  if (entry->lot == nullptr) return;
  entry->lot->erase(entry->parked_at);
  entry->lot = nullptr;
  --size_;
}

std::vector<UnitEntry*> ParkingLot::WakeAt(const std::string& quota,
                                           const std::function<int64_t(const std::string&)>& used) {
  std::vector<UnitEntry*> woken;
  for (auto lot = lots_.lower_bound(Cause{quota, "", Refusal::kNone});
       lot != lots_.end() && lot->first.quota == quota;) {
    // The others at this quota wait for a change of the tree, not for room.
    if (lot->first.refusal == Refusal::kOverMax || lot->first.refusal == Refusal::kGuaranteedToOthers) {
      const auto first = lot->second.lower_bound(used(lot->first.resource));
      for (auto parked = first; parked != lot->second.end(); ++parked) woken.push_back(parked->second);
    }
    lot = lot->second.empty() ? lots_.erase(lot) : std::next(lot);
  }
  for (UnitEntry* entry : woken) Unpark(entry);
  return woken;
}

std::vector<UnitEntry*> ParkingLot::WakeAllForQuota() {
  std::vector<UnitEntry*> woken;
  for (const auto& [cause, lot] : lots_) {
    if (!IsForQuota(cause.refusal)) continue;
    for (const auto& [fits_up_to, entry] : lot) woken.push_back(entry);
  }
  for (UnitEntry* entry : woken) Unpark(entry);
  std::erase_if(lots_, [](const auto& lot) { return lot.second.empty(); });
  return woken;
}

}  // namespace kq::scheduler
