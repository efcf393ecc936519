#include "libs/http/health.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

struct World {
  World() {
    health.AddLive("loop", [this] { return HealthState{loop, ""}; });
    health.AddReady("cluster", [this] { return HealthState{cluster, ""}; });
    health.AddReady("leader-label", [] { return HealthState{absl::OkStatus(), "skipped: POD_NAME is not set"}; });
  }
  HttpResponse Get(const std::string& target) {
    const std::optional<HttpResponse> response = health.Answer(target);
    REQUIRE(response.has_value());
    return *response;
  }

  absl::Status loop, cluster;
  Health health;
};

TEST_CASE("while all is well the short answer is ok") {
  World world;
  for (const char* path : {"/livez", "/healthz", "/readyz"}) {
    CAPTURE(path);
    CHECK(world.Get(path).code == 200);
    CHECK(world.Get(path).body == "ok");
  }
}

TEST_CASE("the long answer names every check, and what there is to say about it") {
  World world;
  CHECK(world.Get("/readyz?verbose").body ==
        "[+]ping ok\n[+]cluster ok\n[+]leader-label ok: skipped: POD_NAME is not set\nreadyz check passed\n");
  CHECK(world.Get("/livez?verbose=1").body == "[+]ping ok\n[+]loop ok\nlivez check passed\n");
}

TEST_CASE("a failed check is told with its reason, also without being asked") {
  World world;
  world.cluster = absl::UnavailableError("waiting for the API server");
  const HttpResponse response = world.Get("/readyz");
  CHECK(response.code == 503);
  CHECK_THAT(response.body, Catch::Contains("[-]cluster failed: waiting for the API server\n"));
  CHECK_THAT(response.body, Catch::EndsWith("readyz check failed\n"));
  CHECK(world.Get("/livez").code == 200);
  CHECK(world.health.Ready() == world.cluster);

  world.loop = absl::UnavailableError("no turn for 61s");
  CHECK(world.Get("/livez").code == 503);
  CHECK(world.Get("/healthz").code == 503);
}

TEST_CASE("a check can be left out") {
  World world;
  world.cluster = absl::UnavailableError("waiting");
  CHECK(world.Get("/readyz?exclude=cluster").code == 200);
  CHECK_THAT(world.Get("/readyz?verbose&exclude=cluster").body, Catch::Contains("[+]cluster excluded: ok\n"));
}

TEST_CASE("other paths are not for it") {
  World world;
  CHECK_FALSE(world.health.Answer("/metrics").has_value());
  CHECK_FALSE(world.health.Answer("/readyz/cluster").has_value());
}

}  // namespace
}  // namespace kq
