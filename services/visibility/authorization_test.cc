#include "services/visibility/authorization.h"

#include <catch2/catch.hpp>

#include "libs/common/simulated_clock.h"
#include "services/visibility/testing/fake_reviews.h"

namespace kq::visibility {
namespace {

const Attributes kUnits{"get", "queues", "team-a", "queueunits", ""};
const Attributes kPath{"get", "", "", "", "/version"};

struct World {
  SimulatedClock clock{absl::FromUnixSeconds(1000)};
  FakeReviews api;
  Authorizer authorizer{{}, &api, &clock};
};

TEST_CASE("the API server decides, and is told exactly what is asked for") {
  World world;
  world.api.Allow("alice");
  const User alice{"alice", "u", {"g"}, {{"k", {"v"}}}};
  CHECK(world.authorizer.Authorize(alice, kUnits).ok());
  CHECK(JsonText(*Find(world.api.asked()[0], {"spec"})) ==
        R"({"user":"alice","groups":["g"],"uid":"u","extra":{"k":["v"]},)"
        R"("resourceAttributes":{"group":"visibility.koord-queue.x-k8s.io","version":"v1alpha1","verb":"get",)"
        R"("resource":"queues","name":"team-a","subresource":"queueunits"}})");
  CHECK(world.authorizer.Authorize(alice, kPath).ok());
  CHECK(JsonText(*Find(world.api.asked()[1], {"spec", "nonResourceAttributes"})) ==
        R"({"verb":"get","path":"/version"})");
}

TEST_CASE("who may not is told in Kubernetes' words") {
  World world;
  const absl::Status no = world.authorizer.Authorize({"bob", "", {}, {}}, kUnits);
  REQUIRE(absl::IsPermissionDenied(no));
  CHECK(no.message() ==
        "User \"bob\" cannot get resource \"queues/queueunits\" in API group "
        "\"visibility.koord-queue.x-k8s.io\" at the cluster scope: no rule");
  CHECK(world.authorizer.Authorize({"bob", "", {}, {}}, kPath).message() ==
        "User \"bob\" cannot get path \"/version\": no rule");
}

TEST_CASE("answers count for a while, for this user and this request alone") {
  World world;
  const User bob{"bob", "", {}, {}};
  CHECK_FALSE(world.authorizer.Authorize(bob, kUnits).ok());
  world.api.Allow("bob");
  CHECK_FALSE(world.authorizer.Authorize(bob, kUnits).ok());
  CHECK(world.authorizer.Authorize(bob, {"get", "queues", "team-b", "queueunits", ""}).ok());
  world.clock.Advance(absl::Seconds(11));
  CHECK(world.authorizer.Authorize(bob, kUnits).ok());
  CHECK(world.api.asked().size() == 3);
}

TEST_CASE("masters may do everything, and an API server that is away is no yes") {
  World world;
  world.api.SetReachable(false);
  CHECK(world.authorizer.Authorize({"root", "", {"system:masters"}, {}}, kUnits).ok());
  CHECK(world.authorizer.reviews().Last().ok());
  CHECK(world.authorizer.Authorize({"bob", "", {}, {}}, kUnits) ==
        absl::UnavailableError("the API server cannot be asked what you may do"));
  CHECK_THAT(std::string(world.authorizer.reviews().Last().message()), Catch::Contains("10.0.0.1:6443: refused"));
  world.api.SetReachable(true);
  CHECK_FALSE(world.authorizer.Authorize({"bob", "", {}, {}}, kUnits).ok());
  CHECK(world.authorizer.reviews().Last().ok());
}

}  // namespace
}  // namespace kq::visibility
