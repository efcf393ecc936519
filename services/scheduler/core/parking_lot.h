#ifndef SERVICES_SCHEDULER_CORE_PARKING_LOT_H_
#define SERVICES_SCHEDULER_CORE_PARKING_LOT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/unit_table.h"

namespace kq::scheduler {

// Where refused units wait, by cause, until the event that ends the cause:
//
//   refused for                    woken by
//   OverMax at a quota             room at this quota, enough for this unit; any
//                                  change of limits or of the tree
//   GuaranteedToOthers at a quota  any room at this quota; any such change
//   QuotaNotFound, -Invalid, -Cycle, -Empty   any such change
//   BehindHead in a queue          becomes the head (asked without a wake-up); a
//                                  change of the queue's policy
//   PolicyUnsupported, ChecksUnsupported      a change of the queue
//
// Not thread-safe. Does not own the entries.
class ParkingLot {
 public:
  ParkingLot() = default;
  ParkingLot(const ParkingLot&) = delete;
  ParkingLot& operator=(const ParkingLot&) = delete;

  // REQUIRES: entry->why is set, and the unit is not parked.
  void Park(UnitEntry* entry);
  // Takes it out; nothing if it is not parked.
  void Unpark(UnitEntry* entry);

  // Takes out the units refused at `quota` that may fit now. `used` gives what is
  // used there of a resource.
  std::vector<UnitEntry*> WakeAt(const std::string& quota, const std::function<int64_t(const std::string&)>& used);
  // Takes out everybody who was refused for a quota.
  std::vector<UnitEntry*> WakeAllForQuota();

  size_t Size() const { return size_; }

 private:
  ParkedUnits::iterator LotFor(const RefusalDetail& why);
  // Takes everybody out of one lot, and the lot away; returns the lot after it.
  ParkedUnits::iterator TakeAll(ParkedUnits::iterator lot, std::vector<UnitEntry*>* woken);

  ParkedUnits lots_;                          // none is empty
  ParkedUnits::iterator last_ = lots_.end();  // where somebody was parked last: the next one is often alike
  size_t size_ = 0;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_PARKING_LOT_H_
