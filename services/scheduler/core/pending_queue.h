#ifndef SERVICES_SCHEDULER_CORE_PENDING_QUEUE_H_
#define SERVICES_SCHEDULER_CORE_PENDING_QUEUE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "services/scheduler/core/policy.h"
#include "services/scheduler/core/queue_policy.h"
#include "services/scheduler/core/unit_table.h"

namespace kq::scheduler {

// The units that wait in one queue, in the order in which they are tried: each of
// them ready (may be tried now), resting (from a time on) or parked (when
// something changes). The queue keeps the line and knows who is ready; where the
// others wait for their wake-up is the core's: see parking_lot.h.
//
//   Add -> ready -- Leave ready --> resting or parked -- MakeReady --> ready
//
// Who is asked next depends on the queue's policy:
//
//   Priority   the best ready unit; a refused one is skipped
//   Block      the first unit of each quota's line, if it is ready or only waited
//              behind the head before it; everything behind it waits
//
// Not thread-safe. Does not own the entries.
class PendingQueue {
 public:
  using Policy = QueuePolicy;

  // `order` must outlive the queue.
  explicit PendingQueue(const OrderPolicy* order);

  Policy policy() const { return policy_; }
  // Sets the policy; who was parked behind a head must be made ready by the caller.
  void SetPolicy(Policy policy);

  // Puts the unit into the line, ready. REQUIRES: it is in no line.
  void Add(UnitEntry* entry);
  // Takes it out of the line, whatever it waits for.
  void Remove(UnitEntry* entry);
  void MakeReady(UnitEntry* entry);
  void LeaveReady(UnitEntry* entry);

  // The unit to be asked next; null if nobody may be asked now.
  UnitEntry* NextToAsk() const;
  // Block, once NextToAsk has nobody left: the ready units, best first. They all
  // wait behind the head of their quota's line.
  std::vector<UnitEntry*> BehindHeads() const;
  const UnitEntry* HeadOf(const std::string& quota) const;

  bool Empty() const { return line_.empty(); }
  size_t Size() const { return line_.size(); }
  size_t ReadyCount() const { return ready_.size(); }
  // Everybody, in order.
  std::vector<UnitEntry*> Line() const;

 private:
  struct Before {
    const OrderPolicy* order;
    bool operator()(const UnitEntry* a, const UnitEntry* b) const { return order->Before(*a->lined, *b->lined); }
  };
  using Ordered = absl::btree_set<UnitEntry*, Before>;

  const OrderPolicy* const order_;
  Policy policy_ = Policy::kPriority;
  Ordered line_;
  Ordered ready_;
  std::map<std::string, Ordered> by_quota_;  // Block only
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_PENDING_QUEUE_H_
