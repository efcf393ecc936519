#include "libs/common/closest_word.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace kq {
namespace {

// What is longer is no slip of a word that somebody knows, and would take long to compare.
constexpr size_t kMaxWord = 64;
// A beginning that is shorter could be anything.
constexpr size_t kMinBeginning = 3;

// How many slips turn `a` into `b`, counting no pair of letters twice (optimal string
// alignment). Three rows of the table are enough.
size_t Slips(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string ClosestWord(absl::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxWord) return "";
  const std::string typed = absl::AsciiStrToLower(word);
  std::vector<std::string> begun;
  size_t best = std::min<size_t>(2, typed.size() / 3) + 1;
  std::string found;
  for (const std::string& candidate : known) {
    const std::string lower = absl::AsciiStrToLower(candidate);
    if (typed.size() >= kMinBeginning && absl::StartsWith(lower, typed)) begun.push_back(candidate);
    if (const size_t slips = Slips(typed, lower); slips < best) {
      best = slips;
      found = candidate;
    }
  }
  if (found.empty() && begun.size() == 1) return begun[0];
  return found;
}

}  // namespace kq
