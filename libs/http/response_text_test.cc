#include "libs/http/response_text.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(784111777);  // NOLINT: a test's constant

TEST_CASE("the header of an answer") {
  HttpResponse response;
  response.headers.Add("Content-Type", "text/plain");
  response.headers.Add("content-length", "99");
  response.headers.Add("Transfer-Encoding", "gzip");
  response.headers.Add("connection", "close");
  response.body = "hello";
  const std::string start = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n";
  CHECK(*ResponseHeader(response, BodyFraming::kLength, AfterAnswer::kKeep, kNow) ==
        start + "Content-Length: 5\r\n\r\n");
  CHECK(*ResponseHeader(response, BodyFraming::kChunks, AfterAnswer::kClose, kNow) ==
        start + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  CHECK(*ResponseHeader(response, BodyFraming::kClose, AfterAnswer::kClose, kNow) ==
        start + "Connection: close\r\n\r\n");
}

TEST_CASE("an answer without a body has no length") {
  HttpResponse response;
  response.code = GENERATE(204, 304);
  const std::string text = *ResponseHeader(response, BodyFraming::kLength, AfterAnswer::kKeep, kNow);
  CHECK(text.find("Content-Length") == std::string::npos);
  CHECK(!CodeHasBody(response.code));
}

TEST_CASE("what cannot be sent is an error") {
  HttpResponse response;
  SECTION("a code out of range") { response.code = GENERATE(0, 99, 101, 199, 600, -1); }
  SECTION("a name with a space") { response.headers.Add("a b", "c"); }
  SECTION("a value with a line break") { response.headers.Add("a", "b\nc"); }
  CHECK(absl::IsInvalidArgument(ResponseHeader(response, BodyFraming::kLength, AfterAnswer::kKeep, kNow).status()));
}

TEST_CASE("a chunk has its size in front") {
  CHECK(Chunk("x") == "1\r\nx\r\n");
  CHECK(Chunk(std::string(300, 'x')) == "12c\r\n" + std::string(300, 'x') + "\r\n");
}

}  // namespace
}  // namespace kq
