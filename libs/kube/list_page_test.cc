#include "libs/kube/list_page.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST_CASE("a page gives its items, version and where to go on") {
  const auto page = ParseListPage(R"({"kind":"PodList","metadata":{"resourceVersion":"12","continue":"tok"},
      "items":[{"metadata":{"name":"x"}},{"metadata":{"name":"y"}}]})");
  REQUIRE(page.ok());
  REQUIRE(page->items.size() == 2);
  CHECK(KeyOf(page->items[1]).name == "y");
  CHECK(page->version == 12);
  CHECK(page->continue_token == "tok");
  CHECK(page->broken.empty());
}

TEST_CASE("a list without items may say null or nothing") {
  CHECK(ParseListPage(R"({"metadata":{"resourceVersion":"1"},"items":null})")->items.empty());
  CHECK(ParseListPage(R"({"metadata":{"resourceVersion":"1"}})")->items.empty());
}

TEST_CASE("what is no list is refused") {
  for (const char* body :
       {"", "[]", "null", "<html>", R"({"items":[]})", R"({"metadata":{"resourceVersion":"x"}})",
        R"({"metadata":{"resourceVersion":"1"},"items":{}})", R"({"metadata":{"resourceVersion":"1"},"items":[{)"}) {
    CAPTURE(body);
    CHECK(absl::IsInvalidArgument(ParseListPage(body).status()));
  }
}

TEST_CASE("one object that cannot be decoded is named and hides no other") {
  const std::string body = absl::StrCat(
      R"({"metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"x","namespace":"a"}},)",
      R"({"metadata":{"name":"deep","namespace":"a"},"spec":)", Nested(1000),
      R"(},{"metadata":{"name":"y","namespace":"b"}}]})");
  const auto page = ParseListPage(body);
  REQUIRE(page.ok());
  REQUIRE(page->items.size() == 2);
  CHECK(KeyOf(page->items[0]) == ObjectKey{"a", "x"});
  CHECK(KeyOf(page->items[1]) == ObjectKey{"b", "y"});
  REQUIRE(page->broken.size() == 1);
  CHECK(page->broken[0].key == ObjectKey{"a", "deep"});
  CHECK(absl::IsInvalidArgument(page->broken[0].why));
  CHECK(page->version == 7);
  CHECK(page->continue_token == "c");
}

}  // namespace
}  // namespace kq
