#include "libs/kube/testing/json_patch.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

Json J(const std::string& text) { return ParseJson(text).value(); }

TEST_CASE("a merge patch follows the examples of RFC 7386") {
  struct Case {
    std::string target, patch, want;
  };
  const auto c = GENERATE(values<Case>({
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  }));
  CAPTURE(c.target, c.patch);
  CHECK(MergePatch(J(c.target), J(c.patch)) == J(c.want));
}

TEST_CASE("a JSON patch adds, replaces, removes and tests") {
  struct Case {
    std::string target, patch, want;
  };
  const auto c = GENERATE(values<Case>({
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":{"b":1}})", R"([{"op":"replace","path":"/a/b","value":2}])", R"({"a":{"b":2}})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"x/y":{"~":1}})", R"([{"op":"remove","path":"/x~1y/~0"}])", R"({"x/y":{}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}])", "{}"},
  }));
  CAPTURE(c.target, c.patch);
  const absl::StatusOr<Json> out = JsonPatch(J(c.target), J(c.patch));
  REQUIRE(out.ok());
  CHECK(*out == J(c.want));
}

TEST_CASE("a JSON patch that does not fit says which operation and why") {
  struct Case {
    std::string patch, want;
  };
  const auto c = GENERATE(values<Case>({
      {"{}", "a JSON patch is a list of operations"},
      {R"([{"op":"test","path":"/a","value":2}])", "operation 0: the test failed"},
      {R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}])", "operation 1: no field a"},
      {R"([{"op":"replace","path":"/l/7","value":2}])", "operation 0: no such index"},
      {R"([{"op":"add","path":"/no/where","value":2}])", "operation 0: no field no"},
      {R"([{"op":"add","path":"/a/b","value":2}])", "operation 0: the parent is a plain value"},
      {R"([{"op":"add","path":"/a"}])", "operation 0: value is missing"},
      {R"([{"op":"move","path":"/a","from":"/l","value":1}])", "operation 0: unknown operation \"move\""},
      {R"([{"op":"remove"}])", "operation 0: path is missing"},
      {R"([{"op":"remove","path":"a"}])", "operation 0: a path starts with /"},
  }));
  CAPTURE(c.patch);
  const absl::StatusOr<Json> out = JsonPatch(J(R"({"a":1,"l":[1]})"), J(c.patch));
  CHECK(out.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(out.status().message() == c.want);
}

}  // namespace
}  // namespace kq
