#include "services/debug-api/comparison.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "libs/api/queue_unit.h"

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

using Amounts = google::protobuf::RepeatedPtrField<v1::Amount>;

Resources ResourcesOf(const Amounts& amounts) {
  Resources out;
  for (const v1::Amount& amount : amounts) out.Set(amount.resource(), amount.amount());
  return out;
}

std::string Text(const Resources& amounts) { return amounts.Nonzero().DebugString(); }

// Gathers the differences of one object.
class Findings {
 public:
  Findings(std::string kind, std::string object, std::vector<Difference>* out)
      : kind_(std::move(kind)), object_(std::move(object)), out_(out) {}

  void Text(const std::string& field, const std::string& books, const std::string& server) {
    if (books != server) out_->push_back({kind_, object_, field, books, server});
  }
  // An absent amount is 0.
  void Amounts(const std::string& field, const Resources& books, const Resources& server) {
    if (Resources::EqualAmounts(books, server)) return;
    Text(field, debug_api::Text(books), debug_api::Text(server));
  }
  // An absent limit is none.
  void Limits(const std::string& field, const Resources& books, const Resources& server) {
    Text(field, books.DebugString(), server.DebugString());
  }
  void Exists(bool in_books, bool on_server) {
    Text("Exists", in_books ? "there" : "not there", on_server ? "there" : "not there");
  }

 private:
  const std::string kind_, object_;
  std::vector<Difference>* const out_;
};

std::map<ObjectKey, const v1::UnitSnapshot*> UnitsOf(const Picture& picture) {
  std::map<ObjectKey, const v1::UnitSnapshot*> units;
  const auto add = [&](const auto& some) {
    for (const v1::UnitSnapshot& unit : some) units.emplace(ObjectKey{unit.namespace_(), unit.name()}, &unit);
  };
  for (const auto& [name, queue] : picture.queues) add(queue->waiting());
  for (const auto& [key, quota] : picture.quotas) add(quota->charged());
  add(*picture.unplaced);
  return units;
}

void CompareUnit(const v1::UnitSnapshot& books, const ServerUnit& server, Findings* findings) {
  findings->Text("UID", books.uid(), server.uid);
  findings->Text("Phase", books.phase(), server.phase);
  findings->Text("Quota", books.quota(), server.quota);
  findings->Amounts("Charged", ResourcesOf(books.charged()), server.held);
}

// What each quota's own units hold, by bare name: as the server says, but for those
// whose admission is on its way.
using Held = std::map<std::string, Resources>;

Held CompareUnits(const Picture& picture, const ServerObjects& server, Comparison* out) {
  Held held;
  const auto books = UnitsOf(picture);
  for (const auto& [key, unit] : server.units) {
    const auto found = books.find(key);
    if (found != books.end() && found->second->place() == v1::ASSUMED) continue;
    held[unit.quota].Add(unit.held);
    Findings findings("QueueUnit", key.ToString(), &out->differences);
    if (found != books.end()) {
      CompareUnit(*found->second, unit, &findings);
    } else if (!unit.finished) {
      findings.Exists(false, true);
    }
  }
  for (const auto& [key, unit] : books) {
    if (unit->place() == v1::ASSUMED) {
      ++out->on_their_way;
      held[unit->quota()].Add(ResourcesOf(unit->charged()));
    } else if (!server.units.contains(key)) {
      Findings("QueueUnit", key.ToString(), &out->differences).Exists(true, false);
    }
  }
  return held;
}

// What `quota` and those below it hold. A cycle is followed once.
Resources HeldBelow(const std::string& quota, const std::multimap<std::string, std::string>& children, const Held& held,
                    std::set<std::string>* seen) {
  Resources sum;
  if (!seen->insert(quota).second) return sum;
  if (const auto own = held.find(quota); own != held.end()) sum.Add(own->second);
  const auto [begin, end] = children.equal_range(quota);
  for (auto child = begin; child != end; ++child) sum.Add(HeldBelow(child->second, children, held, seen));
  return sum;
}

void CompareQuotas(const Picture& picture, const ServerObjects& server, const Held& held, Comparison* out) {
  std::multimap<std::string, std::string> children;
  for (const auto& [key, quota] : picture.quotas) {
    if (quota->shadowed_by().empty()) children.emplace(quota->parent(), quota->name());
  }
  for (const auto& [name, books] : picture.quotas) {
    Findings findings("ElasticQuota", name, &out->differences);
    const auto found = server.quotas.find({books->namespace_(), books->name()});
    if (found == server.quotas.end()) {
      findings.Exists(true, false);
    } else {
      const Quota& quota = found->second;
      findings.Limits("Max", ResourcesOf(books->max_amounts()), quota.max);
      findings.Limits("Min", ResourcesOf(books->min_amounts()), quota.min);
      findings.Text("Parent", books->parent(), quota.parent);
      findings.Text("Lends", books->lends() ? "true" : "false", quota.lends ? "true" : "false");
    }
    if (!books->shadowed_by().empty()) continue;  // it has no books
    const auto own = held.find(books->name());
    findings.Amounts("SelfUsed", ResourcesOf(books->self_used()), own == held.end() ? Resources() : own->second);
    std::set<std::string> seen;
    findings.Amounts("Used", ResourcesOf(books->used()), HeldBelow(books->name(), children, held, &seen));
  }
  for (const auto& [key, quota] : server.quotas) {
    if (!picture.quotas.contains(key.ToString())) {
      Findings("ElasticQuota", key.ToString(), &out->differences).Exists(false, true);
    }
  }
}

auto Place(const Difference& difference) { return std::tie(difference.kind, difference.object, difference.field); }

}  // namespace

Comparison Compare(const Picture& picture, const ServerObjects& server) {
  Comparison comparison;
  const Held held = CompareUnits(picture, server, &comparison);
  CompareQuotas(picture, server, held, &comparison);
  std::sort(comparison.differences.begin(), comparison.differences.end(),
            [](const Difference& a, const Difference& b) { return Place(a) < Place(b); });
  return comparison;
}

std::vector<Difference> InBoth(const std::vector<Difference>& a, const std::vector<Difference>& b) {
  std::set<std::tuple<std::string, std::string, std::string>> other;
  for (const Difference& difference : b) other.insert(Place(difference));
  std::vector<Difference> both;
  for (const Difference& difference : a) {
    if (other.contains(Place(difference))) both.push_back(difference);
  }
  return both;
}

}  // namespace kq::debug_api
