#include "libs/http/listen_address.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

TEST_CASE("addresses") {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  const auto c = GENERATE(values<Case>({{":10259", "0.0.0.0", 10259},
                                        {"127.0.0.1:0", "127.0.0.1", 0},
                                        {"localhost:80", "127.0.0.1", 80},
                                        {"[::1]:443", "::1", 443}}));
  const absl::StatusOr<HttpServerOptions> options = ListenOn(c.text);
  REQUIRE(options.ok());
  CHECK(options->address == c.host);
  CHECK(options->port == c.port);
  for (const char* wrong : {"", "10259", "host:", "host:x", "host:70000", "host:-1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ListenOn(wrong).ok());
  }
}

}  // namespace
}  // namespace kq
