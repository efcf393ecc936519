#include "libs/common/json.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

Json Parsed(absl::string_view text) {
  CAPTURE(std::string(text));
  absl::StatusOr<Json> value = ParseJson(text);
  REQUIRE(value.ok());
  return *std::move(value);
}

std::string Problem(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("a text is parsed and written again as it was", "[json]") {
  for (const char* text : {
           R"({"b":1,"a":[true,false,null,"x"],"c":{}})",
           R"([])",
           R"("line\nquote\" back\\ tab\t nul\u0000 é 日本")",
           R"(-9223372036854775808)",
           R"(9223372036854775807)",
           R"(18446744073709551615)",
           R"(0.1)",
           R"(-1.5)",
           R"(1e+30)",
       }) {
    CHECK(JsonText(Parsed(text)) == text);
  }
}

TEST_CASE("a number that is whole is written as an integer", "[json]") {
  CHECK(JsonText(Json(5)) == "5");
  CHECK(JsonText(Json(5.0)) == "5");
  CHECK(JsonText(Parsed("5.0")) == "5");
  CHECK(JsonText(Parsed("2e2")) == "200");
  CHECK(JsonText(Json(uint64_t{1} << 63)) == "9223372036854775808");
  CHECK(JsonText(Json(0.1 + 0.2)) == "0.30000000000000004");
  CHECK(JsonText(Json(std::nan(""))) == "null");
  CHECK(JsonText(Json(-std::numeric_limits<double>::infinity())) == "null");
}

TEST_CASE("bytes that are no UTF-8 are replaced one by one, so that what is written can be read", "[json]") {
  const std::string bad = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> cases[] = {
      {"caf\xE9", "caf" + bad},  // Latin-1
      {"\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80", "\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80"},
      {"\xE6\x97", bad + bad},  // cut off
      {"\xE6\x97z", bad + bad + "z"},
      {"\xC0\xAF", bad + bad},                      // a slash, too long
      {"\xE0\x9F\xBF", bad + bad + bad},            // likewise
      {"\xED\xA0\x80", bad + bad + bad},            // a surrogate
      {"\xF4\x90\x80\x80", bad + bad + bad + bad},  // beyond the last character
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},     // the last one
      {"\x80\xFF", bad + bad},
  };
  for (const auto& [text, want] : cases) {
    CAPTURE(want);
    const std::string written = JsonText(JsonObject{{text, text}});
    CHECK(written == absl::StrCat("{\"", want, "\":\"", want, "\"}"));
    CHECK(ParseJson(written).ok());
  }
}

TEST_CASE("people get an indented text", "[json]") {
  CHECK(PrettyJsonText(Parsed(R"({"a":[1,{"b":2}],"c":{},"d":[]})")) == R"({
  "a": [
    1,
    {
      "b": 2
    }
  ],
  "c": {},
  "d": []
})");
  CHECK(PrettyJsonText(Json(7), 4) == "7");
}

TEST_CASE("a malformed text is refused with the place", "[json]") {
  struct Case {
    const char *text, *place;
  };
  const auto c = GENERATE_REF(Catch::Generators::values<Case>({
      {"", "JSON, at byte 0: "},
      {"{\"a\":}", "JSON, at byte 5: "},
      {"[1,2", "JSON, at byte 4: "},
      {"1 2", "JSON, at byte 2: text after the end of the value"},
      {"{} x", "JSON, at byte 3: text after the end of the value"},
      {"{'a':1}", "JSON, at byte 1: "},
      {"nul", "JSON, at byte 3: "},
      {"\"\xff\"", "JSON, at byte 1: "},
      {"01", "JSON, at byte 1: "},
      {"NaN", "JSON, at byte 0: "},
  }));
  CAPTURE(c.text);
  const absl::Status status = ParseJson(c.text).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(Problem(status), Catch::StartsWith(c.place));
}

TEST_CASE("nesting has a limit", "[json]") {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(ParseJson(nested(64)).ok());
  CHECK(ParseJson(nested(65)).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(ParseJson(nested(100'000)).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a value in one piece is equal to one in many, and its parts outlive it", "[json]") {
  const std::string text =
      R"({"a":[1,2.5,"three",{"four":null}],"long":"a string that is longer than what lies inline"})";
  absl::StatusOr<Json> whole = ParseJsonInOnePiece(text);
  REQUIRE(whole.ok());
  CHECK(*whole == *ParseJson(text));
  CHECK(JsonText(*whole) == text);
  const Json moved = std::move(whole->get_object()["a"]);
  const Json copied = whole->get_object()["long"];
  whole = absl::CancelledError("the rest is gone");
  CHECK(JsonText(moved) == R"([1,2.5,"three",{"four":null}])");
  CHECK(JsonText(copied) == R"("a string that is longer than what lies inline")");
  CHECK(absl::IsInvalidArgument(ParseJsonInOnePiece("{\"a\":").status()));
  CHECK(absl::IsInvalidArgument(ParseJsonInOnePiece(std::string(1000, '[')).status()));
}

TEST_CASE("of two values with one key the last one wins", "[json]") {
  CHECK(JsonText(Parsed(R"({"a":1,"b":2,"a":3})")) == R"({"a":3,"b":2})");
}

TEST_CASE("a value is found by the path of its keys", "[json]") {
  const Json value = Parsed(R"({"metadata":{"name":"a","labels":{"x.io/y":"z"},"generation":2}})");
  CHECK(Find(value, {}) == &value);
  REQUIRE(Find(value, {"metadata", "generation"}) != nullptr);
  CHECK(Find(value, {"metadata", "generation"})->as_int64() == 2);
  CHECK(Find(value, {"metadata", "uid"}) == nullptr);
  CHECK(Find(value, {"metadata", "name", "first"}) == nullptr);
  CHECK(StringAt(value, {"metadata", "labels", "x.io/y"}) == "z");
  CHECK(StringAt(value, {"metadata", "generation"}) == "");
  CHECK(StringAt(value, {"status"}) == "");
}

TEST_CASE("a field that is absent or null is the fallback", "[json]") {
  const JsonObject object = Parsed(R"({"null":null})").as_object();
  for (const char* name : {"null", "absent"}) {
    CHECK(StringField(object, name, "spec", "x").value() == "x");
    CHECK(IntField(object, name, "spec", 7).value() == 7);
    CHECK(BoolField(object, name, "spec", true).value());
    CHECK(ObjectField(object, name, "spec").value() == nullptr);
    CHECK(ArrayField(object, name, "spec").value() == nullptr);
  }
}

TEST_CASE("a field of the right type is its value", "[json]") {
  const JsonObject object = Parsed(R"({"s":"x","i":-3,"whole":3e2,"b":true,"o":{"a":1},"l":[1,2]})").as_object();
  CHECK(StringField(object, "s", "").value() == "x");
  CHECK(IntField(object, "i", "").value() == -3);
  CHECK(IntField(object, "whole", "").value() == 300);
  CHECK(BoolField(object, "b", "").value());
  REQUIRE(ObjectField(object, "o", "").value() != nullptr);
  CHECK(ObjectField(object, "o", "").value()->size() == 1);
  REQUIRE(ArrayField(object, "l", "").value() != nullptr);
  CHECK(ArrayField(object, "l", "").value()->size() == 2);
}

TEST_CASE("a field of the wrong type is refused with its path", "[json]") {
  const JsonObject object =
      Parsed(R"({"s":"x","i":1,"f":1.5,"big":18446744073709551615,"huge":1e300,"o":{},"l":[],"b":true})").as_object();
  CHECK(Problem(IntField(object, "s", "spec").status()) == "spec.s: expected an integer, found a string");
  CHECK(Problem(IntField(object, "f", "spec").status()) == "spec.f: expected an integer, found a number");
  CHECK(Problem(IntField(object, "huge", "spec").status()) == "spec.huge: expected an integer, found a number");
  CHECK(Problem(IntField(object, "big", "spec").status()) == "spec.big: 18446744073709551615 is too large");
  CHECK(Problem(StringField(object, "i", "").status()) == "i: expected a string, found an integer");
  CHECK(Problem(BoolField(object, "o", "a[2]").status()) == "a[2].o: expected a boolean, found an object");
  CHECK(Problem(ObjectField(object, "l", "spec").status()) == "spec.l: expected an object, found a list");
  CHECK(Problem(ArrayField(object, "b", "spec").status()) == "spec.b: expected a list, found a boolean");
  CHECK(IntField(object, "s", "").status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("paths of fields are written as people write them", "[json]") {
  CHECK(FieldPath("spec", "priority") == "spec.priority");
  CHECK(FieldPath("", "spec") == "spec");
  CHECK(FieldPath("podSet", 2) == "podSet[2]");
}

}  // namespace
}  // namespace kq
