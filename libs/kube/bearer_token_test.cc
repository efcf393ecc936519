#include "libs/kube/bearer_token.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "libs/common/simulated_clock.h"

namespace kq {
namespace {

class TokenFile {
 public:
  TokenFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "token-XXXXXX").string();
    close(mkstemp(pattern.data()));
    path_ = pattern;
  }
  ~TokenFile() { Remove(); }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  void Remove() const { std::remove(path_.c_str()); }
  KubeConnection Connection() const {
    KubeConnection connection;
    connection.token_file = path_;
    connection.token = "inline";
    return connection;
  }

 private:
  std::string path_;
};

TEST_CASE("without credentials there is no token") {
  SimulatedClock clock;
  const auto token = BearerToken::Open({}, &clock);
  REQUIRE(token.ok());
  CHECK((*token)->Current().empty());
  CHECK_FALSE((*token)->Renew(""));
}

TEST_CASE("an inline token never changes") {
  SimulatedClock clock;
  KubeConnection connection;
  connection.token = " abc\n";
  const auto token = BearerToken::Open(connection, &clock);
  REQUIRE(token.ok());
  CHECK((*token)->Current() == "abc");
  CHECK_FALSE((*token)->Renew("abc"));
}

TEST_CASE("a token from a file wins and is read again after a minute") {
  SimulatedClock clock;
  const TokenFile file;
  file.Write("first\n");
  const auto token = BearerToken::Open(file.Connection(), &clock);
  REQUIRE(token.ok());
  CHECK((*token)->Current() == "first");
  file.Write("second");
  clock.Advance(absl::Seconds(59));
  CHECK((*token)->Current() == "first");
  clock.Advance(absl::Seconds(1));
  CHECK((*token)->Current() == "second");
}

TEST_CASE("a refused token is read again at once") {
  SimulatedClock clock;
  const TokenFile file;
  file.Write("first");
  const auto token = BearerToken::Open(file.Connection(), &clock);
  REQUIRE(token.ok());
  CHECK_FALSE((*token)->Renew("first"));
  file.Write("second");
  CHECK((*token)->Renew("first"));
  CHECK((*token)->Current() == "second");
  // A call that was under way with the old one need not read the file.
  file.Write("third");
  CHECK((*token)->Renew("first"));
  CHECK((*token)->Current() == "second");
}

TEST_CASE("while the file cannot be read the last token stays and the reason is kept") {
  SimulatedClock clock;
  const TokenFile file;
  file.Write("first");
  const auto token = BearerToken::Open(file.Connection(), &clock);
  REQUIRE(token.ok());
  file.Remove();
  clock.Advance(absl::Minutes(2));
  CHECK((*token)->Current() == "first");
  CHECK(absl::IsInvalidArgument((*token)->Health()));
  file.Write("second");
  clock.Advance(absl::Minutes(2));
  CHECK((*token)->Current() == "second");
  CHECK((*token)->Health().ok());
}

TEST_CASE("what is no token is refused at the start") {
  SimulatedClock clock;
  const TokenFile file;
  for (const char* text : {"", " \n", "two words", "line\nbreak", "bell\a"}) {
    CAPTURE(text);
    file.Write(text);
    CHECK(absl::IsInvalidArgument(BearerToken::Open(file.Connection(), &clock).status()));
  }
  file.Write(std::string(100000, 'x'));
  CHECK(absl::IsInvalidArgument(BearerToken::Open(file.Connection(), &clock).status()));
  file.Remove();
  CHECK(absl::IsInvalidArgument(BearerToken::Open(file.Connection(), &clock).status()));
  KubeConnection inline_token;
  inline_token.token = "a\r\nX-Evil: 1";
  CHECK(absl::IsInvalidArgument(BearerToken::Open(inline_token, &clock).status()));
}

}  // namespace
}  // namespace kq
