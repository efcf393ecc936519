// Any bytes as a quantity: no crash, and what is accepted keeps its value when it
// is printed and read again.
//
//   bazel test --config=fuzz //libs/api:quantity_fuzz                    # replays the corpus
//   bazel run --config=fuzz //libs/api:quantity_fuzz -- -max_total_time=60 DIR
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "libs/api/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes), size);
  const absl::StatusOr<kq::Quantity> quantity = kq::Quantity::Parse(text);
  if (!quantity.ok()) {
    if (quantity.status().message().empty()) std::abort();
    return 0;
  }
  const std::string canonical = quantity->ToString();
  const absl::StatusOr<kq::Quantity> again = kq::Quantity::Parse(canonical);
  if (!again.ok()) {
    // Printing may only be longer than what may be read, never wrong.
    if (canonical.size() <= kq::Quantity::kMaxLength) std::abort();
    return 0;
  }
  // A binary amount may print without a suffix ("62.5Ki" is "64000"), and is then
  // decimal when it is read again ("64k"); there it ends.
  const std::string settled = again->ToString();
  const absl::StatusOr<kq::Quantity> last = kq::Quantity::Parse(settled);
  if (!last.ok() || last->ToString() != settled || *last != *again) std::abort();
  const absl::StatusOr<int64_t> amount = quantity->Scaled(0);
  if (amount.ok() && kq::Quantity::Decimal(*amount) < *quantity && !quantity->IsNegative()) std::abort();
  // The server prints binary amounts cut at +-(2^63 - 1).
  if (amount.ok() && *amount != INT64_MIN && *again != *quantity) std::abort();
  return 0;
}
