#include "libs/api/quantity.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "libs/api/resources.h"

namespace kq {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Quantity Parsed(absl::string_view text) {
  CAPTURE(std::string(text));
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  REQUIRE(quantity.ok());
  return *quantity;
}

std::string Canonical(absl::string_view text) { return Parsed(text).ToString(); }

int64_t Amount(absl::string_view resource, absl::string_view text) {
  CAPTURE(std::string(resource), std::string(text));
  const absl::StatusOr<int64_t> amount = AmountFor(resource, text);
  REQUIRE(amount.ok());
  return *amount;
}

std::string Problem(absl::string_view text) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  return quantity.ok() ? "accepted as " + quantity->ToString() : std::string(quantity.status().message());
}

TEST_CASE("quantities are printed in canonical form", "[quantity]") {
  struct Case {
    const char *text, *canonical;
  };
  const auto c = GENERATE_REF(Catch::Generators::values<Case>({
      // plain and decimal suffixes
      {"0", "0"},
      {"00", "0"},
      {"-0", "0"},
      {"+0.000", "0"},
      {"0Ki", "0"},
      {"0e5", "0"},
      {"1", "1"},
      {"+1", "1"},
      {"007", "7"},
      {"4.5", "4500m"},
      {"0.5", "500m"},
      {".5", "500m"},
      {"5.", "5"},
      {"5.k", "5k"},
      {"-.5M", "-500k"},
      {"1000m", "1"},
      {"1500m", "1500m"},
      {"1000k", "1M"},
      {"999k", "999k"},
      {"1000000000000000000", "1E"},
      {"999E", "999E"},
      {"1n", "1n"},
      {"1000n", "1u"},
      {"0.001u", "1n"},
      {"1.100", "1100m"},
      {"12345.6789k", "12345678900m"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"1000E", "1e21"},
      // finer than nano: away from zero
      {"0.1n", "1n"},
      {"-0.1n", "-1n"},
      {"1.0000000001", "1000000001n"},
      {"0.9999999999", "1"},
      {"1e-10", "1e-9"},
      {"1e-2147483648", "1e-9"},
      // binary suffixes
      {"1Ki", "1Ki"},
      {"1024Ki", "1Mi"},
      {"1000Ki", "1000Ki"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"0.5Mi", "512Ki"},
      {"0.0001Ki", "102400u"},
      {"1.0001Ki", "1024102400u"},
      {"-1.5Ki", "-1536"},
      {"-2Mi", "-2Mi"},
      {"8191Pi", "8191Pi"},
      {"7Ei", "7Ei"},
      {"10Ei", "9223372036854775807"},
      {"8Ei", "9223372036854775807"},
      {"-100Ei", "-9223372036854775807"},
      {"9.999Ei", "9223372036854775807"},
      {"-49.6Ei", "-9223372036854775807"},
      {"62.5Ki", "64000"},
      {"8191.99999Pi", "9223372025595776739573760u"},
      // exponents
      {"1e3", "1e3"},
      {"1E3", "1e3"},
      {"12e6", "12e6"},
      {"1e+3", "1e3"},
      {"1e-3", "1e-3"},
      {"1000e3", "1e6"},
      {"1e4", "10e3"},
      {"1.5e1", "15"},
      {"1e0", "1"},
      {"123e-2", "1230e-3"},
      {"1e100", "10e99"},
      // spaces, as the server's JSON takes them
      {"  1Gi ", "1Gi"},
      // suffixes alone are 0 to the server, where its short way of reading does
      {"Ki", "0"},
      {"m", "0"},
      {".", "0"},
      {"+", "0"},
      {"-Ti", "0"},
      {"e5", "0"},
  }));
  CAPTURE(c.text);
  CHECK(Canonical(c.text) == c.canonical);
}

TEST_CASE("what is no quantity is refused with the reason", "[quantity]") {
  struct Case {
    const char *text, *problem;
  };
  const auto c = GENERATE_REF(Catch::Generators::values<Case>({
      {"", "\"\" is not a quantity: it is empty"},
      {"   ", "\"\" is not a quantity: it is empty"},
      {"1K", "\"1K\" is not a quantity: unknown suffix \"K\"; k is 1000, Ki is 1024"},
      {"1GB", "\"1GB\" is not a quantity: unknown suffix \"GB\"; G (powers of 1000) or Gi (of 1024) is meant?"},
      {"4g", "\"4g\" is not a quantity: unknown suffix \"g\"; G (powers of 1000) or Gi (of 1024) is meant?"},
      {"1GiB", "\"1GiB\" is not a quantity: unknown suffix \"GiB\"; Gi is meant?"},
      {"1mi", "\"1mi\" is not a quantity: unknown suffix \"mi\"; Mi is meant?"},
      {"1x", "\"1x\" is not a quantity: unknown suffix \"x\""},
      {"1.2.3", "\"1.2.3\" is not a quantity: unknown suffix \".3\""},
      {"--1", "\"--1\" is not a quantity: unknown suffix \"-1\""},
      {"1Gi\n", "\"1Gi\\n\" is not a quantity: unknown suffix \"Gi\\n\""},
      {"1 Gi", "\"1 Gi\" is not a quantity: unknown suffix \" Gi\""},
      {"1,5", "\"1,5\" is not a quantity: unknown suffix \",5\""},
      {"0x10", "\"0x10\" is not a quantity: unknown suffix \"x10\""},
      {"1e",
       "\"1e\" is not a quantity: the exponent \"\" is not a whole number; E (powers of 1000) or Ei (of 1024) is "
       "meant?"},
      {"1e+", "\"1e+\" is not a quantity: the exponent \"+\" is not a whole number"},
      {"1e1.5", "\"1e1.5\" is not a quantity: the exponent \"1.5\" is not a whole number"},
      {"1Ee5", "\"1Ee5\" is not a quantity: the exponent \"e5\" is not a whole number"},
      {"1e 5", "\"1e 5\" is not a quantity: the exponent \" 5\" is not a whole number"},
      {"Pi", "\"Pi\" is not a quantity: it has no digits"},
      {"-Ei", "\"-Ei\" is not a quantity: it has no digits"},
      {".e-10", "\".e-10\" is not a quantity: it has no digits"},
      {"1\x01", "\"1\\x01\" is not a quantity: unknown suffix \"\\x01\""},
      {"inf", "\"inf\" is not a quantity: unknown suffix \"inf\""},
      {"1e99999999999", "\"1e99999999999\" is no sensible quantity: its exponent is too large"},
      {"100e2147483646", "\"100e2147483646\" is no sensible quantity: its exponent is too large"},
      {"1e2147483648", "\"1e2147483648\" is no sensible quantity: its exponent is too large"},
  }));
  CHECK(Problem(c.text) == c.problem);
}

TEST_CASE("a text beyond any sense is refused by its length", "[quantity]") {
  const std::string longest(Quantity::kMaxLength, '7');
  CHECK(Canonical(longest) == longest);
  const absl::StatusOr<Quantity> longer = Quantity::Parse(longest + "7");
  CHECK(longer.status().code() == absl::StatusCode::kOutOfRange);
  CHECK(Problem(longest + "7").size() < 200);
}

TEST_CASE("amounts are milli for cpu and whole base units for the rest, rounded up", "[quantity]") {
  CHECK(Amount("cpu", "4") == 4000);
  CHECK(Amount("cpu", "250m") == 250);
  CHECK(Amount("cpu", "0.1") == 100);
  CHECK(Amount("cpu", "1n") == 1);
  CHECK(Amount("cpu", "1500500u") == 1501);
  CHECK(Amount("requests.cpu", "1") == 1000);
  CHECK(Amount("memory", "8Gi") == 8589934592);
  CHECK(Amount("memory", "1e3") == 1000);
  CHECK(Amount("memory", "128974848000m") == 128974848);
  CHECK(Amount("pods", "1.1") == 2);
  CHECK(Amount("nvidia.com/gpu", "1") == 1);
  CHECK(Amount("memory", "-1.5") == -2);
}

TEST_CASE("an amount that 64 bits cannot hold is refused, never cut", "[quantity]") {
  CHECK(Amount("memory", "9223372036854775807") == kMax);
  CHECK(Amount("memory", "7Ei") == 8070450532247928832);
  CHECK(Amount("memory", "9E") == 9'000'000'000'000'000'000);
  CHECK(Amount("cpu", "9223372036854775.807") == kMax);
  CHECK(Amount("memory", "-9223372036854775808") == std::numeric_limits<int64_t>::min());
  for (const char* text : {"9223372036854775808", "9223372036854775807.1", "8Ei", "10E", "1e100", "1e2147483647",
                           "-9223372036854775809", "99999999999999999999999999999999999999"}) {
    CAPTURE(text);
    const absl::Status status = AmountFor("memory", text).status();
    CHECK(status.code() == absl::StatusCode::kOutOfRange);
    CHECK(status.message() == absl::StrCat("\"", text, "\" is more than a 64-bit amount of memory can hold"));
  }
  CHECK(AmountFor("cpu", "9223372036854775.808").status().message() ==
        "\"9223372036854775.808\" is more than a 64-bit amount of cpu in thousandths can hold");
}

TEST_CASE("row 31: 10P of ephemeral storage is more than 1P and neither is 0", "[quantity][field]") {
  CHECK(Amount("ephemeral-storage", "1P") == 1'000'000'000'000'000);
  CHECK(Amount("ephemeral-storage", "10P") == 10'000'000'000'000'000);
  CHECK(Amount("example.com/dongle", "9.3P") == 9'300'000'000'000'000);
  CHECK(Parsed("10P") > Parsed("1P"));
}

TEST_CASE("row 32: 10Ei and 10E are handled alike and keep their order", "[quantity][field]") {
  CHECK(Parsed("10Ei") > Parsed("10E"));
  CHECK(Parsed("8Ei") > Parsed("9223372036854775807"));
  CHECK(AmountFor("memory", "10Ei").status().code() == absl::StatusCode::kOutOfRange);
  CHECK(AmountFor("memory", "10E").status().code() == absl::StatusCode::kOutOfRange);
}

TEST_CASE("row 34: binary fractions are whole bytes, rounded up", "[quantity][field]") {
  CHECK(Amount("memory", "1.5Gi") == 1610612736);
  CHECK(Amount("memory", "4.1Gi") == 4402341479);
  CHECK(QuantityText("memory", Amount("memory", "1.5Gi")) == "1536Mi");
  CHECK(Canonical("4.1Gi") == "4402341478400m");
}

TEST_CASE("row 35: fractional bytes round up, so that used is never less than asked", "[quantity][field]") {
  CHECK(Amount("memory", "0.5") == 1);
  CHECK(Amount("memory", "1m") == 1);
  CHECK(Amount("memory", "100n") == 1);
}

TEST_CASE("row 37: hugepages that are no multiple of the page size are warned about", "[quantity][field]") {
  CHECK(AmountWarning("hugepages-2Mi", Amount("hugepages-2Mi", "256")) ==
        "hugepages-2Mi: 256 bytes is not a multiple of the page size 2Mi; is 256Mi meant?");
  CHECK(AmountWarning("requests.hugepages-1Gi", 1536 << 20) ==
        "requests.hugepages-1Gi: 1610612736 bytes is not a multiple of the page size 1Gi");
  CHECK(AmountWarning("hugepages-2Mi", 256 << 20) == "");
  CHECK(AmountWarning("hugepages-2Mi", 0) == "");
  CHECK(AmountWarning("hugepages-2Mi", std::numeric_limits<int64_t>::max()) == "");
  CHECK(AmountWarning("hugepages-odd", 256) == "");
  CHECK(AmountWarning("hugepages-0", 256) == "");
  CHECK(AmountWarning("memory", 256) == "");
}

TEST_CASE("row 38: hugepages are bytes everywhere", "[quantity][field]") {
  CHECK(Amount("hugepages-1Gi", "2Gi") == 2147483648);
  CHECK(QuantityText("hugepages-1Gi", 2147483648) == "2Gi");
}

TEST_CASE("row 40: requests.nvidia.com/gpu and nvidia.com/gpu are one dimension", "[quantity][field]") {
  CHECK(CanonicalResourceName("requests.nvidia.com/gpu") == "nvidia.com/gpu");
  CHECK(CanonicalResourceName("nvidia.com/gpu") == "nvidia.com/gpu");
  CHECK(CanonicalResourceName("requests.cpu") == "cpu");
  CHECK(CanonicalResourceName("limits.cpu") == "limits.cpu");
  CHECK(CanonicalResourceName("requests.") == "requests.");
}

TEST_CASE("row 43: figures per pod are multiplied by the number of pods", "[quantity][field]") {
  const Resources card{{"example.com/gpumem", Amount("example.com/gpumem", "7000")}};
  CHECK(card.Scaled(2).At("example.com/gpumem") == 14000);
}

TEST_CASE("row 44: a limit on a resource that is not asked for refuses nobody", "[quantity][field]") {
  const Resources max{{"cpu", 4000}, {"nvidia.com/gpu", 9999}};
  CHECK(Resources{{"cpu", 4000}}.FitsWithin(max));
  CHECK_FALSE(Resources{{"cpu", 4001}}.FitsWithin(max));
}

TEST_CASE("row 49: every resource of a quota can be walked through, extended ones too", "[quantity][field]") {
  const Resources max{{"nvidia.com/gpu", 8}, {"cpu", 4000}, {"rdma/hca", 2}};
  std::vector<std::string> names;
  for (const auto& [name, amount] : max) names.push_back(name);
  CHECK(names == std::vector<std::string>{"cpu", "nvidia.com/gpu", "rdma/hca"});
}

TEST_CASE("amounts are printed for people in the resource's own unit", "[quantity]") {
  CHECK(QuantityText("cpu", 4500) == "4500m");
  CHECK(QuantityText("cpu", 4000) == "4");
  CHECK(QuantityText("cpu", 0) == "0");
  CHECK(QuantityText("memory", 8589934592) == "8Gi");
  CHECK(QuantityText("memory", 1000) == "1k");
  CHECK(QuantityText("memory", 1025) == "1025");
  CHECK(QuantityText("memory", -2048) == "-2Ki");
  CHECK(QuantityText("nvidia.com/gpu", 2) == "2");
  CHECK(QuantityText("pods", 2000) == "2k");
}

TEST_CASE("order is by value, whatever the spelling", "[quantity]") {
  CHECK(Parsed("1Ki") == Parsed("1024"));
  CHECK(Parsed("1000m") == Parsed("1"));
  CHECK(Parsed("1e3") == Parsed("1k"));
  CHECK(Parsed("-0") == Parsed("0"));
  const std::vector<const char*> ascending = {
      "-10Ei", "-10E", "-1k", "-999", "-1n", "0",   "1n", "999n", "1u",  "1m",   "0.1",  "0.9",  "1",
      "1.1",   "10",   "1k",  "1Ki",  "1M",  "1Mi", "1E", "1Ei",  "10E", "10Ei", "1e21", "1e99", "1e2147483647"};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      CAPTURE(ascending[i], ascending[j]);
      CHECK(((Parsed(ascending[i]) <=> Parsed(ascending[j])) == (i <=> j)));
    }
  }
}

// A random spelling that is most often a quantity.
std::string RandomSpelling(std::mt19937_64& random) {
  const auto below = [&random](uint64_t n) { return random() % n; };
  static const std::vector<std::string> kSuffixes = {"",   "n",  "u",  "m",  "k",  "M",  "G",  "T",   "P",  "E",
                                                     "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-4", "e+7"};
  std::string text = below(4) == 0 ? (below(2) == 0 ? "-" : "+") : "";
  const auto digits = [&](uint64_t most) {
    for (uint64_t n = below(most + 1); n > 0; --n) text.push_back(static_cast<char>('0' + below(10)));
  };
  digits(below(8) == 0 ? 30 : 6);
  if (below(2) == 0) {
    text.push_back('.');
    digits(below(8) == 0 ? 20 : 4);
  }
  return text + kSuffixes[below(kSuffixes.size())];
}

TEST_CASE("whatever is accepted keeps its value when it is printed and read again", "[quantity][property]") {
  std::mt19937_64 random(4711);
  int accepted = 0, wrong = 0;
  std::string first_wrong;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = RandomSpelling(random);
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
    if (!quantity.ok()) continue;
    ++accepted;
    const std::string canonical = quantity->ToString();
    const absl::StatusOr<Quantity> again = Quantity::Parse(canonical);
    // What the server cuts at 2^63 - 1 is printed cut.
    const bool cut = quantity->Scaled(0).value_or(std::numeric_limits<int64_t>::min()) < -kMax;
    const bool good = again.ok() && (cut || *again == *quantity);
    if (!good && wrong++ == 0) first_wrong = absl::StrCat(text, " -> ", canonical);
  }
  CAPTURE(first_wrong);
  CHECK(wrong == 0);
  CHECK(accepted > 80'000);
}

TEST_CASE("rounding up loses less than one unit and never goes below the value", "[quantity][property]") {
  std::mt19937_64 random(4712);
  int checked = 0, wrong = 0;
  std::string first_wrong;
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = RandomSpelling(random);
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
    if (!quantity.ok() || quantity->IsNegative()) continue;
    const absl::StatusOr<int64_t> milli = quantity->Scaled(3);
    if (!milli.ok()) continue;
    ++checked;
    const bool good =
        Quantity::Decimal(*milli, -3) >= *quantity && (*milli == 0 || Quantity::Decimal(*milli - 1, -3) < *quantity);
    if (!good && wrong++ == 0) first_wrong = text;
  }
  CAPTURE(first_wrong);
  CHECK(wrong == 0);
  CHECK(checked > 20'000);
}

TEST_CASE("an amount that is printed is read back as the same amount", "[quantity][property]") {
  std::mt19937_64 random(4713);
  int wrong = 0;
  std::string first_wrong;
  const auto check = [&](const char* resource, int64_t amount) {
    const std::string text = QuantityText(resource, amount);
    const absl::StatusOr<int64_t> again = AmountFor(resource, text);
    if ((!again.ok() || *again != amount) && wrong++ == 0) first_wrong = absl::StrCat(resource, " ", amount, " ", text);
  };
  for (const char* resource : {"cpu", "memory", "pods", "hugepages-2Mi", "nvidia.com/gpu"}) {
    for (int64_t amount : {int64_t{0}, int64_t{1}, kMax, kMax - 1, -kMax, int64_t{1} << 62, int64_t{1023}}) {
      check(resource, amount);
    }
    for (int i = 0; i < 10'000; ++i) {
      check(resource, static_cast<int64_t>(random() >> (1 + random() % 63)) << (random() % 8));
    }
  }
  CAPTURE(first_wrong);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace kq
