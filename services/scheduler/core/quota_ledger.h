#ifndef SERVICES_SCHEDULER_CORE_QUOTA_LEDGER_H_
#define SERVICES_SCHEDULER_CORE_QUOTA_LEDGER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "libs/api/object_key.h"
#include "libs/api/quota.h"
#include "libs/api/resources.h"
#include "services/scheduler/core/policy.h"

namespace kq::scheduler {

// The quota tree and who uses how much of it. The only class that charges and
// refunds, and always a quota and its ancestors together.
//
// A quota is found by its bare name. Of two ElasticQuotas with one name the older
// counts; the other is kept aside until the first is gone. A charge outlives its
// quota: when the quota comes back, or gets another parent, the books are right
// without anybody charging again.
//
// Invariant: used of a quota = the charges of its own units + used of its
// children. Amounts saturate; a sum that did is computed anew from the charges
// before it is used again.
//
// Not thread-safe.
class QuotaLedger {
 public:
  QuotaLedger();
  ~QuotaLedger();

  // Quotas. Both return whether something that counts has changed.
  bool Upsert(const Quota& quota);
  bool Remove(const ObjectKey& key);

  // Sets what `unit` is charged: `amount` to `quota` and its ancestors, and no
  // longer what it was charged before. An empty `quota` name charges nobody.
  void Charge(const ObjectKey& unit, const std::string& quota, const Resources& amount);
  // Takes the charge of `unit` back; nothing if there is none.
  void Refund(const ObjectKey& unit);

  // Whether a quota of this name counts.
  bool Has(const std::string& name) const;
  // The path from a quota upwards. Valid until the next change of the ledger.
  const QuotaPath& PathOf(const std::string& name);

  // Quotas where room was made since the last call: used fell. In order.
  std::vector<std::string> TakeLoosened();
  // Whether limits or the tree changed since the last call.
  bool TakeReshaped();
  // Names whose books changed since the last call. In order.
  std::set<std::string> TakeChanged();

  // What is used at one quota, for one resource; 0 if unknown.
  int64_t UsedOf(const std::string& name, const std::string& resource);

  // Everything about one quota, for the snapshot.
  struct Books {
    const Quota* quota = nullptr;
    Resources used, self_used, guaranteed_used, self_guaranteed_used;
    std::vector<std::string> children;
    Verdict trouble;
  };
  std::optional<Books> BooksOf(const std::string& name);
  // The ElasticQuotas that count by name, and those that do not because an
  // older one has their name.
  std::vector<const Quota*> Active() const;
  std::vector<const Quota*> Shadowed() const;
  // The one that counts; null if none.
  const Quota* Find(const std::string& name) const;

  // What each unit is charged: (quota, amount). For the invariants.
  struct Claim {
    std::string quota;
    Resources amount;
  };
  const absl::node_hash_map<ObjectKey, Claim>& claims() const { return claims_; }
  std::vector<std::string> BrokenInvariants();

 private:
  struct Node;

  Node* NodeOf(const std::string& name);
  void Move(Node* node, const Resources& amount, bool charge);
  // Rebuilds parents, paths and sums after the tree changed.
  void Reshape();
  void LinkParents();
  void BuildPath(Node* node);
  void SumUp();
  void ElectQuota(const std::string& name);

  std::map<std::string, std::unique_ptr<Node>> nodes_;
  // All ElasticQuotas of one bare name, by namespace.
  std::map<std::string, std::map<ObjectKey, Quota>> quotas_;
  absl::node_hash_map<ObjectKey, Claim> claims_;
  bool stale_ = false;     // Reshape is due
  bool reshaped_ = false;  // for TakeReshaped
  std::set<std::string> loosened_;
  std::set<std::string> changed_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_QUOTA_LEDGER_H_
