#include "libs/api/quantity.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kq {
namespace {

constexpr int64_t kNano = -9;
constexpr absl::string_view kMaxAmount = "9223372036854775807";

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Takes the digits off the front of `text`.
absl::string_view TakeDigits(absl::string_view* text) {
  size_t count = 0;
  while (count < text->size() && IsDigit((*text)[count])) ++count;
  const absl::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 64)), text.size() > 64 ? "..." : "", "\"");
}

absl::Status Malformed(absl::string_view text, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not a quantity: ", problem));
}

// What was meant by a suffix that does not exist, as far as that can be guessed.
std::string SuffixHint(absl::string_view suffix) {
  if (suffix == "K") return "; k is 1000, Ki is 1024";
  const std::string lower = absl::AsciiStrToLower(suffix);
  absl::string_view letter = lower;
  absl::ConsumeSuffix(&letter, "b");  // bytes: "gb", "GiB"
  const bool binary = absl::ConsumeSuffix(&letter, "i");
  if (letter.size() != 1 || absl::string_view("kmgtpe").find(letter[0]) == absl::string_view::npos) return "";
  const std::string upper = absl::AsciiStrToUpper(letter);
  return binary
             ? absl::StrCat("; ", upper, "i is meant?")
             : absl::StrCat("; ", letter == "k" ? "k" : upper, " (powers of 1000) or ", upper, "i (of 1024) is meant?");
}

// digits * 2^power, where power <= 60. Nine times 2^60 and a carry fit 64 bits.
std::string TimesPowerOfTwo(const std::string& digits, int64_t power) {
  std::string reversed;
  uint64_t carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    carry += static_cast<uint64_t>(*digit - '0') << power;
    reversed.push_back(static_cast<char>('0' + carry % 10));
    carry /= 10;
  }
  for (; carry > 0; carry /= 10) reversed.push_back(static_cast<char>('0' + carry % 10));
  return std::string(reversed.rbegin(), reversed.rend());
}

// Adds one to a number in digits.
void Increment(std::string* digits) {
  for (auto digit = digits->rbegin(); digit != digits->rend(); ++digit) {
    if (*digit != '9') {
      ++*digit;
      return;
    }
    *digit = '0';
  }
  digits->insert(0, 1, '1');
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

absl::Status ExponentTooLarge(absl::string_view whole) {
  return absl::OutOfRangeError(absl::StrCat(Quoted(whole), " is no sensible quantity: its exponent is too large"));
}

}  // namespace

Quantity Quantity::Decimal(int64_t value, int exponent) {
  Quantity quantity;
  quantity.negative_ = value < 0;
  quantity.digits_ = absl::StrCat(Magnitude(value));
  quantity.exponent_ = exponent;
  quantity.Normalize();
  return quantity;
}

Quantity Quantity::Binary(int64_t value) {
  Quantity quantity = Decimal(value);
  quantity.format_ = Format::kBinarySuffix;
  return quantity;
}

absl::StatusOr<Quantity> Quantity::Parse(absl::string_view text) {
  if (text.size() > kMaxLength) {
    return absl::OutOfRangeError(absl::StrCat(Quoted(text), " is no sensible quantity: ", text.size(), " characters"));
  }
  absl::string_view whole = text;
  while (absl::ConsumePrefix(&whole, " ") || absl::ConsumeSuffix(&whole, " ")) {
  }
  if (whole.empty()) return Malformed(whole, "it is empty");
  absl::string_view rest = whole;
  Quantity quantity;
  quantity.negative_ = absl::ConsumePrefix(&rest, "-");
  if (!quantity.negative_) absl::ConsumePrefix(&rest, "+");
  const absl::string_view number = TakeDigits(&rest);
  const absl::string_view fraction = absl::ConsumePrefix(&rest, ".") ? TakeDigits(&rest) : "";

  const absl::StatusOr<Suffix> suffix = ParseSuffix(rest, whole);
  if (!suffix.ok()) return suffix.status();
  quantity.format_ = suffix->format;
  quantity.digits_ = absl::StrCat(number, fraction);
  quantity.exponent_ = -static_cast<int64_t>(fraction.size());
  if (quantity.digits_.empty()) {
    // The server's shorter way of reading takes these for 0, its longer one,
    // for what may not fit 64 bits, does not.
    const bool is_zero = suffix->format == Format::kBinarySuffix ? suffix->power < 50 : suffix->power >= kNano;
    if (!is_zero) return Malformed(whole, "it has no digits");
  }
  if (suffix->format == Format::kBinarySuffix) {
    quantity.digits_ = TimesPowerOfTwo(quantity.digits_, suffix->power);
  } else {
    quantity.exponent_ += suffix->power;
  }
  quantity.Normalize();
  quantity.RoundToNano();
  // With the zeros before it: what is printed must be readable.
  if (quantity.exponent_ > std::numeric_limits<int32_t>::max()) return ExponentTooLarge(whole);
  return quantity;
}

absl::StatusOr<Quantity::Suffix> Quantity::ParseSuffix(absl::string_view text, absl::string_view whole) {
  for (const Format format : {Format::kDecimalSuffix, Format::kBinarySuffix}) {
    const bool binary = format == Format::kBinarySuffix;
    for (int64_t power = binary ? 10 : kNano; power <= (binary ? 60 : 18); power += binary ? 10 : 3) {
      if (text == SuffixFor(format, power)) return Suffix{format, power};
    }
  }
  absl::string_view exponent = text;
  if (!absl::ConsumePrefix(&exponent, "e") && !absl::ConsumePrefix(&exponent, "E")) {
    return Malformed(whole, absl::StrCat("unknown suffix ", Quoted(text), SuffixHint(text)));
  }
  absl::string_view digits = exponent;
  if (!absl::ConsumePrefix(&digits, "+")) absl::ConsumePrefix(&digits, "-");
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), IsDigit)) {
    return Malformed(whole,
                     absl::StrCat("the exponent ", Quoted(exponent), " is not a whole number", SuffixHint(text)));
  }
  int32_t power;
  if (!absl::SimpleAtoi(exponent, &power)) {
    return ExponentTooLarge(whole);
  }
  return Suffix{Format::kExponent, power};
}

const char* Quantity::SuffixFor(Format format, int64_t power) {
  static constexpr const char* kDecimal[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  static constexpr const char* kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  return format == Format::kBinarySuffix ? kBinary[power / 10] : kDecimal[(power - kNano) / 3];
}

void Quantity::Normalize() {
  const size_t first = digits_.find_first_not_of('0');
  if (first == std::string::npos) {
    digits_.clear();
    exponent_ = 0;
    negative_ = false;
    return;
  }
  const size_t last = digits_.find_last_not_of('0');
  exponent_ += static_cast<int64_t>(digits_.size() - last - 1);
  digits_ = digits_.substr(first, last - first + 1);
}

void Quantity::RoundToNano() {
  if (exponent_ >= kNano) return;
  const auto drop = static_cast<size_t>(kNano - exponent_);
  // The last digit is not 0, so something is always lost.
  digits_.resize(digits_.size() > drop ? digits_.size() - drop : 0);
  Increment(&digits_);
  exponent_ = kNano;
  Normalize();
}

std::optional<int64_t> Quantity::Rounded(int decimals) const {
  std::string digits = digits_;
  const int64_t shift = exponent_ + decimals;
  if (shift < 0) {
    const auto drop = static_cast<size_t>(-shift);
    digits.resize(digits.size() > drop ? digits.size() - drop : 0);
    Increment(&digits);
  } else if (!digits.empty()) {
    // More zeros than fit change nothing about the answer.
    digits.append(static_cast<size_t>(std::min<int64_t>(shift, 32)), '0');
  }
  uint64_t magnitude = 0;
  if (!digits.empty() && (digits.size() > kMaxAmount.size() || !absl::SimpleAtoi(digits, &magnitude) ||
                          magnitude > Magnitude(std::numeric_limits<int64_t>::min()) - (negative_ ? 0 : 1))) {
    return std::nullopt;
  }
  return static_cast<int64_t>(negative_ ? uint64_t{0} - magnitude : magnitude);
}

absl::StatusOr<int64_t> Quantity::Scaled(int decimals) const {
  if (const std::optional<int64_t> value = Rounded(decimals)) return *value;
  return absl::OutOfRangeError(absl::StrCat(Quoted(ToString()), " is more than a 64-bit amount can hold"));
}

std::string Quantity::ToString() const {
  if (IsZero()) return "0";
  switch (format_) {
    case Format::kDecimalSuffix:
      return DecimalText(Format::kDecimalSuffix);
    case Format::kExponent:
      return DecimalText(Format::kExponent);
    case Format::kBinarySuffix:
      return BinaryText();
  }
  return "0";
}

std::string Quantity::DecimalText(Format format) const {
  // Down to the next multiple of 3, so that a suffix exists.
  const int64_t rest = ((exponent_ % 3) + 3) % 3;
  const int64_t power = exponent_ - rest;
  std::string out = absl::StrCat(negative_ ? "-" : "", digits_, std::string(static_cast<size_t>(rest), '0'));
  if (format == Format::kDecimalSuffix && power <= 18) return absl::StrCat(out, SuffixFor(format, power));
  return power == 0 ? out : absl::StrCat(out, "e", power);
}

std::string Quantity::BinaryText() const {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t magnitude = Magnitude(Rounded(0).value_or(std::numeric_limits<int64_t>::min()));
  // The server cuts here.
  if (magnitude > kMost) return absl::StrCat(negative_ ? "-" : "", kMost);
  // A fraction, and what is less than 1Ki, is printed in decimal.
  if (exponent_ < 0 || magnitude < 1024) return DecimalText(Format::kDecimalSuffix);
  int64_t power = 0;
  for (; magnitude % 1024 == 0; magnitude /= 1024) power += 10;
  return absl::StrCat(negative_ ? "-" : "", magnitude, SuffixFor(Format::kBinarySuffix, power));
}

std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
  const auto sign = [](const Quantity& q) { return q.IsZero() ? 0 : q.negative_ ? -1 : 1; };
  if (sign(a) != sign(b) || sign(a) == 0) return sign(a) <=> sign(b);
  const auto places = [](const Quantity& q) { return q.exponent_ + static_cast<int64_t>(q.digits_.size()); };
  std::strong_ordering order = places(a) <=> places(b);
  // With the same number of places the digits are compared from the left, as words are.
  if (order == 0) order = a.digits_.compare(b.digits_) <=> 0;
  return a.negative_ ? 0 <=> order : order;
}

std::ostream& operator<<(std::ostream& out, const Quantity& quantity) { return out << quantity.ToString(); }

absl::StatusOr<int64_t> AmountFor(absl::string_view resource_name, const Quantity& quantity) {
  return quantity.Scaled(CountsMilli(resource_name) ? 3 : 0);
}

absl::StatusOr<int64_t> AmountFor(absl::string_view resource_name, absl::string_view text) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  if (!quantity.ok()) return quantity.status();
  absl::StatusOr<int64_t> amount = AmountFor(resource_name, *quantity);
  if (!amount.ok()) {
    return absl::OutOfRangeError(absl::StrCat(Quoted(text), " is more than a 64-bit amount of ", resource_name,
                                              CountsMilli(resource_name) ? " in thousandths" : "", " can hold"));
  }
  return amount;
}

std::string QuantityText(absl::string_view resource_name, int64_t amount) {
  if (CountsMilli(resource_name)) return Quantity::Decimal(amount, -3).ToString();
  return CountsBytes(resource_name) ? Quantity::Binary(amount).ToString() : Quantity::Decimal(amount).ToString();
}

bool CountsMilli(absl::string_view resource_name) {
  return resource_name == "cpu" || resource_name == "requests.cpu" || resource_name == "limits.cpu";
}

bool CountsBytes(absl::string_view resource_name) {
  if (!absl::ConsumePrefix(&resource_name, "requests.")) absl::ConsumePrefix(&resource_name, "limits.");
  return resource_name == "memory" || resource_name == "storage" || resource_name == "ephemeral-storage" ||
         absl::StartsWith(resource_name, "hugepages-");
}

std::string CanonicalResourceName(absl::string_view resource_name) {
  absl::string_view bare = resource_name;
  return std::string(absl::ConsumePrefix(&bare, "requests.") && !bare.empty() ? bare : resource_name);
}

std::string AmountWarning(absl::string_view resource_name, int64_t amount) {
  absl::string_view size_text = resource_name;
  if (!absl::ConsumePrefix(&size_text, "requests.")) absl::ConsumePrefix(&size_text, "limits.");
  if (!absl::ConsumePrefix(&size_text, "hugepages-")) return "";
  const absl::StatusOr<Quantity> page = Quantity::Parse(size_text);
  if (!page.ok()) return "";
  const absl::StatusOr<int64_t> page_bytes = page->Scaled(0);
  if (!page_bytes.ok() || *page_bytes <= 0 || amount % *page_bytes == 0) return "";
  if (amount == std::numeric_limits<int64_t>::max()) return "";  // how others write "no limit"
  std::string warning =
      absl::StrCat(resource_name, ": ", amount, " bytes is not a multiple of the page size ", size_text);
  // A bare small number is most likely meant in the unit of the page size.
  constexpr int64_t kMega = 1 << 20;
  if (amount > 0 && amount < kMega) absl::StrAppend(&warning, "; is ", amount, "Mi meant?");
  return warning;
}

}  // namespace kq
