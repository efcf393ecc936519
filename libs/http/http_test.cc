#include "libs/http/http.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace kq {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("a field is found without regard to case, the first one first") {
  HttpHeaders headers;
  headers.Add("Content-Type", "a");
  headers.Add("content-type", "b");
  REQUIRE(headers.Find("CONTENT-TYPE") != nullptr);
  CHECK(*headers.Find("CONTENT-TYPE") == "a");
  CHECK(headers.Find("Content") == nullptr);
}

TEST_CASE("a target has a path and a query") {
  struct Case {
    std::string target, path;
    Pairs query;
  };
  const auto c = GENERATE(values<Case>({
      {"/", "/", {}},
      {"/a/b%2Fc", "/a/b%2Fc", {}},
      {"/a?", "/a", {}},
      {"/a?x=1&y=2", "/a", {{"x", "1"}, {"y", "2"}}},
      {"/a?x&y=&=z&&x=3", "/a", {{"x", ""}, {"y", ""}, {"", "z"}, {"x", "3"}}},
      {"/a?x=1=2?3", "/a", {{"x", "1=2?3"}}},
      {"/a?label%3Dx=a+b%20c%2B", "/a", {{"label=x", "a b c+"}}},
      {"/a?x=100%&y=%zz&z=%4", "/a", {{"x", "100%"}, {"y", "%zz"}, {"z", "%4"}}},
      {"/a#f?x=1", "/a", {}},
      {"/a?x=1#f", "/a", {{"x", "1"}}},
  }));
  CAPTURE(c.target);
  CHECK(TargetPath(c.target) == c.path);
  CHECK(TargetQuery(c.target) == c.query);
}

TEST_CASE("percent-encoding goes there and back for every byte") {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  const std::string encoded = PercentEncode(all);
  for (char c : encoded) CHECK((c > 0x20 && c < 0x7f && c != '/' && c != '?' && c != '&' && c != '+'));
  CHECK(PercentDecode(encoded) == all);
  CHECK(PercentEncode("az-AZ_09.~ /") == "az-AZ_09.~%20%2F");
  CHECK(PercentDecode("a%2fb") == "a/b");
  for (const char* broken : {"%", "%4", "a%4g", "%%41"}) CHECK(PercentDecode(broken) == std::nullopt);
}

TEST_CASE("what may stand on the wire is told from what may not") {
  for (const char* token : {"GET", "X-Remote-User", "a!#$%&'*+-.^_`|~9"}) CHECK(IsHttpToken(token));
  for (const char* token : {"", "a b", "a:", "a\r", "\xc3\xa4", "a/b"}) CHECK(!IsHttpToken(token));
  for (const char* value : {"", "a b\tc", "\xc3\xa4"}) CHECK(IsHttpFieldValue(value));
  for (const char* value : {"a\nb", "a\rb", "\x01", "\x7f"}) CHECK(!IsHttpFieldValue(value));
}

TEST_CASE("a text response says its code") {
  CHECK(TextResponse(404).body == "404 Not Found\n");
  CHECK(TextResponse(200, "ok").body == "ok");
  CHECK(TextResponse(599).body == "599 Unknown\n");
}

}  // namespace
}  // namespace kq
