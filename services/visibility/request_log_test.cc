#include "services/visibility/request_log.h"

#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "services/visibility/testing/logged.h"

namespace kq::visibility {
namespace {

TEST_CASE("of a target the path and the known parameters are shown, each of them short") {
  CHECK(ShownTarget("/a/b") == "/a/b");
  CHECK(ShownTarget("/a?limit=2&access_token=abc&offset=4&x") == "/a?limit=2&offset=4");
  CHECK(ShownTarget("/a?queue=" + std::string(1000, 'q')) == "/a?queue=" + std::string(64, 'q'));
  CHECK(ShownTarget("/a?phase=%0a%22") == "/a?phase=%0A%22");
  CHECK(ShownTarget("/" + std::string(10'000, 'p')).size() == 512);
  std::string many = "/a?limit=1";
  for (int i = 0; i < 10'000; ++i) many += "&limit=1";
  CHECK(ShownTarget(many).size() < 1100);
}

TEST_CASE("what looks like a token or a password is not shown, wherever it stands") {
  for (const char* text :
       {R"({"spec":{"token":"opaque-words"}})", R"({"spec": {"access_token" : "opaque-words", "x": 1}})",
        R"("{\"token\":\"opaque-words\"}")", "token=opaque-words&x=1", "password: opaque-words",
        "client-secret=opaque-words", "Authorization: Bearer opaque-words", "authorization=bearer%20opaque-words",
        "see eyJhbGciOiJSUzI1NiJ9.opaque-words.c2lnbmF0dXJl"}) {
    CAPTURE(text);
    CHECK_FALSE(absl::StrContains(ShownBody(text, 1000), "opaque-words"));
    CHECK(absl::StrContains(ShownBody(text, 1000), "<hidden>"));
  }
  CHECK(ShownTarget("/apis/eyJhbGciOiJSUzI1NiJ9.e30.c2ln") == "/apis/<hidden>");
  CHECK(ShownTarget("/a?queue=eyJhbGciOiJSUzI1NiJ9.e30.c2ln") == "/a?queue=<hidden>");
  const std::string units = R"({"metadata":{"name":"token-bank","namespace":"secret"},"queueName":"team-a"})";
  CHECK(ShownBody(units, 1000) == units);
  CHECK(ShownBody(units, 10) == units.substr(0, 10));
}

// As much of the log as tells of an answer in these pieces.
std::string Told(const std::string& first, std::vector<std::string> more) {
  HttpResponse response;
  response.body = first;
  response.more = [pieces = std::move(more), next = size_t{0}]() mutable -> std::optional<std::string> {
    if (next == pieces.size()) return std::nullopt;
    return pieces[next++];
  };
  return Logged(4, [&] {
    const HttpResponse logged = LogAnswered({.method = "GET", .target = "/a", .headers = {}, .body = ""}, response);
    while (logged.more().has_value()) {
    }
  });
}

size_t Lines(const std::string& log, const std::string& message) {
  size_t count = 0;
  for (size_t at = log.find("\"" + message + "\""); at != std::string::npos;
       at = log.find("\"" + message + "\"", at + 1))
    ++count;
  return count;
}

TEST_CASE("an answer of many pieces is told piece by piece, up to a limit, and its whole size at the end") {
  const std::string log = Told("first", {"second", "", "third"});
  CHECK_THAT(log, Catch::Contains(R"("Response" target="/a" code=200 body="first" bytes=5)"));
  CHECK_THAT(log, Catch::Contains(R"("Response continued" target="/a" body="second" bytes=6)"));
  CHECK_THAT(log, Catch::Contains(R"("Response continued" target="/a" body="third" bytes=5)"));
  CHECK_THAT(log, Catch::Contains(R"("Response ended" target="/a" bytes=16)"));
  CHECK(Lines(log, "Response continued") == 2);

  const std::string piece(160 << 10, 'x');
  const std::string cut = Told(piece, {piece, piece, piece});
  CHECK(Lines(cut, "Response continued") == 1);
  CHECK(cut.size() < (257 << 10));
  CHECK_THAT(cut, Catch::Contains(absl::StrCat(R"("Response ended" target="/a" bytes=)", 4 * piece.size())));
}

}  // namespace
}  // namespace kq::visibility
