#include "libs/http/resolver.h"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <string>

namespace kq {
namespace {

TEST_CASE("addresses are told from names") {
  for (const char* address : {"127.0.0.1", "::1", "fe80::1", "10.0.0.255"}) CHECK(IsIpAddress(address));
  for (const char* name : {"", "localhost", "127.0.0.1.example", "256.0.0.1", "[::1]", "1:2"})
    CHECK(!IsIpAddress(name));
}

TEST_CASE("an address needs no question, so no time either") {
  Resolver resolver;
  const auto four = resolver.Resolve("127.0.0.1", 80, Deadline::After(absl::ZeroDuration()));
  REQUIRE(four.ok());
  CHECK(four->size() == 1);
  CHECK(four->front().family == AF_INET);
  const auto six = resolver.Resolve("::1", 80, Deadline::After(absl::ZeroDuration()));
  REQUIRE(six.ok());
  CHECK(six->front().family == AF_INET6);
}

TEST_CASE("a known name has an address, an unknown one an error that names it") {
  Resolver resolver;
  CHECK(resolver.Resolve("localhost", 80, Deadline::After(absl::Seconds(30))).ok());
  const auto unknown = resolver.Resolve("no-such-name.invalid", 80, Deadline::After(absl::Seconds(30)));
  CHECK(absl::IsUnavailable(unknown.status()));
  CHECK(std::string(unknown.status().message()).find("no-such-name.invalid") != std::string::npos);
}

TEST_CASE("who has no time left is not kept waiting") {
  Resolver resolver;
  const auto late = resolver.Resolve("localhost", 80, Deadline::After(absl::ZeroDuration()));
  CHECK(absl::IsUnavailable(late.status()));
}

TEST_CASE("too many waiting questions are refused") {
  Resolver resolver(0);
  CHECK(absl::IsUnavailable(resolver.Resolve("localhost", 80, Deadline::After(absl::Seconds(30))).status()));
}

}  // namespace
}  // namespace kq
