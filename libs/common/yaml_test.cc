#include "libs/common/yaml.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

// The value of a YAML text as JSON, or the error.
std::string AsJson(absl::string_view text, const YamlLimits& limits = {}) {
  const absl::StatusOr<Json> value = ParseYaml(text, limits);
  if (value.ok()) return JsonText(*value);
  CHECK(value.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

TEST_CASE("mappings, sequences and scalars become JSON", "[yaml]") {
  CHECK(AsJson(R"(
# a kubeconfig
apiVersion: v1
clusters:
- name: local
  cluster: {server: "https://127.0.0.1:6443", insecure: false}
users: []
nothing:
text: |
  two
  lines
)") == R"({"apiVersion":"v1","clusters":[{"name":"local","cluster":{"server":"https://127.0.0.1:6443",)"
       R"("insecure":false}}],"users":[],"nothing":null,"text":"two\nlines\n"})");
}

TEST_CASE("plain scalars have the types of YAML 1.2", "[yaml]") {
  struct Case {
    const char *yaml, *json;
  };
  const auto c = GENERATE_REF(Catch::Generators::values<Case>({
      {"null", "null"},
      {"~", "null"},
      {"", "null"},
      {"true", "true"},
      {"False", "false"},
      {"yes", "\"yes\""},
      {"no", "\"no\""},
      {"on", "\"on\""},
      {"12", "12"},
      {"+12", "12"},
      {"-0", "0"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"017", "17"},
      {"18446744073709551615", "18446744073709551615"},
      {"123456789012345678901", "123456789012345683968"},
      {"1.5", "1.5"},
      {"-.5", "-0.5"},
      {"1e3", "1000"},
      {"1.", "1"},
      {".", "\".\""},
      {"-", "[null]"},
      {"1_000", "\"1_000\""},
      {"1.2.3", "\"1.2.3\""},
      {"500m", "\"500m\""},
      {"8Gi", "\"8Gi\""},
      {"0x", "\"0x\""},
      {"infinity", "\"infinity\""},
      {"nan", "\"nan\""},
      {"2026-11-29T21:26:16Z", "\"2026-11-29T21:26:16Z\""},
      {"\"12\"", "\"12\""},
      {"'true'", "\"true\""},
      {"!!str 12", "\"12\""},
      {"!!int 12", "12"},
      {"!!float 12", "12"},
      {"!!null ~", "null"},
  }));
  CAPTURE(c.yaml);
  CHECK(AsJson(c.yaml) == c.json);
}

TEST_CASE("aliases and merged texts are written out", "[yaml]") {
  CHECK(AsJson("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n") == R"({"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]})");
}

TEST_CASE("what is wrong is told with its line and column", "[yaml]") {
  struct Case {
    const char *yaml, *problem;
  };
  const auto c = GENERATE_REF(Catch::Generators::values<Case>({
      {"a: 1\nb: [1, 2\n", "line 3, column 1: "},
      {"a: 1\n\tb: 2\n", "line 2, column "},
      {"a: 1\na: 2\n", "line 2, column 1: the key \"a\" occurs twice"},
      {"a:\n  ? [x]\n  : 1\n", "line 2, column 5: a key that is not a scalar"},
      {"a: !mine 1\n", "line 1, column 4: \"1\" with the tag !mine is not understood"},
      {"a: !!int x\n", "line 1, column 4: \"x\" with the tag tag:yaml.org,2002:int is not understood"},
      {"a: .inf\n", "line 1, column 4: .inf has no JSON form"},
      {"a: *nobody\n", "line 1, column 4: "},
      {"a: 1\n---\nb: 2\n", "YAML: one document wanted, found 2"},
  }));
  CAPTURE(c.yaml);
  CHECK_THAT(AsJson(c.yaml), Catch::StartsWith(c.problem));
}

TEST_CASE("a stream may hold many documents", "[yaml]") {
  const absl::StatusOr<std::vector<Json>> documents = ParseYamlDocuments("a: 1\n---\n---\n# nothing\n---\n- 2\n...\n");
  REQUIRE(documents.ok());
  REQUIRE(documents->size() == 2);
  CHECK(JsonText((*documents)[0]) == R"({"a":1})");
  CHECK(JsonText((*documents)[1]) == "[2]");
  CHECK(ParseYamlDocuments("").value().empty());
  CHECK(AsJson("") == "null");
  CHECK(AsJson("# only a comment\n") == "null");
}

TEST_CASE("size, depth and the number of values are limited", "[yaml]") {
  CHECK(AsJson("abcdef", {.bytes = 5}) == "YAML: 6 bytes, more than the limit of 5");
  CHECK(AsJson("[[[1]]]", {.depth = 3}) == "[[[1]]]");
  CHECK(AsJson("[[[1]]]", {.depth = 2}) == "line 1, column 4: nested too deeply");
  CHECK(AsJson("[1, 2, 3]", {.values = 4}) == "[1,2,3]");
  CHECK_THAT(AsJson("[1, 2, 3]", {.values = 3}), Catch::StartsWith("line 1, column 8: more than 3 values"));
  CHECK_THAT(AsJson(std::string(100'000, '[')), Catch::StartsWith("line "));
}

TEST_CASE("a text that grows by its aliases is refused", "[yaml]") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string n = std::to_string(i), p = std::to_string(i - 1);
    absl::StrAppend(&text, "a", n, ": &a", n, " [*a", p, ", *a", p, ", *a", p, ", *a", p, "]\n");
  }
  CHECK_THAT(AsJson(text), Catch::Contains("more than 200000 values; too many aliases?"));
  CHECK_THAT(AsJson("&a [*a]"), Catch::StartsWith("line 1, column "));
}

TEST_CASE("values are written in block style", "[yaml]") {
  const Json value = ParseJson(R"({"name":"a b","empty":{},"list":[1,{"x":"yes","y":[true]},[2,3],[]],"n":null,
      "quoted":["","12","true","a: b","#x","- x","2026-01-01","ends:","two\nlines","~","é"],
      "deep":{"a":{"b":1.5}}})")
                         .value();
  CHECK(YamlText(value) == R"(name: a b
empty: {}
list:
- 1
- x: "yes"
  "y":
  - true
- - 2
  - 3
- []
"n": null
quoted:
- ""
- "12"
- "true"
- "a: b"
- "#x"
- "- x"
- "2026-01-01"
- "ends:"
- "two\nlines"
- "~"
- "é"
deep:
  a:
    b: 1.5
)");
  CHECK(YamlText(Json("x")) == "x\n");
  CHECK(YamlText(Json(JsonArray())) == "[]\n");
}

// A random value with strings that could be mistaken for something else.
Json RandomValue(std::mt19937_64& random, int depth) {
  static const std::vector<const char*> kTexts = {
      "",     "a",    "yes",  "null", "~",   "1",    "1.5", "-",    "- a", ": ",          "a:b", "a: b", "#",
      "a #b", "[",    "{a}",  "&a",   "*a",  "!x",   "|",   ">",    "'",   "\"",          "%a",  "@a",   "`",
      "\n",   "\t",   " a",   "a ",   "0x1", ".inf", "=",   "<<",   "?",   "? a",         "---", "...",  "\x7f",
      "é",    "/a/b", "a\\b", "1e5",  "+1",  "_",    "a,b", "500m", "y",   "\xe2\x80\xa8"};
  switch (random() % (depth > 3 ? 5 : 7)) {
    case 0:
      return Json(nullptr);
    case 1:
      return Json(random() % 2 == 0);
    case 2:
      return Json(static_cast<int64_t>(random()) >> (random() % 64));
    case 3:
      return Json(static_cast<double>(static_cast<int64_t>(random())) / 1024);
    case 4:
      return Json(kTexts[random() % kTexts.size()]);
    case 5: {
      JsonArray array;
      for (uint64_t n = random() % 4; n > 0; --n) array.push_back(RandomValue(random, depth + 1));
      return array;
    }
    default: {
      JsonObject object;
      for (uint64_t n = random() % 4; n > 0; --n) {
        object[kTexts[random() % kTexts.size()]] = RandomValue(random, depth + 1);
      }
      return object;
    }
  }
}

TEST_CASE("what is written is read back as the same value", "[yaml][property]") {
  std::mt19937_64 random(1);
  int wrong = 0;
  std::string first_wrong;
  for (int i = 0; i < 3'000; ++i) {
    const Json value = RandomValue(random, 0);
    const std::string text = YamlText(value);
    const absl::StatusOr<Json> again = ParseYaml(text);
    if ((!again.ok() || JsonText(*again) != JsonText(value)) && wrong++ == 0) {
      first_wrong = JsonText(value) + "\n" + text + (again.ok() ? JsonText(*again) : again.status().ToString());
    }
  }
  CAPTURE(first_wrong);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace kq
