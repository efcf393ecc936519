// Whether we read and print quantities as the API server does, for some two
// thousand spellings: every combination of the interesting parts and seeded
// random ones.
//
// The server is asked with dry runs, so nothing is created: ResourceSlices whose
// devices have a capacity for each spelling, because there a quantity may have
// any value, and one object takes a thousand. What we refuse is asked for one by
// one, since one bad quantity refuses the whole object.
//
//   . STATE/env && bazel test --test_env=KUBECONFIG --test_env=KUBECTL=$(command -v kubectl) //e2e/quantity/...
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/api/quantity.h"
#include "libs/common/json.h"

namespace kq {
namespace {

using Spellings = std::vector<std::string>;

// The limits of a ResourceSlice.
constexpr size_t kPerDevice = 32, kDevices = 64;

// No exponent here is large: on "1e2000000000" the server computes for minutes.
Spellings AllSpellings() {
  const Spellings signs = {"", "-", "+"};
  const Spellings numbers = {"",
                             ".",
                             "0",
                             "00",
                             "0.0",
                             "1",
                             "5.",
                             ".5",
                             "1.5",
                             "1.50",
                             "007",
                             "1000",
                             "1024",
                             "1023",
                             "999",
                             "8",
                             "9.999",
                             "1.500",
                             "123456",
                             "0.001",
                             "4.1",
                             "10",
                             "0.0000000001",
                             "9223372036854775807",
                             "9223372036854775808",
                             "123456789012345678901234567890",
                             "1.0000000000000000000000001"};
  const Spellings suffixes = {"",   "n",  "u",  "m",  "k",  "M",  "G",   "T",   "P",  "E",   "Ki",   "Mi",  "Gi",
                              "Ti", "Pi", "Ei", "e0", "e3", "E3", "e+2", "e-2", "e9", "e-9", "e-10", "e18", "e30"};
  std::set<std::string> all;
  for (const std::string& number : numbers) {
    for (const std::string& suffix : suffixes) {
      for (const std::string& sign : signs) {
        // Each sign with each number and each suffix, but not every triple.
        if (sign.empty() || (number.size() + suffix.size()) % 3 == 0) all.insert(absl::StrCat(sign, number, suffix));
      }
    }
  }
  std::mt19937_64 random(20261129);
  const auto digits = [&random](uint64_t most) {
    std::string out;
    for (uint64_t n = random() % (most + 1); n > 0; --n) out.push_back(static_cast<char>('0' + random() % 10));
    return out;
  };
  for (int i = 0; i < 600; ++i) {
    const std::string& sign = signs[random() % 6 / 2 % 3];
    const std::string fraction = random() % 2 == 0 ? "" : "." + digits(random() % 8 == 0 ? 24 : 5);
    all.insert(absl::StrCat(sign, digits(random() % 8 == 0 ? 24 : 7), fraction, suffixes[random() % suffixes.size()]));
  }
  for (const char* odd :
       {"1K",  "1ki",  "1GB",  "1g",   "1mi",   "1 Gi", "1,5",     "1.2.3",   "--1",
        "+-1", "1-",   "1+",   "0x10", "1e",    "1e+",  "1e1.5",   "1Ee5",    "1e5k",
        "1kk", "1KiB", "inf",  "NaN",  "1_000", "1e 5", "\u0661",  "1\u00b5", "k1",
        "e",   "Mi1",  "1..5", "..",   " 1k",   "1k ",  "\t2Mi\n", " ",       "",
        "1i",  "1ei",  "1EE",  "1Ei5", "1m3",   "5e-",  "1e0x1",   "1n1",     "1e9999999999999999999"}) {
    all.insert(odd);
  }
  return Spellings(all.begin(), all.end());
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What kubectl wrote to its two streams.
struct Output {
  std::string out, err;
};

// kubectl create, as a dry run on the server and without a check of its own.
Output DryRun(const Json& object, absl::string_view output_format) {
  REQUIRE_FALSE(Variable("KUBECONFIG").empty());  // the tests with a cluster need one
  const std::string kubectl = Variable("KUBECTL").empty() ? "kubectl" : Variable("KUBECTL");
  const std::string dir = Variable("TEST_TMPDIR").empty() ? "/tmp" : Variable("TEST_TMPDIR");
  const std::string in = dir + "/quantities.json", out = dir + "/out", err = dir + "/err";
  std::ofstream(in) << JsonText(object);
  const std::string command = absl::StrCat("HOME='", dir, "' '", kubectl,
                                           "' create --dry-run=server --validate=false --request-timeout=60s -o ",
                                           output_format, " -f '", in, "' >'", out, "' 2>'", err, "'");
  // It fails if anything is refused; what was refused is seen from the output.
  if (std::system(command.c_str()) != 0 && ReadFile(out).empty() && ReadFile(err).empty()) {
    FAIL("could not run " << command);
  }
  return {ReadFile(out), ReadFile(err)};
}

// A ResourceSlice with one capacity for each of `spellings`, in their order.
Json Slice(const std::string& name, const Spellings& spellings) {
  JsonArray devices;
  for (size_t i = 0; i < spellings.size(); i += kPerDevice) {
    JsonObject capacity;
    for (size_t j = i; j < std::min(i + kPerDevice, spellings.size()); ++j) {
      capacity[absl::StrCat("c", j)] = {{"value", spellings[j]}};
    }
    devices.push_back({{"name", absl::StrCat("d", i / kPerDevice)}, {"capacity", std::move(capacity)}});
  }
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"driver", "quantity.test"},
            {"nodeName", "nowhere"},
            {"pool", {{"name", "pool"}, {"generation", 1}, {"resourceSliceCount", 1}}},
            {"devices", std::move(devices)}}}};
}

// Asks for each spelling by itself: the places of those that are accepted, and
// what kubectl says about the others.
std::set<size_t> AcceptedPlaces(const Spellings& spellings, std::string* errors) {
  JsonArray items;
  for (size_t i = 0; i < spellings.size(); ++i) items.push_back(Slice(absl::StrCat("q", i), {spellings[i]}));
  const Output output = DryRun({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}, "name");
  *errors = output.err;
  std::set<size_t> places;
  for (absl::string_view line : absl::StrSplit(output.out, '\n', absl::SkipEmpty())) {
    const size_t slash = line.rfind("/q");
    REQUIRE(slash != absl::string_view::npos);
    places.insert(std::stoul(std::string(line.substr(slash + 2))));
  }
  return places;
}

// What the server makes of spellings that it accepts, in their order.
Spellings ServerTexts(const Spellings& spellings) {
  const Output output = DryRun(Slice("quantities", spellings), "json");
  const absl::StatusOr<Json> answer = ParseJson(output.out);
  if (!answer.ok()) {
    std::string refused, errors;
    const std::set<size_t> accepted = AcceptedPlaces(spellings, &errors);
    for (size_t i = 0; i < spellings.size(); ++i) {
      if (accepted.count(i) == 0) absl::StrAppend(&refused, "refused by the server: \"", spellings[i], "\"\n");
    }
    FAIL(output.err << refused);
  }
  Spellings texts(spellings.size());
  for (const Json& device : answer->at("spec").at("devices").as_array()) {
    for (const auto& capacity : device.at("capacity").as_object()) {
      const size_t index = std::stoul(std::string(capacity.key()).substr(1));
      texts.at(index) = StringAt(capacity.value(), {"value"});
    }
  }
  return texts;
}

// Whether the server's text for `spelling` is right by our canonical text.
bool Agrees(const std::string& spelling, const std::string& canonical, const std::string& server) {
  if (server == canonical) return true;
  // It repeats some spellings that look canonical to it, such as "+5" and "1.500".
  if (server == absl::StripAsciiWhitespace(spelling)) return true;
  // "1000E" has no suffix that is large enough; servers up to 1.36 print "1".
  const bool has_exponent = absl::StrContains(spelling.substr(0, spelling.size() - 1), 'e') ||
                            absl::StrContains(spelling.substr(0, spelling.size() - 1), 'E');
  const size_t exponent = canonical.find('e');
  return !has_exponent && exponent != std::string::npos && server == canonical.substr(0, exponent);
}

TEST_CASE("the API server prints every quantity that we accept as we do", "[quantity][cluster]") {
  Spellings accepted;
  for (const std::string& spelling : AllSpellings()) {
    if (Quantity::Parse(spelling).ok()) accepted.push_back(spelling);
  }
  REQUIRE(accepted.size() > 1000);
  std::string differences;
  size_t strictly = 0;
  for (size_t at = 0; at < accepted.size(); at += kPerDevice * kDevices) {
    const auto begin = accepted.begin() + static_cast<ptrdiff_t>(at);
    const Spellings some(begin, begin + static_cast<ptrdiff_t>(std::min(kPerDevice * kDevices, accepted.size() - at)));
    const Spellings server = ServerTexts(some);
    for (size_t i = 0; i < some.size(); ++i) {
      const Quantity ours = *Quantity::Parse(some[i]);
      if (!Agrees(some[i], ours.ToString(), server[i])) {
        absl::StrAppend(&differences, "\"", some[i], "\": server \"", server[i], "\", we \"", ours.ToString(), "\"\n");
      }
      strictly += server[i] == ours.ToString() ? 1 : 0;
    }
  }
  CHECK(differences == "");
  INFO(accepted.size() << " spellings");
  CHECK(strictly > accepted.size() * 7 / 10);
}

TEST_CASE("the API server refuses every quantity that we refuse", "[quantity][cluster]") {
  Spellings refused;
  for (const std::string& spelling : AllSpellings()) {
    if (!Quantity::Parse(spelling).ok()) refused.push_back(spelling);
  }
  REQUIRE(refused.size() > 40);
  // One that is right, to see that acceptance would be noticed.
  refused.push_back("1Gi");

  std::string errors;
  std::set<size_t> accepted = AcceptedPlaces(refused, &errors);
  CHECK(accepted.erase(refused.size() - 1) == 1);
  std::string differences;
  for (const size_t place : accepted)
    absl::StrAppend(&differences, "accepted by the server: \"", refused[place], "\"\n");
  CHECK(differences == "");
  // Each refusal for its quantity, not for something else in the object.
  size_t refusals = 0;
  for (absl::string_view line : absl::StrSplit(errors, '\n', absl::SkipEmpty())) {
    const bool about_quantity = absl::StrContains(line, "quantit") || absl::StrContains(line, "unable to parse");
    if (absl::StrContains(line, "Error from server") && !about_quantity) FAIL_CHECK(std::string(line));
    refusals += about_quantity ? 1 : 0;
  }
  CHECK(refusals == refused.size() - 1);
}

}  // namespace
}  // namespace kq
