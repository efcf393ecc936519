#include "services/visibility/authentication.h"

#include <catch2/catch.hpp>

#include "libs/common/simulated_clock.h"
#include "services/visibility/testing/fake_reviews.h"

namespace kq::visibility {
namespace {

struct World {
  World() {
    api.AddToken("secret", "alice");
    RequestHeaderConfig config;
    config.ca_pem = "PEM";
    config.allowed_names = {"front-proxy-client"};
    config.username_headers = {"X-Remote-User"};
    config.group_headers = {"X-Remote-Group"};
    authenticator.SetRequestHeader(config);
  }
  absl::StatusOr<User> Ask(const std::vector<std::pair<std::string, std::string>>& headers,
                           const std::string& common_name = "") {
    HttpRequest request;
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    HttpPeer peer;
    peer.common_name = common_name;
    return authenticator.Authenticate(request, peer);
  }

  SimulatedClock clock{absl::FromUnixSeconds(1000)};
  FakeReviews api;
  Authenticator authenticator{{}, &api, &clock};
};

TEST_CASE("the front proxy says who asks") {
  World world;
  const auto user = world.Ask({{"X-Remote-User", "bob"}, {"X-Remote-Group", "g"}}, "front-proxy-client");
  REQUIRE(user.ok());
  CHECK(user->name == "bob");
  CHECK(user->groups == std::vector<std::string>{"g", "system:authenticated"});
  CHECK(world.api.asked().empty());
}

TEST_CASE("headers without the proxy's certificate prove nothing") {
  World world;
  for (const char* common_name : {"", "somebody", "front-proxy-client2"}) {
    CAPTURE(common_name);
    CHECK(absl::IsUnauthenticated(world.Ask({{"X-Remote-User", "admin"}}, common_name).status()));
    // A token beside them counts, and they do not.
    const auto user = world.Ask({{"X-Remote-User", "admin"}, {"Authorization", "Bearer secret"}}, common_name);
    REQUIRE(user.ok());
    CHECK(user->name == "alice");
  }
}

TEST_CASE("a bearer token is the API server's to judge, and remembered for a while") {
  World world;
  const auto user = world.Ask({{"Authorization", "Bearer secret"}});
  REQUIRE(user.ok());
  CHECK(user->name == "alice");
  CHECK(user->groups == std::vector<std::string>{"staff", "system:authenticated"});
  CHECK(world.Ask({{"authorization", "bearer  secret "}}).ok());
  CHECK(world.api.asked().size() == 1);
  world.clock.Advance(absl::Seconds(11));
  CHECK(world.Ask({{"Authorization", "Bearer secret"}}).ok());
  CHECK(world.api.asked().size() == 2);
}

TEST_CASE("bad credentials are nobody's, and the words never hold the token") {
  World world;
  for (const char* header : {"Bearer wrong", "Bearer ", "Basic c2VjcmV0", "secret", ""}) {
    CAPTURE(header);
    const auto user = world.Ask({{"Authorization", header}});
    REQUIRE(absl::IsUnauthenticated(user.status()));
    CHECK(std::string(user.status().message()).find("wrong") == std::string::npos);
  }
  CHECK(absl::IsUnauthenticated(world.Ask({{"Authorization", "Bearer " + std::string(20'000, 'a')}}).status()));
  CHECK(world.api.asked().size() == 1);
}

TEST_CASE("an API server that cannot be asked is told, and not remembered") {
  World world;
  world.api.SetReachable(false);
  const auto user = world.Ask({{"Authorization", "Bearer secret"}});
  CHECK(absl::IsUnavailable(user.status()));
  CHECK(std::string(user.status().message()).find("secret") == std::string::npos);
  world.api.SetReachable(true);
  CHECK(world.Ask({{"Authorization", "Bearer secret"}}).ok());
}

TEST_CASE("before the API server has published its proxy nobody is one") {
  SimulatedClock clock(absl::FromUnixSeconds(1));
  FakeReviews api;
  Authenticator authenticator({}, &api, &clock);
  HttpRequest request;
  request.headers.Add("X-Remote-User", "bob");
  CHECK(absl::IsUnauthenticated(authenticator.Authenticate(request, {"", "front-proxy-client"}).status()));
}

}  // namespace
}  // namespace kq::visibility
