#include "cli/kqctl/amounts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace kq::kqctl {
namespace {

bool CountsBytes(absl::string_view resource) {
  return resource == "memory" || resource == "storage" || resource == "ephemeral-storage" ||
         absl::StartsWith(resource, "hugepages-");
}

// Thousandths as a decimal: 4500 -> "4.5".
std::string Cores(int64_t milli) {
  std::string text = absl::StrCat(milli < 0 ? "-" : "", std::abs(milli / 1000));
  if (const int64_t rest = std::abs(milli % 1000); rest != 0) {
    absl::StrAppend(&text, ".", absl::StrFormat("%03d", rest));
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string Bytes(int64_t bytes) {
  constexpr std::array<absl::string_view, 7> kSuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t power = 0;
  double scaled = static_cast<double>(bytes);
  // 1023.95 would be shown as 1024.0.
  while (std::abs(scaled) >= 1023.95 && power + 1 < kSuffixes.size()) {
    scaled /= 1024;
    ++power;
  }
  std::string text = absl::StrFormat("%.1f", scaled);
  absl::string_view shown = text;
  absl::ConsumeSuffix(&shown, ".0");
  return absl::StrCat(shown, kSuffixes[power]);
}

// cpu and memory come first: that is what people look for.
int Rank(absl::string_view resource) { return resource == "cpu" ? 0 : resource == "memory" ? 1 : 2; }

}  // namespace

std::string AmountForPeople(absl::string_view resource, int64_t amount) {
  if (resource == "cpu") return Cores(amount);
  return CountsBytes(resource) ? Bytes(amount) : absl::StrCat(amount);
}

std::optional<int64_t> FindAmount(const Amounts& amounts, absl::string_view resource) {
  for (const queueing::v1::Amount& amount : amounts) {
    if (amount.resource() == resource) return amount.amount();
  }
  return std::nullopt;
}

std::string AmountsForPeople(const Amounts& amounts) {
  std::string text;
  for (const std::string& resource : ResourcesOf({&amounts})) {
    const int64_t amount = *FindAmount(amounts, resource);
    if (amount == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", resource, " ", AmountForPeople(resource, amount));
  }
  return text.empty() ? "nothing" : text;
}

std::vector<std::string> ResourcesOf(const std::vector<const Amounts*>& lists) {
  std::set<std::pair<int, std::string>> names;
  for (const Amounts* list : lists) {
    for (const queueing::v1::Amount& amount : *list) names.emplace(Rank(amount.resource()), amount.resource());
  }
  std::vector<std::string> out;
  for (const auto& [rank, name] : names) out.push_back(name);
  return out;
}

std::string Bar(const BarAmounts& amounts, int width, const BarGlyphs& glyphs) {
  // Something in use is seen, and a bar is full only if nothing is left.
  const double whole = static_cast<double>(std::max<int64_t>(amounts.max, 1));
  int filled = static_cast<int>(static_cast<double>(amounts.used) / whole * width);
  if (amounts.used > 0) filled = std::max(filled, 1);
  if (amounts.used >= amounts.max) filled = width;
  if (amounts.used <= 0) filled = 0;
  const int mark = amounts.min > 0 && amounts.min < amounts.max
                       ? static_cast<int>(static_cast<double>(amounts.min) / whole * width)
                       : -1;
  std::string bar;
  for (int i = 0; i < width; ++i)
    absl::StrAppend(&bar, i == mark ? glyphs.mark : i < filled ? glyphs.used : glyphs.free);
  return bar;
}

}  // namespace kq::kqctl
