#include "services/scheduler/core/quota_ledger.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kq::scheduler {
namespace {

const Resources& None() {
  static const Resources* const kNone = new Resources;
  return *kNone;
}

// Two specs that admit the same; names, versions and texts do not count.
bool SameLimits(const Quota& a, const Quota& b) {
  return a.parent == b.parent && a.min == b.min && a.max == b.max && a.lends == b.lends && a.invalid == b.invalid;
}

bool Saturated(const Resources& amounts) {
  return std::any_of(amounts.begin(), amounts.end(),
                     [](const Resources::Entry& entry) { return entry.amount == std::numeric_limits<int64_t>::max(); });
}

Verdict Refuse(Refusal refusal, std::string quota, std::string text) {
  Verdict verdict;
  verdict.refusal.refusal = refusal;
  verdict.refusal.quota = std::move(quota);
  verdict.refusal.text = std::move(text);
  return verdict;
}

}  // namespace

struct QuotaLedger::Node : QuotaPath {
  std::string id;
  const Quota* quota = nullptr;  // null: named by a unit or a child, but not there
  Node* parent = nullptr;
  std::vector<Node*> children;
  Resources total;      // used
  Resources self_used;  // the part charged to this quota itself
  Resources kept;       // sum over children that do not lend of max(0, min - used)
  Resources keeps;      // this node's own part in its parent's `kept`

  // From here upwards: this node and its ancestors, the root last if it is there.
  std::vector<Node*> ancestors;  // everything that a charge touches
  std::vector<Node*> checked;    // everything that may refuse
  Verdict why_unusable;

  const Verdict& trouble() const override { return why_unusable; }
  int levels() const override { return static_cast<int>(checked.size()); }
  const Resources& used(int level) const override { return checked[level]->total; }
  const Resources& min(int level) const override { return checked[level]->quota->min; }
  const Resources& max(int level) const override { return checked[level]->quota->max; }
  const std::string& name(int level) const override { return checked[level]->id; }
  int64_t KeptForOthers(int level, const std::string& resource) const override {
    const Node* below = checked[level - 1];
    return checked[level]->kept.At(resource) - below->keeps.At(resource);
  }

  // What this node keeps from its siblings right now.
  Resources Keeps() const {
    if (quota == nullptr || quota->lends) return {};
    Resources keeps = quota->min;
    keeps.SubtractOrZero(total);
    return keeps;
  }
};

QuotaLedger::QuotaLedger() = default;
QuotaLedger::~QuotaLedger() = default;

QuotaLedger::Node* QuotaLedger::NodeOf(const std::string& name) {
  std::unique_ptr<Node>& node = nodes_[name];
  if (node == nullptr) {
    node = std::make_unique<Node>();
    node->id = name;
    stale_ = true;
  }
  return node.get();
}

bool QuotaLedger::Upsert(const Quota& quota) {
  auto& same_name = quotas_[quota.key.name];
  const auto known = same_name.find(quota.key);
  if (known != same_name.end() && quota.version < known->second.version) return false;
  const bool counts = known == same_name.end() || !SameLimits(known->second, quota) || known->second.uid != quota.uid;
  same_name.insert_or_assign(quota.key, quota);
  changed_.insert(quota.key.name);
  ElectQuota(quota.key.name);
  if (counts) stale_ = reshaped_ = true;
  return counts;
}

bool QuotaLedger::Remove(const ObjectKey& key) {
  const auto same_name = quotas_.find(key.name);
  if (same_name == quotas_.end() || same_name->second.erase(key) == 0) return false;
  if (same_name->second.empty()) quotas_.erase(same_name);
  changed_.insert(key.name);
  ElectQuota(key.name);
  stale_ = reshaped_ = true;
  return true;
}

void QuotaLedger::ElectQuota(const std::string& name) {
  Node* node = NodeOf(name);
  node->quota = Find(name);
}

const Quota* QuotaLedger::Find(const std::string& name) const {
  const auto same_name = quotas_.find(name);
  if (same_name == quotas_.end()) return nullptr;
  const Quota* oldest = nullptr;
  for (const auto& [key, quota] : same_name->second) {
    if (oldest == nullptr || std::tie(quota.created, quota.uid) < std::tie(oldest->created, oldest->uid)) {
      oldest = &quota;
    }
  }
  return oldest;
}

bool QuotaLedger::Has(const std::string& name) const { return Find(name) != nullptr; }

void QuotaLedger::Charge(const ObjectKey& unit, const std::string& quota, const Resources& amount) {
  const auto known = claims_.find(unit);
  if (known != claims_.end()) {
    if (known->second.quota == quota && Resources::EqualAmounts(known->second.amount, amount)) return;
    Refund(unit);
  }
  if (quota.empty()) return;
  claims_[unit] = Claim{quota, amount};
  Node* node = NodeOf(quota);
  // While the tree is out of date only the claims count; the sums are made anew
  // before anybody looks at them.
  if (!stale_) Move(node, amount, /*charge=*/true);
}

void QuotaLedger::Refund(const ObjectKey& unit) {
  const auto claim = claims_.find(unit);
  if (claim == claims_.end()) return;
  const Claim gone = std::move(claim->second);
  claims_.erase(claim);
  if (stale_) {
    reshaped_ = true;  // where room was made is not known yet: everywhere
  } else {
    Move(NodeOf(gone.quota), gone.amount, /*charge=*/false);
  }
}

void QuotaLedger::Move(Node* node, const Resources& amount, bool charge) {
  const auto apply = [&](Resources& sum) {
    if (charge) {
      sum.Add(amount);
      if (Saturated(sum)) stale_ = true;
    } else {
      if (Saturated(sum)) stale_ = true;  // the difference would be wrong
      sum.Subtract(amount);
    }
  };
  apply(node->self_used);
  for (Node* level : node->ancestors) {
    apply(level->total);
    changed_.insert(level->id);
    if (!charge) loosened_.insert(level->id);
    if (level->parent == nullptr || level->quota == nullptr || level->quota->lends) continue;
    level->parent->kept.Subtract(level->keeps);
    level->keeps = level->Keeps();
    level->parent->kept.Add(level->keeps);
  }
}

void QuotaLedger::Reshape() {
  stale_ = false;
  // A node without quota, charge or child is no longer needed.
  std::set<std::string> named;
  for (const auto& [key, claim] : claims_) named.insert(claim.quota);
  std::erase_if(nodes_,
                [&](const auto& entry) { return entry.second->quota == nullptr && !named.contains(entry.first); });
  LinkParents();
  SumUp();
}

void QuotaLedger::LinkParents() {
  for (auto& [name, node] : nodes_) {
    node->quota = Find(name);
    node->parent = nullptr;
    node->children.clear();
  }
  for (auto& [name, node] : nodes_) {
    if (node->quota == nullptr || node->quota->parent.empty()) continue;
    const auto parent = nodes_.find(node->quota->parent);
    if (parent == nodes_.end()) continue;
    node->parent = parent->second.get();
    node->parent->children.push_back(node.get());
  }
  for (auto& [name, node] : nodes_) BuildPath(node.get());
}

void QuotaLedger::BuildPath(Node* node) {
  node->ancestors.clear();
  node->checked.clear();
  node->why_unusable = Verdict{};
  std::vector<std::string> visited;
  for (Node* level = node; level != nullptr; level = level->parent) {
    const bool seen = std::find(node->ancestors.begin(), node->ancestors.end(), level) != node->ancestors.end();
    if (seen) {
      node->why_unusable = Refuse(Refusal::kQuotaCycle, level->id, absl::StrJoin(visited, ","));
      break;
    }
    visited.push_back(level->id);
    node->ancestors.push_back(level);
    if (level->quota == nullptr) {
      if (level->id != kRootQuota)
        node->why_unusable = Refuse(Refusal::kQuotaNotFound, level->id, absl::StrJoin(visited, ","));
      break;
    }
    if (!level->quota->invalid.empty()) {
      node->why_unusable = Refuse(Refusal::kQuotaInvalid, level->id, level->quota->invalid);
    }
    const bool root = level->id == kRootQuota;
    if (!root || level == node || !level->quota->max.Empty()) node->checked.push_back(level);
    const std::string& above = level->quota->parent;
    if (level->parent == nullptr && !above.empty() && above != kRootQuota && node->why_unusable.ok()) {
      visited.push_back(above);
      node->why_unusable = Refuse(Refusal::kQuotaNotFound, above, absl::StrJoin(visited, ","));
    }
  }
  if (!node->why_unusable.ok()) node->checked.clear();
}

void QuotaLedger::SumUp() {
  for (auto& [name, node] : nodes_) {
    node->self_used = Resources();
    node->total = Resources();
    node->kept = Resources();
    node->keeps = Resources();
    changed_.insert(name);
  }
  for (const auto& [unit, claim] : claims_) nodes_.at(claim.quota)->self_used.Add(claim.amount);
  for (auto& [name, node] : nodes_) {
    for (Node* level : node->ancestors) level->total.Add(node->self_used);
  }
  for (auto& [name, node] : nodes_) {
    node->keeps = node->Keeps();
    if (node->parent != nullptr) node->parent->kept.Add(node->keeps);
  }
}

const QuotaPath& QuotaLedger::PathOf(const std::string& name) {
  if (stale_) Reshape();
  const auto found = nodes_.find(name);
  if (found != nodes_.end()) return *found->second;
  // A name that nobody knows: remembered as a node until the next Reshape.
  Node* node = NodeOf(name);
  stale_ = false;
  BuildPath(node);
  return *node;
}

std::vector<std::string> QuotaLedger::TakeLoosened() {
  std::vector<std::string> names(loosened_.begin(), loosened_.end());
  loosened_.clear();
  return names;
}

bool QuotaLedger::TakeReshaped() { return std::exchange(reshaped_, false); }

std::set<std::string> QuotaLedger::TakeChanged() {
  if (stale_) Reshape();
  return std::exchange(changed_, {});
}

int64_t QuotaLedger::UsedOf(const std::string& name, const std::string& resource) {
  if (stale_) Reshape();
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? 0 : found->second->total.At(resource);
}

std::optional<QuotaLedger::Books> QuotaLedger::BooksOf(const std::string& name) {
  if (stale_) Reshape();
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return std::nullopt;
  const Node& node = *found->second;
  Books books;
  books.quota = node.quota;
  books.used = node.total;
  books.self_used = node.self_used;
  const Resources& min = node.quota == nullptr ? None() : node.quota->min;
  const auto within_min = [&](const Resources& used) {
    Resources part;
    for (const auto& [resource, amount] : used)
      part.Set(resource, std::min(amount, std::max<int64_t>(0, min.At(resource))));
    return part;
  };
  books.guaranteed_used = within_min(node.total);
  books.self_guaranteed_used = within_min(node.self_used);
  for (const Node* child : node.children) books.children.push_back(child->id);
  std::sort(books.children.begin(), books.children.end());
  books.trouble = node.why_unusable;
  return books;
}

std::vector<const Quota*> QuotaLedger::Active() const {
  std::vector<const Quota*> active;
  for (const auto& [name, same_name] : quotas_) active.push_back(Find(name));
  return active;
}

std::vector<const Quota*> QuotaLedger::Shadowed() const {
  std::vector<const Quota*> shadowed;
  for (const auto& [name, same_name] : quotas_) {
    const Quota* active = Find(name);
    for (const auto& [key, quota] : same_name) {
      if (&quota != active) shadowed.push_back(&quota);
    }
  }
  return shadowed;
}

std::vector<std::string> QuotaLedger::BrokenInvariants() {
  if (stale_) Reshape();
  std::vector<std::string> broken;
  std::map<std::string, Resources> self, total;
  for (const auto& [unit, claim] : claims_) self[claim.quota].Add(claim.amount);
  for (const auto& [name, node] : nodes_) {
    for (const Node* level : node->ancestors) total[level->id].Add(self[name]);
  }
  for (const auto& [name, node] : nodes_) {
    if (!Resources::EqualAmounts(node->self_used, self[name])) {
      broken.push_back(absl::StrCat("quota ", name, ": self used ", node->self_used.DebugString(), ", its units hold ",
                                    self[name].DebugString()));
    }
    if (!Resources::EqualAmounts(node->total, total[name])) {
      broken.push_back(absl::StrCat("quota ", name, ": used ", node->total.DebugString(), ", the subtree holds ",
                                    total[name].DebugString()));
    }
    if (node->total.AnyNegative()) broken.push_back(absl::StrCat("quota ", name, ": less than nothing is used"));
    Resources kept;
    for (const Node* child : node->children) kept.Add(child->Keeps());
    if (!Resources::EqualAmounts(node->kept, kept)) {
      broken.push_back(absl::StrCat("quota ", name, ": keeps ", node->kept.DebugString(), " back, should keep ",
                                    kept.DebugString()));
    }
  }
  return broken;
}

}  // namespace kq::scheduler
