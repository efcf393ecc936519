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

ParkedUnits::iterator ParkingLot::LotFor(const RefusalDetail& why) {
  const int64_t fits_up_to = FitsUpTo(why);
  if (last_ != lots_.end()) {
    const ParkingCause& cause = last_->first;
    const bool alike = cause.fits_up_to == fits_up_to && cause.refusal == why.refusal && cause.quota == why.quota &&
                       cause.resource == why.resource;
    if (alike) return last_;
  }
  last_ = lots_.try_emplace(ParkingCause{why.quota, why.resource, why.refusal, fits_up_to}).first;
  return last_;
}

void ParkingLot::Park(UnitEntry* entry) {
  const ParkedUnits::iterator lot = LotFor(*entry->why);
  entry->lot = lot;
  entry->lot_index = lot->second.size();
  lot->second.push_back(entry);
  entry->place = Place::kParked;
  ++size_;
}

void ParkingLot::Unpark(UnitEntry* entry) {
  if (!entry->lot.has_value()) return;
  const ParkedUnits::iterator lot = *entry->lot;
  std::vector<UnitEntry*>& units = lot->second;
  units[entry->lot_index] = units.back();
  units[entry->lot_index]->lot_index = entry->lot_index;
  units.pop_back();
  entry->lot.reset();
  --size_;
  if (!units.empty()) return;
  if (last_ == lot) last_ = lots_.end();
  lots_.erase(lot);
}

ParkedUnits::iterator ParkingLot::TakeAll(ParkedUnits::iterator lot, std::vector<UnitEntry*>* woken) {
  for (UnitEntry* entry : lot->second) entry->lot.reset();
  woken->insert(woken->end(), lot->second.begin(), lot->second.end());
  size_ -= lot->second.size();
  if (last_ == lot) last_ = lots_.end();
  return lots_.erase(lot);
}

std::vector<UnitEntry*> ParkingLot::WakeAt(const std::string& quota,
                                           const std::function<int64_t(const std::string&)>& used) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  std::vector<UnitEntry*> woken;
  auto lot = lots_.lower_bound(ParkingCause{quota, "", Refusal::kNone, kLowest});
  while (lot != lots_.end() && lot->first.quota == quota) {
    // One resource and refusal after the other; within it, those who fit come last.
    ParkingCause cause = lot->first;
    // The others at this quota wait for a change of the tree, not for room.
    const bool for_room = cause.refusal == Refusal::kOverMax || cause.refusal == Refusal::kGuaranteedToOthers;
    cause.fits_up_to = for_room ? used(cause.resource) : kAnyRoom;
    lot = lots_.lower_bound(cause);
    const auto same = [&] {
      return lot != lots_.end() && lot->first.quota == quota && lot->first.resource == cause.resource &&
             lot->first.refusal == cause.refusal;
    };
    while (same()) lot = for_room ? TakeAll(lot, &woken) : std::next(lot);
  }
  return woken;
}

std::vector<UnitEntry*> ParkingLot::WakeAllForQuota() {
  std::vector<UnitEntry*> woken;
  for (auto lot = lots_.begin(); lot != lots_.end();) {
    lot = IsForQuota(lot->first.refusal) ? TakeAll(lot, &woken) : std::next(lot);
  }
  return woken;
}

}  // namespace kq::scheduler
