#include "libs/api/resources.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

}  // namespace

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? kMax : kMin;
  return sum;
}

int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) return b > 0 ? kMin : kMax;
  return difference;
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? kMax : kMin;
  return product;
}

Resources::Resources(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) Set(entry.name, entry.amount);
}

Resources::Entries::iterator Resources::LowerBound(absl::string_view name) {
  // A handful of entries: a walk beats a binary search.
  return std::find_if(entries_.begin(), entries_.end(), [name](const Entry& entry) { return entry.name >= name; });
}

const Resources::Entry* Resources::FindEntry(absl::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

int64_t Resources::At(absl::string_view name) const {
  const Entry* entry = FindEntry(name);
  return entry == nullptr ? 0 : entry->amount;
}

bool Resources::Has(absl::string_view name) const { return FindEntry(name) != nullptr; }

void Resources::Set(absl::string_view name, int64_t amount) {
  const auto at = LowerBound(name);
  if (at != entries_.end() && at->name == name) {
    at->amount = amount;
  } else {
    entries_.insert(at, Entry{std::string(name), amount});
  }
}

void Resources::Erase(absl::string_view name) {
  const auto at = LowerBound(name);
  if (at != entries_.end() && at->name == name) entries_.erase(at);
}

void Resources::AddTo(absl::string_view name, int64_t amount) {
  const auto at = LowerBound(name);
  if (at != entries_.end() && at->name == name) {
    at->amount = SaturatingAdd(at->amount, amount);
  } else {
    entries_.insert(at, Entry{std::string(name), amount});
  }
}

template <typename Combine>
void Resources::Merge(const Resources& other, Combine combine) {
  // Both are sorted: one walk through the two. In the usual case the names are
  // the same and nothing is inserted. Indexes, because `other` may be *this.
  size_t at = 0;
  for (size_t from = 0; from < other.entries_.size(); ++from) {
    const Entry& entry = other.entries_[from];
    int order = 1;
    while (at < entries_.size() && (order = entries_[at].name.compare(entry.name)) < 0) ++at;
    if (at < entries_.size() && order == 0) {
      entries_[at].amount = combine(entries_[at].amount, entry.amount);
    } else {
      entries_.insert(entries_.begin() + static_cast<ptrdiff_t>(at), Entry{entry.name, combine(0, entry.amount)});
    }
    ++at;
  }
}

void Resources::Add(const Resources& other) { Merge(other, SaturatingAdd); }
void Resources::Subtract(const Resources& other) { Merge(other, SaturatingSubtract); }

void Resources::SubtractOrZero(const Resources& other) {
  Merge(other, [](int64_t a, int64_t b) { return std::max<int64_t>(SaturatingSubtract(a, b), 0); });
}

Resources Resources::Scaled(int64_t factor) const {
  Resources out = *this;
  for (Entry& entry : out.entries_) entry.amount = SaturatingMultiply(entry.amount, factor);
  return out;
}

Resources Resources::Max(const Resources& a, const Resources& b) {
  Resources out = a;
  for (const Entry& entry : b) {
    if (!a.Has(entry.name) || entry.amount > a.At(entry.name)) out.Set(entry.name, entry.amount);
  }
  return out;
}

Resources Resources::Min(const Resources& a, const Resources& b) {
  Resources out = a;
  for (const Entry& entry : b) {
    if (!a.Has(entry.name) || entry.amount < a.At(entry.name)) out.Set(entry.name, entry.amount);
  }
  return out;
}

bool Resources::FitsWithin(const Resources& limit) const {
  return std::all_of(begin(), end(), [&limit](const Entry& entry) {
    const Entry* allowed = limit.FindEntry(entry.name);
    return allowed == nullptr || entry.amount <= allowed->amount;
  });
}

bool Resources::AnyNegative() const {
  return std::any_of(begin(), end(), [](const Entry& entry) { return entry.amount < 0; });
}

Resources Resources::Nonzero() const {
  Resources out;
  for (const Entry& entry : entries_) {
    if (entry.amount != 0) out.entries_.push_back(entry);
  }
  return out;
}

bool Resources::EqualAmounts(const Resources& a, const Resources& b) {
  const Entry* left = a.begin();
  const Entry* right = b.begin();
  while (true) {
    while (left != a.end() && left->amount == 0) ++left;
    while (right != b.end() && right->amount == 0) ++right;
    if (left == a.end() || right == b.end()) return left == a.end() && right == b.end();
    if (!(*left == *right)) return false;
    ++left;
    ++right;
  }
}

std::string Resources::DebugString() const {
  std::string out;
  for (const Entry& entry : entries_) absl::StrAppend(&out, out.empty() ? "" : " ", entry.name, "=", entry.amount);
  return out.empty() ? "(nothing)" : out;
}

std::ostream& operator<<(std::ostream& out, const Resources& resources) { return out << resources.DebugString(); }

}  // namespace kq
