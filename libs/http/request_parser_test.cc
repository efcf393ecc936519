// What is refused, and what is served, is tested through the server in
// http_server_test; here is what only the parser knows.
#include "libs/http/request_parser.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"

namespace kq {
namespace {

using Stage = RequestParser::Stage;

// Gives `bytes` in pieces of `size`, as a connection would; returns what is left.
std::string Feed(RequestParser* parser, const std::string& bytes, size_t size) {
  std::string held;
  for (size_t at = 0; at < bytes.size(); at += size) {
    held += bytes.substr(at, size);
    for (;;) {
      const Stage before = parser->stage();
      const size_t used = parser->Take(held);
      held.erase(0, used);
      if (used == 0 && parser->stage() == before) break;
    }
  }
  return held;
}

TEST_CASE("the size of the packets makes no difference") {
  const std::string header = "POST /x?y HTTP/1.1\r\nHost: h\r\nX-A: b\r\n";
  const std::string body =
      GENERATE(as<std::string>{}, "Content-Length: 5\r\n\r\nhello",
               "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: z\r\n\r\n");
  for (size_t size = 1; size <= header.size() + body.size(); ++size) {
    RequestParser parser({});
    CHECK(Feed(&parser, header + body, size).empty());
    REQUIRE(parser.stage() == Stage::kDone);
    CHECK(parser.keep_alive());
    CHECK(parser.knows_chunks());
    const HttpRequest request = parser.TakeRequest();
    CHECK(request.method == "POST");
    CHECK(request.target == "/x?y");
    CHECK(request.body == "hello");
    REQUIRE(request.headers.Find("x-a") != nullptr);
    CHECK(*request.headers.Find("x-a") == "b");
    CHECK(request.headers.Find("Trailer") == nullptr);
  }
}

TEST_CASE("a chunked body without a chunk is whole in packets of any size") {
  const std::string bytes = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (size_t size = 1; size <= bytes.size(); ++size) {
    RequestParser parser({});
    CHECK(Feed(&parser, bytes, size).empty());
    REQUIRE(parser.stage() == Stage::kDone);
    CHECK(parser.TakeRequest().body.empty());
  }
}

TEST_CASE("what follows a request is left for the next one") {
  RequestParser parser({});
  const std::string first = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", second = "GET /2 HTTP/1.0\r\n\r\n";
  const std::string left = Feed(&parser, first + second, 1000);
  CHECK(left == second);
  CHECK(parser.TakeRequest().target == "/1");
  CHECK(parser.stage() == Stage::kHeader);
  CHECK(Feed(&parser, left, 1000).empty());
  REQUIRE(parser.stage() == Stage::kDone);
  CHECK(!parser.keep_alive());
  CHECK(!parser.knows_chunks());
  CHECK(parser.TakeRequest().target == "/2");
}

TEST_CASE("a refusal has a code and a reason, and is final") {
  RequestParser parser({.header_bytes = 100, .body_bytes = 10});
  Feed(&parser, absl::StrCat("GET / HTTP/1.1\r\nA: ", std::string(200, 'x'), "\r\n\r\n"), 50);
  REQUIRE(parser.stage() == Stage::kRefused);
  CHECK(parser.refusal() == 431);
  CHECK(!parser.reason().empty());
  CHECK(parser.Take("GET / HTTP/1.1\r\nHost: h\r\n\r\n") == 0);
  CHECK(parser.stage() == Stage::kRefused);
}

TEST_CASE("who waits for 100 Continue is known before the body") {
  RequestParser parser({});
  Feed(&parser, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", 1000);
  CHECK(parser.stage() == Stage::kBody);
  CHECK(parser.expects_continue());
  Feed(&parser, "x", 1);
  CHECK(parser.stage() == Stage::kDone);
}

}  // namespace
}  // namespace kq
