#include "services/visibility/api.h"

#include <catch2/catch.hpp>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/scheduler_client/testing/fake_picture_source.h"
#include "services/visibility/testing/fake_reviews.h"
#include "services/visibility/testing/logged.h"
#include "services/visibility/testing/pictures.h"

namespace kq::visibility {
namespace {

const std::string kBase = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1";

struct World {
  World() {
    reviews.AddToken("token", "alice");
    reviews.AddToken("other", "bob");
    reviews.Allow("alice");
    health.AddReady("snapshot", [] { return HealthState{absl::OkStatus(), ""}; });
    Show(TeamPicture(3));
    options.long_answers = 2;
    options.observe = [this](absl::string_view what, int code, absl::Duration) {
      ++seen[absl::StrCat(std::string(what), " ", code)];
    };
    api = std::make_unique<Api>(options, ApiParts{&pictures, &authenticator, &authorizer, &health, &clock});
  }
  void Show(std::shared_ptr<const Picture> picture) {
    Following following;
    following.picture = std::move(picture);
    following.heard = clock.TimeNow();
    following.connection = absl::OkStatus();
    pictures.Set(following);
  }
  HttpResponse Ask(const std::string& target, const std::string& token = "token", const std::string& method = "GET",
                   const std::string& accept = "") {
    HttpRequest request;
    request.method = method;
    request.target = target;
    if (!token.empty()) request.headers.Add("Authorization", "Bearer " + token);
    if (!accept.empty()) request.headers.Add("Accept", accept);
    return api->Handle(request, {});
  }

  SimulatedClock clock{absl::FromUnixSeconds(1000)};
  FakeReviews reviews;
  testing::FakePictureSource pictures;
  Authenticator authenticator{{}, &reviews, &clock};
  Authorizer authorizer{{}, &reviews, &clock};
  Health health;
  ApiOptions options;
  std::map<std::string, int> seen;
  std::unique_ptr<Api> api;
};

Json Body(const HttpResponse& response) {
  const absl::StatusOr<Json> json = ParseJson(response.body);
  REQUIRE(json.ok());
  return *json;
}

// An error as a Status object: its code, reason and message.
void CheckStatus(const HttpResponse& response, int code, const std::string& reason, const std::string& about = "") {
  CHECK(response.code == code);
  const Json body = Body(response);
  CHECK(StringAt(body, {"kind"}) == "Status");
  CHECK(StringAt(body, {"status"}) == "Failure");
  CHECK(StringAt(body, {"reason"}) == reason);
  CHECK(Find(body, {"code"})->to_number<int>() == code);
  CHECK_THAT(StringAt(body, {"message"}), Catch::Contains(about));
}

TEST_CASE("units of a queue and of a quota") {
  World world;
  const Json queue = Body(world.Ask(kBase + "/queues/team-a/queueunits"));
  CHECK(StringAt(queue, {"kind"}) == "QueueUnitsSummary");
  CHECK(Find(queue, {"items"})->get_array().size() == 3);
  const Json quota = Body(world.Ask(kBase + "/elasticquotas/team-a/queueunits?phase=Enqueued"));
  CHECK(Find(quota, {"items"})->get_array().size() == 3);
  CHECK(Find(Body(world.Ask(kBase + "/elasticquotas/none/queueunits")), {"items"})->get_array().empty());
}

TEST_CASE("an unknown queue is answered exactly as documented") {
  World world;
  const HttpResponse response = world.Ask(kBase + "/queues/none/queueunits");
  CHECK(response.code == 404);
  CHECK(response.body == R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                         R"("message":"queue.scheduling.x-k8s.io \"none\" not found","reason":"NotFound",)"
                         R"("details":{"name":"none","group":"scheduling.x-k8s.io","kind":"queue"},"code":404})"
                         "\n");
}

TEST_CASE("errors are Status objects") {
  World world;
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits?limit=-1"), 400, "BadRequest", "limit");
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits", ""), 401, "Unauthorized");
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits", "wrong"), 401, "Unauthorized");
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits", "other"), 403, "Forbidden",
              "User \"bob\" cannot get resource \"queues/queueunits\"");
  CheckStatus(world.Ask(kBase + "/queues/team-a"), 404, "NotFound");
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits/x"), 404, "NotFound");
  CheckStatus(world.Ask("/"), 404, "NotFound");
  CheckStatus(world.Ask(kBase + "/queues/%zz/queueunits"), 400, "BadRequest");
  CheckStatus(world.Ask(kBase + "/queues"), 405, "MethodNotAllowed", "discovery");
  CheckStatus(world.Ask(kBase + "/elasticquotas"), 405, "MethodNotAllowed", "discovery");
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    CAPTURE(method);
    const HttpResponse response = world.Ask(kBase + "/queues/team-a/queueunits", "token", method);
    CheckStatus(response, 405, "MethodNotAllowed");
    CHECK(*response.headers.Find("Allow") == "GET, HEAD");
  }
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits", "token", "GET", "text/html"), 406, "NotAcceptable");
  CheckStatus(world.Ask("/apis", "token", "GET", "application/vnd.kubernetes.protobuf"), 406, "NotAcceptable");
}

TEST_CASE("who is not known or may not learns nothing of what is there") {
  World world;
  for (const char* path : {"/queues/team-a/queueunits", "/queues/none/queueunits", "/nothing", "/queues"}) {
    CAPTURE(path);
    CHECK(world.Ask(kBase + path, "").code == 401);
    CHECK(world.Ask(kBase + path, "other").code == 403);
  }
  CHECK(world.Ask("/version", "other").code == 403);
}

TEST_CASE("health needs no login, all else does") {
  World world;
  for (const char* path : {"/healthz", "/livez", "/readyz"}) CHECK(world.Ask(path, "").code == 200);
  for (const char* path : {"/apis", "/version", "/openapi/v2", "/openapi/v3", "/"}) {
    CAPTURE(path);
    CHECK(world.Ask(path, "").code == 401);
  }
}

TEST_CASE("a picture that is missing or too old is told as 503, and discovery goes on") {
  World world;
  world.clock.Advance(absl::Seconds(31));
  const HttpResponse old = world.Ask(kBase + "/queues/team-a/queueunits");
  CheckStatus(old, 503, "ServiceUnavailable", "too old");
  CHECK(*old.headers.Find("Retry-After") == "1");
  world.pictures.Set(Following());
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits"), 503, "ServiceUnavailable", "no snapshot");
  for (const std::string& path :
       {std::string("/apis"), kBase, std::string("/openapi/v2"), std::string("/version"), "/openapi/v3" + kBase}) {
    CAPTURE(path);
    CHECK(world.Ask(path).code == 200);
  }
}

// Pictures and reviews that cannot be had name hosts; those are for operators.
TEST_CASE("errors say what is wrong and since when, and name no host") {
  World world;
  Following following = world.pictures.Look();
  following.connection = absl::UnavailableError("none of the servers leads: 10.0.0.7:31260: connection refused");
  world.pictures.Set(following);
  world.clock.Advance(absl::Seconds(31));
  CHECK(StringAt(Body(world.Ask(kBase + "/queues/team-a/queueunits")), {"message"}) ==
        "the newest snapshot of the scheduler is too old: it is of 1970-01-01T00:16:40Z, 31 s ago");
  following.picture = nullptr;
  world.pictures.Set(following);
  CHECK(StringAt(Body(world.Ask(kBase + "/queues/team-a/queueunits")), {"message"}) ==
        "there is no snapshot of the scheduler yet");
  world.reviews.SetReachable(false);
  world.clock.Advance(absl::Minutes(1));
  std::string log;
  log = Logged(0, [&] {
    CHECK(StringAt(Body(world.Ask("/apis")), {"message"}) == "the API server cannot be asked whose token this is");
  });
  CHECK_THAT(log, Catch::Contains(R"("Not in order" part="tokenreviews" err="UNAVAILABLE: 10.0.0.1:6443: refused)"));
  CHECK_THAT(log, Catch::Contains("<the token>") && !Catch::Contains(R"(\"token\":\"token\")"));
  world.reviews.SetReachable(true);
  CHECK(world.Ask("/apis").code == 200);
  world.clock.Advance(absl::Seconds(5));
  CHECK(world.Ask("/apis").code == 200);  // remembered: who asks
  world.reviews.SetReachable(false);
  log = Logged(0, [&] {
    CHECK(StringAt(Body(world.Ask("/version")), {"message"}) == "the API server cannot be asked what you may do");
  });
  CHECK_THAT(log, Catch::Contains(R"("Not in order" part="subjectaccessreviews" err="UNAVAILABLE: 10.0.0.1:6443)"));
}

// Everything that a caller can put his token into.
HttpRequest WithToken(const std::string& token, const std::string& method, const std::string& target) {
  HttpRequest request;
  request.method = method;
  request.target = absl::StrCat(target, absl::StrContains(target, "?") ? "&" : "?", "access_token=secret-words");
  request.headers.Add("Authorization", "Bearer " + token);
  request.body = R"({"kind":"TokenReview","spec":{"token":"secret-words"},"note":"words-of-the-body"})";
  return request;
}

TEST_CASE("the log shows nothing of who is not let in but that he was refused") {
  World world;
  world.options.log_bodies = [] { return true; };
  Api api(world.options,
          ApiParts{&world.pictures, &world.authenticator, &world.authorizer, &world.health, &world.clock});
  const std::string units = kBase + "/queues/team-a/queueunits";
  for (const std::string token : {"secret-words", "other"}) {  // nobody's; one that may not
    CAPTURE(token);
    HttpRequest large = WithToken(token, "POST", units);
    large.body += std::string(900'000, 'x');
    const std::string log = Logged(4, [&] {
      CHECK(api.Handle(WithToken(token, "GET", "/version/secret-words"), {}).code == (token == "other" ? 403 : 401));
      CHECK(api.Handle(large, {}).code == (token == "other" ? 403 : 401));
      CHECK(api.Handle(WithToken(token, "GET", "/readyz"), {}).code == 200);
    });
    CHECK_THAT(log, Catch::Contains(
                        absl::StrCat(R"("Request refused" what="discovery" code=)", token == "other" ? "403" : "401")));
    CHECK_THAT(log, Catch::Contains(R"("Request refused" what="queues/queueunits" code=)"));
    CHECK_THAT(log, !Catch::Contains("secret-words") && !Catch::Contains("words-of-the-body"));
    CHECK(log.size() < 400);
  }
}

TEST_CASE("at 4 the log shows requests that were let in, and their answers, without tokens and not without end") {
  World world;
  world.Show(TeamPicture(2000));
  world.options.log_bodies = [] { return LogVerbosityAtLeast(4); };
  Api api(world.options,
          ApiParts{&world.pictures, &world.authenticator, &world.authorizer, &world.health, &world.clock});
  const std::string units = kBase + "/queues/team-a/queueunits";
  const auto read = [&](const HttpRequest& request) {
    const HttpResponse response = api.Handle(request, {});
    while (response.more && response.more().has_value()) {
    }
  };
  const std::string shown = units + "?limit=2";
  HttpRequest small = WithToken("token", "GET", shown);
  CHECK_THAT(Logged(4, [&] { read(small); }),
             Catch::Contains("code=400") && Catch::Contains(shown) && !Catch::Contains("secret-words"));
  small.target = shown;
  std::string log = Logged(4, [&] { read(small); });
  CHECK_THAT(log, Catch::Contains(absl::StrCat(R"("Request" method="GET" target=")", shown, R"(" body="{\"kind\")")));
  CHECK_THAT(log, Catch::Contains("words-of-the-body"));
  CHECK_THAT(log, Catch::Contains(absl::StrCat(R"("Response" target=")", shown, R"(" code=200 body="{\"kind\")")));
  CHECK_THAT(log, Catch::Contains("QueueUnitsSummary"));
  CHECK_THAT(log, !Catch::Contains("secret-words"));

  log = Logged(
      4, [&] { read({.method = "GET", .target = units, .headers = WithToken("token", "", "").headers, .body = ""}); });
  CHECK_THAT(log, Catch::Contains(absl::StrCat(R"("Response continued" target=")", units, R"(" body=")")));
  CHECK_THAT(log, Catch::Contains(absl::StrCat(R"("Response ended" target=")", units, R"(" bytes=)")));
  CHECK(log.size() < 400'000);
  log = Logged(4, [&] {
    HttpRequest large = WithToken("token", "POST", units);
    large.body += std::string(900'000, 'x');
    read(large);
  });
  CHECK_THAT(log, Catch::Contains("bytes=900") && Catch::Contains("code=405"));
  CHECK(log.size() < 6'000);

  CHECK(Logged(3, [&] { read(small); }).empty());
}

TEST_CASE("an answer says how old its picture is") {
  World world;
  world.clock.Advance(absl::Milliseconds(1500));
  CHECK(*world.Ask(kBase + "/queues/team-a/queueunits").headers.Find("X-Koord-Queue-Snapshot-Age") == "1.5");
}

TEST_CASE("a reviewer that is away is no yes") {
  World world;
  world.reviews.SetReachable(false);
  CheckStatus(world.Ask(kBase + "/queues/team-a/queueunits"), 503, "ServiceUnavailable");
}

TEST_CASE("a table for those who ask for one") {
  World world;
  const Json table = Body(world.Ask(kBase + "/queues/team-a/queueunits", "token", "GET",
                                    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"));
  CHECK(StringAt(table, {"kind"}) == "Table");
  CHECK(Find(table, {"rows"})->get_array().size() == 3);
}

TEST_CASE("aggregated discovery for those who ask for it") {
  World world;
  const HttpResponse response = world.Ask(
      "/apis", "token", "GET", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json");
  CHECK(*response.headers.Find("Content-Type") ==
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  CHECK(StringAt(Body(response), {"kind"}) == "APIGroupDiscoveryList");
  CHECK(StringAt(Body(world.Ask("/apis")), {"kind"}) == "APIGroupList");
}

TEST_CASE("only so many long answers at once; one that ends makes room") {
  World world;
  world.Show(TeamPicture(2000));
  const std::string target = kBase + "/queues/team-a/queueunits";
  std::vector<HttpResponse> sending;
  for (int i = 0; i < 2; ++i) sending.push_back(world.Ask(target));
  CHECK(sending[1].more);
  const HttpResponse refused = world.Ask(target);
  CheckStatus(refused, 429, "TooManyRequests", "limit");
  CHECK(*refused.headers.Find("Retry-After") == "1");
  CHECK(world.Ask(target + "?limit=10").code == 200);
  sending.pop_back();  // its client has gone
  CHECK(world.Ask(target).code == 200);
}

TEST_CASE("every answer is counted by what it was asked for") {
  World world;
  world.Ask(kBase + "/queues/team-a/queueunits");
  world.Ask(kBase + "/elasticquotas/team-a/queueunits?limit=x");
  world.Ask("/apis");
  world.Ask("/readyz", "");
  world.Ask(kBase + "/secrets", "");
  CHECK(world.seen == std::map<std::string, int>{{"queues/queueunits 200", 1},
                                                 {"elasticquotas/queueunits 400", 1},
                                                 {"discovery 200", 1},
                                                 {"health 200", 1},
                                                 {"other 401", 1}});
}

}  // namespace
}  // namespace kq::visibility
