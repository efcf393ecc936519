#include "services/visibility/unit_listing.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace kq::visibility {
namespace {

using queueing::v1::UnitSnapshot;

bool Passes(const UnitSnapshot& unit, const UnitQuery& query) {
  return (query.phase.empty() || unit.phase() == query.phase) && (query.queue.empty() || unit.queue() == query.queue);
}

// Which part of `total` units a page has.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};
Span SpanOf(int64_t total, const UnitQuery& query) {
  const int64_t begin = std::min(query.offset, total);
  return {begin, query.limit == 0 ? total : begin + std::min(query.limit, total - begin)};
}

// The page of `total` units of which `unit_at` gives each.
template <typename UnitAt>
UnitPage PageOf(std::shared_ptr<const Picture> picture, int64_t total, const UnitQuery& query, UnitAt unit_at) {
  const Span span = SpanOf(total, query);
  UnitPage page;
  page.picture = std::move(picture);
  page.total = total;
  page.remaining = total - span.end;
  page.units.reserve(static_cast<size_t>(span.end - span.begin));
  for (int64_t i = span.begin; i < span.end; ++i) page.units.push_back(unit_at(i));
  return page;
}

UnitPage PageOf(std::shared_ptr<const Picture> picture, const std::vector<const UnitSnapshot*>& units,
                const UnitQuery& query) {
  return PageOf(std::move(picture), static_cast<int64_t>(units.size()), query,
                [&](int64_t i) { return units[static_cast<size_t>(i)]; });
}

}  // namespace

std::optional<UnitPage> UnitsOfQueue(std::shared_ptr<const Picture> picture, const std::string& queue,
                                     const UnitQuery& query) {
  const auto found = picture->queues.find(queue);
  if (found == picture->queues.end()) return std::nullopt;
  const auto& waiting = found->second->waiting();
  if (query.phase.empty() && (query.queue.empty() || query.queue == queue)) {
    // Nothing is filtered out: the page is cut out without a look at the others.
    return PageOf(std::move(picture), waiting.size(), query, [&](int64_t i) { return &waiting[static_cast<int>(i)]; });
  }
  std::vector<const UnitSnapshot*> units;
  for (const UnitSnapshot& unit : waiting) {
    if (Passes(unit, query)) units.push_back(&unit);
  }
  return PageOf(std::move(picture), units, query);
}

UnitPage UnitsOfQuota(std::shared_ptr<const Picture> picture, const std::string& quota, const UnitQuery& query) {
  std::vector<const UnitSnapshot*> units;
  absl::flat_hash_set<std::string> seen;
  const auto add = [&](const UnitSnapshot& unit) {
    if (unit.quota() != quota || unit.place() == queueing::v1::FINISHED || !Passes(unit, query)) return;
    // One that waits for more than it holds is shown once, where it waits.
    if (unit.charged_size() == 0 || seen.insert(unit.uid()).second) units.push_back(&unit);
  };
  for (const auto& [name, waiting] : picture->queues) {
    for (const UnitSnapshot& unit : waiting->waiting()) add(unit);
  }
  for (const UnitSnapshot& unit : *picture->unplaced) add(unit);
  const auto holders = static_cast<std::ptrdiff_t>(units.size());
  for (const auto& [key, books] : picture->quotas) {
    if (books->name() != quota) continue;
    for (const UnitSnapshot& unit : books->charged()) add(unit);
  }
  std::sort(units.begin() + holders, units.end(), [](const UnitSnapshot* a, const UnitSnapshot* b) {
    return std::tie(a->namespace_(), a->name()) < std::tie(b->namespace_(), b->name());
  });
  return PageOf(std::move(picture), units, query);
}

}  // namespace kq::visibility
