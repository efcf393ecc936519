#include "services/visibility/request_header.h"

#include <catch2/catch.hpp>

namespace kq::visibility {
namespace {

Json ConfigMap() {
  return {{"metadata", {{"name", "extension-apiserver-authentication"}}},
          {"data",
           {{"requestheader-client-ca-file", "PEM"},
            {"requestheader-allowed-names", R"(["front-proxy-client"])"},
            {"requestheader-username-headers", R"(["X-Remote-User"])"},
            {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"},
            {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}}}};
}

Json Without(const char* key) {
  Json map = ConfigMap();
  map.at("data").as_object().erase(key);
  return map;
}

TEST_CASE("the headers that the API server publishes name the user") {
  const auto config = ParseRequestHeaderConfig(ConfigMap());
  REQUIRE(config.ok());
  HttpHeaders headers;
  headers.Add("x-remote-user", "alice");
  headers.Add("X-Remote-Uid", "u-1");
  headers.Add("X-Remote-Group", "a");
  headers.Add("X-Remote-Group", "b");
  headers.Add("X-Remote-Extra-Scopes%2fX", "one");
  headers.Add("X-Remote-Extra-scopes%2Fx", "two");
  const std::optional<User> user = UserOfHeaders(*config, headers);
  REQUIRE(user.has_value());
  CHECK(*user == User{"alice", "u-1", {"a", "b"}, {{"scopes/x", {"one", "two"}}}});
  CHECK_FALSE(UserOfHeaders(*config, HttpHeaders()).has_value());
}

TEST_CASE("only a proxy with an allowed name may speak for others") {
  auto config = ParseRequestHeaderConfig(ConfigMap());
  REQUIRE(config.ok());
  CHECK(IsProxy(*config, "front-proxy-client"));
  CHECK_FALSE(IsProxy(*config, "somebody"));
  CHECK_FALSE(IsProxy(*config, ""));
  config->allowed_names.clear();
  CHECK(IsProxy(*config, "somebody"));
  CHECK_FALSE(IsProxy(*config, ""));
}

TEST_CASE("a ConfigMap that says too little is refused, with the key") {
  for (const char* key : {"requestheader-client-ca-file", "requestheader-username-headers"}) {
    CAPTURE(key);
    const auto config = ParseRequestHeaderConfig(Without(key));
    REQUIRE(absl::IsInvalidArgument(config.status()));
    CHECK_THAT(std::string(config.status().message()), Catch::Contains(key));
  }
  CHECK(ParseRequestHeaderConfig(Without("requestheader-allowed-names")).ok());
  for (const char* bad : {"[", "{}", "[1]"}) {
    Json map = ConfigMap();
    map.at("data").as_object()["requestheader-group-headers"] = bad;
    CHECK(absl::IsInvalidArgument(ParseRequestHeaderConfig(map).status()));
  }
}

}  // namespace
}  // namespace kq::visibility
