#ifndef CLI_KQCTL_AMOUNTS_H_
#define CLI_KQCTL_AMOUNTS_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/queueing/v1/snapshot.pb.h"

// Amounts as people read them. In messages cpu counts thousandths of a core and
// everything else whole base units; here cpu is in cores and bytes have suffixes.
namespace kq::kqctl {

// cpu 4500 -> "4.5", memory 8589934592 -> "8Gi", memory 1500000000 -> "1.4Gi",
// nvidia.com/gpu 2 -> "2". Bytes that do not come out even have one decimal.
std::string AmountForPeople(absl::string_view resource, int64_t amount);

using Amounts = google::protobuf::RepeatedPtrField<queueing::v1::Amount>;

// The amount of one resource; nullopt if it is not named.
std::optional<int64_t> FindAmount(const Amounts& amounts, absl::string_view resource);

// "cpu 2, memory 8Gi"; "nothing" if there is none above 0.
std::string AmountsForPeople(const Amounts& amounts);

// The resources that any of the lists names, in order, cpu and memory first.
std::vector<std::string> ResourcesOf(const std::vector<const Amounts*>& lists);

// How a bar is drawn.
struct BarGlyphs {
  absl::string_view used;
  absl::string_view free;
  absl::string_view mark;  // at the guaranteed amount
};
struct BarAmounts {
  int64_t used = 0;
  int64_t min = 0;
  int64_t max = 0;  // the whole bar
};
// A bar of `width` glyphs: used of max, with a mark where min ends if it ends
// within. More than max fills the bar. REQUIRES: width > 0.
std::string Bar(const BarAmounts& amounts, int width, const BarGlyphs& glyphs);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_AMOUNTS_H_
