#include "libs/kube/raw_json.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

TEST_CASE("members of an object are found with their whole values") {
  const std::string text = R"( { "a" : 1 , "b":"x,}\"]", "c": [1,{"d":[2]}] ,"e":{"f":{}},"g":true} )";
  const auto members = RawMembers(text);
  REQUIRE(members.size() == 5);
  CHECK(members[0].key == "a");
  CHECK(RawMember(text, "b") == R"("x,}\"]")");
  CHECK(RawMember(text, "c") == R"([1,{"d":[2]}])");
  CHECK(RawMember(text, "e") == R"({"f":{}})");
  CHECK(RawMember(text, "g") == "true");
  CHECK(RawMember(text, "f").empty());
}

TEST_CASE("elements of a list are found one by one") {
  const auto elements = RawMembers(R"([{"a":[1]}, "b" ,3])");
  REQUIRE(elements.size() == 3);
  CHECK(elements[0].value == R"({"a":[1]})");
  CHECK(elements[1].value == R"("b")");
  CHECK(elements[2].key.empty());
}

TEST_CASE("of two members of one key the last counts") { CHECK(RawMember(R"({"a":1,"a":2})", "a") == "2"); }

TEST_CASE("malformed text ends early and never reads beyond its end") {
  const std::string whole = R"({"a":{"b":"c\"d"},"e":[1,"x\\"]})";
  for (size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own size, so that the address sanitizer sees a step too far.
    const std::string part(whole.data(), size);
    CAPTURE(part);
    CHECK(RawMembers(part).size() <= 2);
  }
  for (const char* text : {"", "x", "]", "}", "{", "[", "[,", "{,}", "{:1}", "{\"a\"}", "[]", "{}", "{\""}) {
    CAPTURE(text);
    CHECK(RawMembers(text).empty());
  }
}

TEST_CASE("nesting of any depth costs no stack") {
  const size_t depth = 2000000;
  const std::string deep = "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"b\":1}";
  CHECK(RawMember(deep, "b") == "1");
}

TEST_CASE("the key of an object is read from its metadata alone, however deep the rest is") {
  const std::string object =
      R"({"kind":"X","spec":)" + std::string(5000, '[') + std::string(5000, ']') +
      R"(,"metadata":{"labels":{"name":"wrong"},"name":"x","namespace":"a","annotations":{"c":"{\"name\":\"no\"}"}}})";
  CHECK(KeyInText(object) == ObjectKey{"a", "x"});
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  CHECK(KeyInText(R"({"metadata":{"managedFields":)" + deep + R"(,"name":"x"}})") == ObjectKey{"", "x"});
  CHECK(KeyInText(R"({"metadata":{"name":})") == ObjectKey{});
  CHECK(KeyInText(R"({"metadata":{"name":7}})") == ObjectKey{});
  CHECK(KeyInText("") == ObjectKey{});
}

}  // namespace
}  // namespace kq
