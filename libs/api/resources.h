#ifndef LIBS_API_RESOURCES_H_
#define LIBS_API_RESOURCES_H_

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

// Amounts by resource: what a job needs, what a quota allows, what is in use.
//
//   Resources need{{"cpu", 4000}, {"memory", 8 << 30}};   // 4 cores, 8 GiB
//   used.Add(need);
//   if (!used.FitsWithin(max)) ...
//
// The unit is a property of the name: "cpu" counts thousandths of a core,
// everything else whole base units (bytes, devices, pods), rounded up. See
// quantity.h for the way from and to Kubernetes' texts.
//
// A resource may be absent or explicitly 0; the two differ where absent means
// "no limit". Operations keep explicit zeros, and so Subtract leaves a 0 behind.
// Compare books with EqualAmounts, where absent is 0; operator== is exact.
//
// All arithmetic saturates at the ends of int64 instead of overflowing. Amounts may be
// negative: Subtract says the truth, and whether less than nothing may be left
// is the caller's to judge (AnyNegative, SubtractOrZero).
//
// A value, cheap to copy: up to three resources with names of up to 15
// characters take no memory of their own. Not thread-safe.
namespace kq {

class Resources {
 public:
  struct Entry {
    std::string name;
    int64_t amount = 0;

    friend bool operator==(const Entry&, const Entry&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Entry& entry) {
      return H::combine(std::move(h), entry.name, entry.amount);
    }
  };
  using const_iterator = const Entry*;

  Resources() = default;
  // In any order; of two entries with one name the later wins.
  Resources(std::initializer_list<Entry> entries);

  // 0 if absent.
  int64_t At(absl::string_view name) const;
  bool Has(absl::string_view name) const;
  // No entries at all; explicit zeros count as entries.
  bool Empty() const { return entries_.empty(); }
  size_t Size() const { return entries_.size(); }

  // Iteration, in the order of the names.
  const_iterator begin() const { return entries_.data(); }
  const_iterator end() const { return entries_.data() + entries_.size(); }

  // Set keeps an explicit 0; Erase makes the resource absent.
  void Set(absl::string_view name, int64_t amount);
  void Erase(absl::string_view name);
  // Adds to one resource.
  void AddTo(absl::string_view name, int64_t amount);

  void Add(const Resources& other);
  // May leave negative amounts and explicit zeros. Undoes an Add of the same
  // amounts exactly, as long as nothing was saturated.
  void Subtract(const Resources& other);
  // As Subtract, but what would be negative becomes 0.
  void SubtractOrZero(const Resources& other);
  // Each amount times `factor`.
  Resources Scaled(int64_t factor) const;

  // For each resource of either, the larger (smaller) amount. A resource that
  // only one of them names keeps its amount.
  static Resources Max(const Resources& a, const Resources& b);
  static Resources Min(const Resources& a, const Resources& b);

  // Whether each amount is at most that of `limit`. What `limit` does not name
  // is unlimited, so an empty limit allows everything.
  bool FitsWithin(const Resources& limit) const;
  bool AnyNegative() const;
  // A copy without the zeros.
  Resources Nonzero() const;
  // Equal, if absent is taken as 0.
  static bool EqualAmounts(const Resources& a, const Resources& b);

  // "cpu=4000 memory=8589934592", for logs and test failures.
  std::string DebugString() const;

  friend Resources operator+(Resources a, const Resources& b) {
    a.Add(b);
    return a;
  }
  friend Resources operator-(Resources a, const Resources& b) {
    a.Subtract(b);
    return a;
  }
  friend bool operator==(const Resources&, const Resources&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Resources& resources) {
    return H::combine(std::move(h), resources.entries_);
  }
  friend std::ostream& operator<<(std::ostream& out, const Resources& resources);

 private:
  using Entries = absl::InlinedVector<Entry, 3>;

  Entries::iterator LowerBound(absl::string_view name);
  const Entry* FindEntry(absl::string_view name) const;
  // entries[i] = combine(entries[i] or 0, other's amount), for each of other's.
  template <typename Combine>
  void Merge(const Resources& other, Combine combine);

  Entries entries_;  // sorted by name, each name once
};

// a + b, a - b and a * b, at the ends of int64 instead of beyond them.
int64_t SaturatingAdd(int64_t a, int64_t b);
int64_t SaturatingSubtract(int64_t a, int64_t b);
int64_t SaturatingMultiply(int64_t a, int64_t b);

}  // namespace kq

#endif  // LIBS_API_RESOURCES_H_
