#ifndef LIBS_API_QUANTITY_H_
#define LIBS_API_QUANTITY_H_

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Kubernetes' quantities: "4", "500m", "1.5Gi", "12e6".
//
//   number   digits, with or without one dot anywhere ("5.", ".5"), with or without a sign
//   suffix   none, or n u m k M G T P E       powers of 1000
//                  or Ki Mi Gi Ti Pi Ei       powers of 1024
//                  or e or E and an integer   powers of 10
//
// What the API server accepts is accepted, and what it refuses is refused; that
// is tested on the real one (e2e/quantity). Values are exact: decimal digits and
// an exponent, never a float. Two rules are the server's: a value finer than 1n is
// rounded away from zero to the next n, so that whoever asks for something gets
// something; and it takes a suffix alone ("Ki", "m") for zero.
//
// Two more of its rules are not followed, because they lose what the user wrote:
//   - it cuts binary amounts, but not decimal ones, at 2^63 - 1. Here "10Ei" is more than
//     "10E", and neither becomes an amount. ToString still prints it as the server does.
//   - it takes exponents modulo 2^32. Here one beyond +-2^31 is kOutOfRange.
namespace kq {

class Quantity {
 public:
  // Zero.
  Quantity() = default;
  // `value` times 10^`exponent`, printed with decimal suffixes. REQUIRES: exponent >= -9.
  static Quantity Decimal(int64_t value, int exponent = 0);
  // `value`, printed with binary suffixes.
  static Quantity Binary(int64_t value);

  // Spaces around the text are ignored, as in the server's JSON. Errors quote the text and
  // say what is wrong with it: kInvalidArgument for its form, kOutOfRange for an
  // exponent or a length (kMaxLength) beyond any sense.
  static absl::StatusOr<Quantity> Parse(absl::string_view text);
  static constexpr size_t kMaxLength = 1024;

  bool IsZero() const { return digits_.empty(); }
  bool IsNegative() const { return negative_; }

  // The value times 10^`decimals`, rounded up (away from zero); kOutOfRange if that
  // is beyond int64. Scaled(3) of "1.5m" is 2.
  absl::StatusOr<int64_t> Scaled(int decimals) const;

  // The canonical text, as Kubernetes prints it: no fraction, the largest suffix
  // that keeps the value exact, of the same kind as it was written with.
  // (1.5 -> 1500m, 1.5Gi -> 1536Mi, 1000k -> 1M, 12e6 -> 12e6, 0.5Ki -> 512)
  std::string ToString() const;

  // By value alone; "1Ki" equals "1024".
  friend bool operator==(const Quantity& a, const Quantity& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b);
  friend std::ostream& operator<<(std::ostream& out, const Quantity& quantity);

 private:
  enum class Format { kDecimalSuffix, kBinarySuffix, kExponent };
  // The kind of a suffix, and the power of 10 or of 2 it stands for.
  struct Suffix {
    Format format = Format::kDecimalSuffix;
    int64_t power = 0;
  };

  static absl::StatusOr<Suffix> ParseSuffix(absl::string_view text, absl::string_view whole);
  static const char* SuffixFor(Format format, int64_t power);
  // As Scaled; nullopt if int64 cannot hold it.
  std::optional<int64_t> Rounded(int decimals) const;
  // Takes zeros off both ends of digits_.
  void Normalize();
  void RoundToNano();
  std::string DecimalText(Format format) const;
  std::string BinaryText() const;

  bool negative_ = false;
  std::string digits_;    // most significant first, no zeros at either end; empty is 0
  int64_t exponent_ = 0;  // the value is digits_ * 10^exponent_
  Format format_ = Format::kDecimalSuffix;
};

// The amount of a resource as Resources holds it: cpu in milli, everything else in base
// units, rounded up. kOutOfRange if int64 cannot hold it; never cut.
absl::StatusOr<int64_t> AmountFor(absl::string_view resource_name, const Quantity& quantity);
// As AmountFor, from the text.
absl::StatusOr<int64_t> AmountFor(absl::string_view resource_name, absl::string_view text);

// The way back, canonical: cpu 4500 -> "4500m", memory 8589934592 -> "8Gi",
// nvidia.com/gpu 2 -> "2". AmountFor reads it as the same amount.
std::string QuantityText(absl::string_view resource_name, int64_t amount);

// Whether amounts of this resource count thousandths: cpu, under any of its names.
bool CountsMilli(absl::string_view resource_name);
// Whether the resource is measured in bytes: memory, storage, hugepages of any size.
bool CountsBytes(absl::string_view resource_name);

// One dimension has one name: quota documents write "requests.nvidia.com/gpu" for
// what pods call "nvidia.com/gpu". "limits." stays, it is another dimension.
std::string CanonicalResourceName(absl::string_view resource_name);

// A sentence about an amount that is most likely a mistake; empty if there is none. Now: hugepages
// that are no multiple of their page size, as when pages are written for bytes
// ("hugepages-2Mi: 256" where 256Mi was meant).
std::string AmountWarning(absl::string_view resource_name, int64_t amount);

}  // namespace kq

#endif  // LIBS_API_QUANTITY_H_
