#include "services/debug-api/server.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/http_client.h"
#include "libs/http/testing/certificates.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "libs/scheduler_client/testing/fake_picture_source.h"
#include "libs/scheduler_client/testing/fake_scheduler.h"

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

const KubeResource kUnits{"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
const KubeResource kQuotas{"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"};
const absl::Time kStart = absl::FromUnixSeconds(1764451576);

bool Comes(const std::function<bool()>& condition) {
  const absl::Time deadline = Clock::Real().TimeNow() + absl::Seconds(60);
  while (Clock::Real().TimeNow() < deadline) {
    if (condition()) return true;
    Clock::Real().SleepFor(absl::Milliseconds(5));
  }
  return false;
}

HttpResponse Send(HttpClientOptions options, const HttpRequest& request) {
  const auto client = NewHttpClient(std::move(options));
  REQUIRE(client.ok());
  absl::StatusOr<HttpResponse> response = (*client)->Call(request, absl::Seconds(30));
  INFO(response.status());
  REQUIRE(response.ok());
  return *std::move(response);
}

HttpResponse Ask(int port, const std::string& target, const std::string& method = "GET") {
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", port);
  HttpRequest request;
  request.method = method;
  request.target = target;
  return Send(std::move(options), request);
}

Json Body(const HttpResponse& response) {
  const absl::StatusOr<Json> json = ParseJson(response.body);
  REQUIRE(json.ok());
  return *json;
}

std::string Header(const HttpResponse& response, const std::string& name) {
  const std::string* value = response.headers.Find(name);
  return value == nullptr ? "" : *value;
}

Config Quick() {
  Config config;
  config.address = "127.0.0.1:0";
  config.health_address = "127.0.0.1:0";
  return config;
}

// The quota team (max 4) with one unit that waits, in the picture and on the API server.
struct World {
  explicit World(Config config = Quick()) {
    api.AddResource(kUnits, {.kind = "QueueUnit", .status_subresource = true});
    api.AddResource(kQuotas, {.kind = "ElasticQuota"});
    auto started = Server::Start(std::move(config), {&clock, &api, &pictures});
    REQUIRE(started.ok());
    server = *std::move(started);
  }

  void AddObjects() {
    const Json quota = {{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
                        {"kind", "ElasticQuota"},
                        {"metadata", {{"name", "team"}}},
                        {"spec", {{"max", {{"cpu", "4"}}}}}};
    REQUIRE(api.Create(kQuotas, "kube-system", quota).ok());
    const Json object = {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                         {"kind", "QueueUnit"},
                         {"metadata", {{"name", "a"}, {"labels", {{"quota.scheduling.koordinator.sh/name", "team"}}}}},
                         {"spec", {{"resource", {{"cpu", "5"}}}}}};
    const auto created = api.Create(kUnits, "n", object);
    REQUIRE(created.ok());
    unit.set_uid(UidOf(*created));
  }
  void SetPhase(const std::string& phase) {
    REQUIRE(api.Patch({kUnits, {"n", "a"}, Subresource::kStatus, PatchType::kMerge, {{"status", {{"phase", phase}}}}})
                .ok());
  }

  std::shared_ptr<const Picture> PictureOf() {
    auto picture = std::make_shared<Picture>();
    picture->id.set_epoch("e1");
    picture->id.set_revision(3);
    v1::QuotaSnapshot quota;
    quota.set_namespace_("kube-system");
    quota.set_name("team");
    quota.set_parent("koordinator-root-quota");
    quota.set_lends(true);
    v1::Amount* max = quota.add_max_amounts();
    max->set_resource("cpu");
    max->set_amount(4000);
    picture->quotas["kube-system/team"] = std::make_shared<const v1::QuotaSnapshot>(quota);
    unit.set_namespace_("n");
    unit.set_name("a");
    unit.set_quota("team");
    unit.set_phase("Enqueued");
    unit.set_place(v1::PARKED);
    unit.set_position(1);
    v1::QueueSnapshot queue;
    queue.set_name("team");
    *queue.add_waiting() = unit;
    picture->queues["team"] = std::make_shared<const v1::QueueSnapshot>(queue);
    return picture;
  }
  // The picture as it was heard of now.
  void Publish(absl::Status connection = absl::OkStatus(), std::string address = "h:1") {
    pictures.Set({PictureOf(), clock.TimeNow(), std::move(connection), std::move(address)});
  }
  HttpResponse Ask(const std::string& target) const { return debug_api::Ask(server->port(), target); }

  v1::UnitSnapshot unit;
  SimulatedClock clock{kStart};
  FakeKubeApi api{{.clock = &clock}};
  kq::testing::FakePictureSource pictures;
  std::unique_ptr<Server> server;
};

TEST_CASE("the three documented documents, as JSON, with the age of the picture", "[debug-api]") {
  World world;
  world.Publish();
  world.clock.Advance(absl::Milliseconds(1500));
  for (const std::string page : {"elasticquota", "queue", "userquota"}) {
    CAPTURE(page);
    const HttpResponse response = world.Ask("/apis/v1/" + page);
    CHECK(response.code == 200);
    CHECK(Header(response, "Content-Type") == "application/json");
    CHECK(Header(response, "X-Koord-Queue-Snapshot-Age") == "1.5");
    CHECK_THAT(response.body, Catch::StartsWith("{\n\t\"team\": {\n\t\t\""));
    CHECK(Body(response).as_object().size() == 1);
  }
  CHECK(*Find(Body(world.Ask("/apis/v1/elasticquota")), {"team", "Max", "cpu"}) == 4000);
  CHECK(Find(Body(world.Ask("/apis/v1/queue?limit=1")), {"team", "Waiting"})->as_array().size() == 1);
}

TEST_CASE("before the first picture there is a 503 that says why and when to come again", "[debug-api]") {
  World world;
  Following nothing;
  nothing.connection = absl::UnavailableError("h:1: connection refused");
  world.pictures.Set(nothing);
  for (const std::string page :
       {"/apis/v1/elasticquota", "/apis/v1/queue", "/apis/v1/userquota", "/units/n/a", "/compare"}) {
    CAPTURE(page);
    const HttpResponse response = world.Ask(page);
    CHECK(response.code == 503);
    CHECK_FALSE(Header(response, "Retry-After").empty());
    CHECK(StringAt(Body(response), {"kind"}) == "Status");
    CHECK(StringAt(Body(response), {"message"}) == "there is no picture of the scheduler yet: h:1: connection refused");
  }
  CHECK(world.Ask("/readyz").code == 503);
  CHECK(world.Ask("/livez").code == 200);
  CHECK(world.Ask("/").code == 200);
}

TEST_CASE("a picture that is too old is not shown; the process stays ready and says why", "[debug-api]") {
  World world;
  world.Publish(absl::UnavailableError("h:1: the connection was lost"));
  world.clock.Advance(absl::Seconds(30));
  CHECK(world.Ask("/apis/v1/queue").code == 200);
  world.clock.Advance(absl::Seconds(1));
  const HttpResponse response = world.Ask("/apis/v1/queue");
  CHECK(response.code == 503);
  CHECK_FALSE(Header(response, "Retry-After").empty());
  CHECK(StringAt(Body(response), {"message"}) ==
        "the scheduler was last heard of 31s ago, more than 30s: h:1: the connection was lost");
  CHECK(world.Ask("/readyz").code == 200);
  CHECK_THAT(world.Ask("/readyz?verbose").body,
             Catch::Contains("[+]picture ok: the last one is kept: h:1: the connection was lost"));
}

TEST_CASE("a clock that was set back makes no picture older or younger than now", "[debug-api]") {
  World world;
  world.Publish();
  world.clock.SetTime(kStart - absl::Hours(1));
  const HttpResponse response = world.Ask("/apis/v1/queue");
  CHECK(response.code == 200);
  CHECK(Header(response, "X-Koord-Queue-Snapshot-Age") == "0");
}

TEST_CASE("what cannot be asked for is refused with a Status", "[debug-api]") {
  World world;
  world.Publish();
  struct Case {
    std::string target;
    int code;
    std::string message;
  };
  const auto c = GENERATE(values<Case>({
      {"/apis/v1/nothing", 404, "there is no such path; GET / lists them"},
      {"/apis/v1/queue/", 404, "there is no such path; GET / lists them"},
      {"/../../etc/passwd", 404, "there is no such path; GET / lists them"},
      {"//", 404, "there is no such path; GET / lists them"},
      {"/apis/v1/../v1/queue", 404, "there is no such path; GET / lists them"},
      {"/units/n", 404, "there is no such path; GET / lists them"},
      {"/units/../a", 400, "the path is /units/NAMESPACE/NAME, with the names of a namespace and a unit"},
      {"/units/n/..", 400, "the path is /units/NAMESPACE/NAME, with the names of a namespace and a unit"},
      {"/units/n/%2e%2e%2fa", 400, "the path is /units/NAMESPACE/NAME, with the names of a namespace and a unit"},
      {"/units/n/a%00", 400, "the path is /units/NAMESPACE/NAME, with the names of a namespace and a unit"},
      {"/units/n/%zz", 400, "Bad Request"},
      {"/units/n/gone", 404, "no unfinished queue unit n/gone"},
      {"/apis/v1/queue?limit=0", 400, "parameter \"limit\" must be a number from 1 to 100000"},
      {"/apis/v1/queue?limit=all", 400, "parameter \"limit\" must be a number from 1 to 100000"},
      {"/apis/v1/queue?offset=1", 400, "unknown parameter \"offset\"; there is: limit"},
      {"/apis/v1/elasticquota?limit=1", 400, "unknown parameter \"limit\"; there are none"},
      {"/?x=y", 400, "unknown parameter \"x\"; there are none"},
      {"/compare?limit=-1", 400, "parameter \"limit\" must be a number from 1 to 100000"},
  }));
  CAPTURE(c.target);
  const HttpResponse response = world.Ask(c.target);
  CHECK(response.code == c.code);
  const Json body = Body(response);
  CHECK(StringAt(body, {"status"}) == "Failure");
  CHECK(StringAt(body, {"message"}) == c.message);
  CHECK(*Find(body, {"code"}) == c.code);
}

TEST_CASE("huge queries and writes are refused", "[debug-api]") {
  World world;
  world.Publish();
  CHECK(world.Ask("/apis/v1/queue?limit=" + std::string(5000, '1')).code == 414);
  CHECK(world.Ask("/apis/v1/queue?limit=" + std::string(100'000, '1')).code == 431);
  const HttpResponse posted = Ask(world.server->port(), "/apis/v1/queue", "POST");
  CHECK(posted.code == 405);
  CHECK(Header(posted, "Allow") == "GET, HEAD");
  CHECK(StringAt(Body(posted), {"reason"}) == "MethodNotAllowed");
}

TEST_CASE("one unit, with what the leader says of it", "[debug-api]") {
  World world;
  kq::testing::FakeScheduler scheduler;
  v1::Explanation explanation;
  *explanation.mutable_unit() = (world.PictureOf(), world.unit);
  explanation.set_waits_for("a refund at team");
  scheduler.SetExplanation(explanation);
  world.Publish(absl::OkStatus(), scheduler.address());
  const HttpResponse response = world.Ask("/units/n/a");
  CHECK(response.code == 200);
  CHECK(StringAt(Body(response), {"Quota"}) == "team");
  CHECK(StringAt(Body(response), {"Explanation", "WaitsFor"}) == "a refund at team");
  CHECK(Find(Body(response), {"Decisions"})->is_array());

  scheduler.StopLeading("pod-2");
  const Json without = Body(world.Ask("/units/n/a"));
  CHECK(*Find(without, {"Explanation"}) == nullptr);
  CHECK(StringAt(without, {"ExplanationError"}) ==
        scheduler.address() + ": this replica does not lead; the leader is pod-2");
  world.Publish(absl::UnavailableError("gone"), scheduler.address());
  CHECK(StringAt(Body(world.Ask("/units/n/a")), {"ExplanationError"}) == "gone");
}

TEST_CASE("books that agree with the API server have no differences", "[debug-api]") {
  World world;
  world.AddObjects();
  world.Publish();
  world.clock.Advance(absl::Seconds(1));  // nothing is new since
  const HttpResponse response = world.Ask("/compare");
  CHECK(response.code == 200);
  const Json body = Body(response);
  CHECK(Find(body, {"Differences"})->as_array().empty());
  CHECK(*Find(body, {"List", "QueueUnits"}) == 1);
  CHECK(*Find(body, {"List", "ElasticQuotas"}) == 1);
  CHECK(*Find(body, {"PictureOlderThanList"}) == false);
  CHECK(StringAt(body, {"Picture", "Connection"}) == "ok");
  // Without a leader nobody knows whether they still do.
  world.pictures.Set({world.PictureOf(), kStart, absl::UnavailableError("gone"), "h:1"});
  CHECK(*Find(Body(world.Ask("/compare")), {"PictureOlderThanList"}) == true);
}

TEST_CASE("while the scheduler is away, what changed since is told, and that the picture is old", "[debug-api]") {
  World world;
  world.AddObjects();
  world.Publish(absl::UnavailableError("gone"));
  world.clock.Advance(absl::Seconds(7));
  world.SetPhase("Running");
  const Json body = Body(world.Ask("/compare"));
  CHECK(*Find(body, {"PictureOlderThanList"}) == true);
  CHECK(StringAt(body, {"Note"}) ==
        "The scheduler was last heard of 7s before the list: what changed since then differs.");
  std::vector<std::string> fields;
  for (const Json& difference : Find(body, {"Differences"})->as_array()) {
    fields.push_back(StringAt(difference, {"Object"}) + " " + StringAt(difference, {"Field"}));
  }
  CHECK(fields ==
        std::vector<std::string>{"kube-system/team SelfUsed", "kube-system/team Used", "n/a Charged", "n/a Phase"});
  const Json cut = Body(world.Ask("/compare?limit=1"));
  CHECK(Find(cut, {"Differences"})->as_array().size() == 1);
  CHECK(*Find(cut, {"NotShown"}) == 3);
}

TEST_CASE("a difference that the next picture clears up is none", "[debug-api]") {
  World world;
  world.AddObjects();
  world.Publish();
  world.SetPhase("Failed");
  // The picture does not have it yet: the comparison waits for the next one.
  HttpResponse response;
  std::thread asking([&] { response = world.Ask("/compare"); });
  world.clock.AwaitSleepers(1);
  CHECK(world.Ask("/compare").code == 429);
  auto picture = std::make_shared<Picture>(*world.PictureOf());
  picture->queues["team"] = std::make_shared<const v1::QueueSnapshot>();
  world.clock.Advance(absl::Milliseconds(100));
  world.clock.AwaitSleepers(1);
  world.pictures.Set({picture, kStart + absl::Seconds(1), absl::OkStatus(), "h:1"});
  world.clock.Advance(absl::Milliseconds(100));
  asking.join();
  CHECK(response.code == 200);
  CHECK(Find(Body(response), {"Differences"})->as_array().empty());
}

TEST_CASE("a comparison waits for the next picture only so long", "[debug-api]") {
  World world;
  world.AddObjects();
  world.Publish();
  world.SetPhase("Failed");
  HttpResponse response;
  std::thread asking([&] { response = world.Ask("/compare"); });
  world.clock.AwaitSleepers(1);
  world.clock.Advance(absl::Seconds(5));
  asking.join();
  CHECK(Find(Body(response), {"Differences"})->as_array().size() == 1);
}

TEST_CASE("an API server that cannot be reached is said to be the cause", "[debug-api]") {
  World world;
  world.AddObjects();
  world.Publish();
  world.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kUnavailable}; });
  const HttpResponse away = world.Ask("/compare");
  CHECK(away.code == 503);
  CHECK_FALSE(Header(away, "Retry-After").empty());
  CHECK_THAT(StringAt(Body(away), {"message"}), Catch::StartsWith("the API server: list elasticquotas: "));
  world.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kInternal}; });
  CHECK(world.Ask("/compare").code == 502);
  world.api.set_faults(nullptr);
  CHECK(world.Ask("/compare").code == 200);
}

TEST_CASE("metrics tell of the requests and of the picture; health has an address of its own", "[debug-api]") {
  World world;
  world.Publish();
  world.clock.Advance(absl::Seconds(2));
  world.Ask("/apis/v1/queue");
  world.Ask("/units/n/gone");
  world.Ask("/../secrets");
  world.Ask("/" + std::string(100'000, 'x'));
  for (const int port : {world.server->port(), world.server->health_port()}) {
    const std::string text = Ask(port, "/metrics").body;
    CHECK_THAT(text, Catch::Contains("koord_queue_debug_api_snapshot_age_seconds 2\n"));
    CHECK_THAT(text, Catch::Contains("koord_queue_debug_api_follows_leader 1\n"));
    CHECK_THAT(text, Catch::Contains(R"(requests_total{code="200",page="/apis/v1/queue"} 1)"));
    CHECK_THAT(text, Catch::Contains(R"(requests_total{code="404",page="/units/{ns}/{name}"} 1)"));
    CHECK_THAT(text, Catch::Contains(R"(requests_total{code="404",page="other"} 1)"));
    CHECK_THAT(text, Catch::Contains(R"(koord_queue_http_requests_refused_total{code="431",listener="api"} 1)"));
    CHECK_THAT(text, Catch::Contains("koord_queue_debug_api_build_info"));
    CHECK(Ask(port, "/healthz").code == 200);
    CHECK(Ask(port, "/readyz").code == 200);
  }
  CHECK(Ask(world.server->health_port(), "/apis/v1/queue").code == 404);
}

TEST_CASE("with an authority only its clients are served", "[debug-api]") {
  const kq::testing::TestFolder folder;
  const kq::testing::TestAuthority authority;
  const auto own = kq::testing::LocalhostCertificate(authority);
  const auto client = authority.IssueClient({.common_name = "operator", .names = {}, .organizations = {}});
  Config config = Quick();
  config.certificate_file = folder.Write("tls.crt", own.certificate_pem);
  config.key_file = folder.Write("tls.key", own.key_pem);
  config.client_ca_file = folder.Write("ca.crt", authority.certificate_pem());
  World world(config);
  world.Publish();

  HttpClientOptions options;
  options.url = absl::StrCat("https://localhost:", world.server->port());
  options.ca_pem = authority.certificate_pem();
  HttpRequest request;
  request.target = "/apis/v1/queue";
  CHECK(Send(options, request).code == 401);
  options.client_certificate_pem = client.certificate_pem;
  options.client_key_pem = client.key_pem;
  CHECK(Send(options, request).code == 200);
  CHECK(Ask(world.server->health_port(), "/readyz").code == 200);
}

TEST_CASE("the real follower shows what a scheduler sends", "[debug-api]") {
  kq::testing::FakeScheduler scheduler;
  SimulatedClock clock(kStart);
  FakeKubeApi api({.clock = &clock});
  Config config = Quick();
  config.scheduler.servers = {scheduler.address()};
  const auto server = Server::Start(config, {&clock, &api, nullptr});
  REQUIRE(server.ok());
  CHECK(Ask((*server)->port(), "/apis/v1/elasticquota").code == 503);

  v1::SnapshotChange change;
  change.mutable_id()->set_epoch("e1");
  change.set_whole(true);
  scheduler.Send(change);
  REQUIRE(Comes([&] { return Ask((*server)->port(), "/readyz").code == 200; }));
  CHECK(Ask((*server)->port(), "/apis/v1/elasticquota").body == "{}\n");
  (*server)->Stop();
}

}  // namespace
}  // namespace kq::debug_api
