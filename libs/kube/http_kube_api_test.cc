#include "libs/kube/http_kube_api.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/http_server.h"
#include "libs/kube/kube_status.h"
#include "libs/kube/testing/scripted_http_client.h"

namespace kq {
namespace {

const KubeResource kJobs{"batch", "v1", "jobs"};
const ObjectKey kKey{"a", "x"};

KubeConnection Connection(std::string server = "https://api:6443") {
  KubeConnection connection;
  connection.server = std::move(server);
  connection.token = "secret";
  return connection;
}

// The API client over a script in place of a server.
struct World {
  explicit World(const KubeConnection& connection = Connection(), HttpKubeApiOptions options = {}) {
    auto scripted = std::make_unique<ScriptedHttpClient>();
    client = scripted.get();
    HttpKubeApiParts parts;
    parts.client = std::move(scripted);
    parts.clock = &clock;
    auto made = NewHttpKubeApi(connection, std::move(options), std::move(parts));
    REQUIRE(made.ok());
    api = *std::move(made);
  }
  HttpRequest LastRequest() const { return client->Requests().back(); }

  SimulatedClock clock;
  ScriptedHttpClient* client = nullptr;
  std::unique_ptr<KubeApi> api;
};

std::string HeaderOf(const HttpRequest& request, absl::string_view name) {
  const std::string* const value = request.headers.Find(name);
  return value == nullptr ? "(none)" : *value;
}

const char kObject[] = R"({"metadata":{"namespace":"a","name":"x","resourceVersion":"5"}})";

TEST_CASE("requests say who asks and what they take") {
  HttpKubeApiOptions options;
  options.user_agent = "koord-queue/1.0";
  World world(Connection(), options);
  world.client->Answer(200, kObject);
  REQUIRE(world.api->Get(kJobs, kKey).ok());
  const HttpRequest request = world.LastRequest();
  CHECK(request.method == "GET");
  CHECK(request.target == "/apis/batch/v1/namespaces/a/jobs/x");
  CHECK(HeaderOf(request, "Authorization") == "Bearer secret");
  CHECK(HeaderOf(request, "User-Agent") == "koord-queue/1.0");
  CHECK(HeaderOf(request, "Accept") == "application/json");
  CHECK(request.body.empty());
}

TEST_CASE("without a token there is no Authorization") {
  KubeConnection connection = Connection();
  connection.token.clear();
  World world(connection);
  world.client->Answer(200, kObject);
  REQUIRE(world.api->Get(kJobs, kKey).ok());
  CHECK(HeaderOf(world.LastRequest(), "Authorization") == "(none)");
}

TEST_CASE("a path of the server goes before every target") {
  World world(Connection("https://proxy/k8s/c1/"));
  world.client->Answer(200, kObject);
  REQUIRE(world.api->Get(kJobs, kKey).ok());
  CHECK(world.LastRequest().target == "/k8s/c1/apis/batch/v1/namespaces/a/jobs/x");
}

TEST_CASE("a list goes page by page") {
  World world;
  world.client->Answer(200,
                       R"({"metadata":{"resourceVersion":"7","continue":"c1"},"items":[{"metadata":{"name":"x"}}]})");
  ListRequest request;
  request.resource = kJobs;
  request.page_size = 1;
  const auto page = world.api->List(request);
  REQUIRE(page.ok());
  CHECK(page->items.size() == 1);
  CHECK(page->version == 7);
  world.client->Answer(200, R"({"metadata":{"resourceVersion":"7"},"items":[]})");
  request.continue_token = page->continue_token;
  REQUIRE(world.api->List(request).ok());
  CHECK(world.LastRequest().target == "/apis/batch/v1/jobs?limit=1&continue=c1");
}

TEST_CASE("writes carry their body, content type and method") {
  World world;
  const Json object = *ParseJson(kObject);
  world.client->Answer(201, kObject);
  CHECK(VersionOf(*world.api->Create(kJobs, "a", object)) == 5);
  CHECK(world.LastRequest().method == "POST");
  CHECK(world.LastRequest().target == "/apis/batch/v1/namespaces/a/jobs");
  CHECK(HeaderOf(world.LastRequest(), "Content-Type") == "application/json");
  CHECK(world.LastRequest().body == kObject);

  world.client->Answer(200, kObject);
  CHECK(world.api->Update(kJobs, Subresource::kStatus, object).ok());
  CHECK(world.LastRequest().method == "PUT");
  CHECK(world.LastRequest().target == "/apis/batch/v1/namespaces/a/jobs/x/status");
  CHECK(world.LastRequest().body == kObject);

  const std::pair<PatchType, const char*> types[] = {
      {PatchType::kMerge, "application/merge-patch+json"},
      {PatchType::kJson, "application/json-patch+json"},
      {PatchType::kStrategicMerge, "application/strategic-merge-patch+json"}};
  for (const auto& [type, content_type] : types) {
    world.client->Answer(200, kObject);
    CHECK(world.api->Patch({kJobs, kKey, Subresource::kNone, type, *ParseJson("{\"a\":1}")}).ok());
    CHECK(world.LastRequest().method == "PATCH");
    CHECK(world.LastRequest().target == "/apis/batch/v1/namespaces/a/jobs/x");
    CHECK(HeaderOf(world.LastRequest(), "Content-Type") == content_type);
    CHECK(world.LastRequest().body == "{\"a\":1}");
  }
}

TEST_CASE("a delete names its preconditions and what becomes of dependents") {
  World world;
  world.client->Answer(200, R"({"kind":"Status","status":"Success"})");
  REQUIRE(world.api->Delete({kJobs, kKey, "uid-1", 5, Propagation::kForeground}).ok());
  CHECK(world.LastRequest().method == "DELETE");
  CHECK(world.LastRequest().body == R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground",)"
                                    R"("preconditions":{"uid":"uid-1","resourceVersion":"5"}})");
  world.client->Answer(202, kObject);
  REQUIRE(world.api->Delete({kJobs, kKey, "", 0, Propagation::kBackground}).ok());
  CHECK(world.LastRequest().body == R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})");
}

TEST_CASE("a call without a name is refused before it is sent") {
  World world;
  CHECK(absl::IsInvalidArgument(world.api->Delete({kJobs, {"a", ""}, "", 0, Propagation::kBackground})));
  CHECK(absl::IsInvalidArgument(world.api->Get(kJobs, {"a", ".."}).status()));
  CHECK(absl::IsInvalidArgument(world.api->Update(kJobs, Subresource::kNone, Json(JsonObject())).status()));
  CHECK(world.client->Requests().empty());
}

TEST_CASE("a conflict on create is an object that exists and on a patch a newer version") {
  World world;
  world.client->Answer(409,
                       R"({"kind":"Status","message":"jobs.batch \"x\" already exists","reason":"AlreadyExists"})");
  CHECK(world.api->Create(kJobs, "a", *ParseJson(kObject)).status() ==
        absl::AlreadyExistsError("jobs.batch \"x\" already exists"));
  world.client->Answer(409, R"({"kind":"Status","message":"modified","reason":"Conflict"})");
  CHECK(world.api->Patch({kJobs, kKey, Subresource::kStatus, PatchType::kMerge, Json(JsonObject())}).status() ==
        absl::AbortedError("modified"));
}

TEST_CASE("an error of the server is unavailable to a read and open to a write") {
  World world;
  world.client->Answer(500, "");
  CHECK(world.api->Get(kJobs, kKey).status() ==
        absl::UnavailableError("GET /apis/batch/v1/namespaces/a/jobs/x: HTTP 500 Internal Server Error"));
  world.client->Answer(500, "");
  CHECK(OutcomeUnknown(world.api->Update(kJobs, Subresource::kNone, *ParseJson(kObject)).status()));
}

TEST_CASE("errors without an answer come through as they are") {
  World world;
  for (const absl::Status& error : {absl::UnavailableError("connect: refused"),
                                    absl::DeadlineExceededError("no answer"), absl::UnknownError("cut")}) {
    world.client->Answer(error);
    CHECK(world.api->Create(kJobs, "a", *ParseJson(kObject)).status() == error);
  }
}

TEST_CASE("a success that cannot be decoded leaves a write open and makes a read fail") {
  World world;
  const std::string deep = absl::StrCat(R"({"metadata":{"name":"x","namespace":"a"},"spec":)", std::string(500, '['),
                                        std::string(500, ']'), "}");
  world.client->Answer(200, deep);
  const absl::Status read = world.api->Get(kJobs, kKey).status();
  CHECK(absl::IsInvalidArgument(read));
  CHECK(absl::StartsWith(read.message(), "the answer about a/x cannot be decoded: "));
  world.client->Answer(200, deep);
  CHECK(OutcomeUnknown(world.api->Update(kJobs, Subresource::kNone, *ParseJson(kObject)).status()));
}

TEST_CASE("a refused token is read again and the call made once more") {
  std::string pattern = (std::filesystem::temp_directory_path() / "api-token-XXXXXX").string();
  close(mkstemp(pattern.data()));
  const auto write = [&pattern](const char* token) { std::ofstream(pattern) << token; };
  write("old");
  KubeConnection connection = Connection();
  connection.token_file = pattern;
  World world(connection);

  write("new");
  world.client->Answer(401, "");
  world.client->Answer(200, kObject);
  CHECK(world.api->Get(kJobs, kKey).ok());
  REQUIRE(world.client->Requests().size() == 2);
  CHECK(HeaderOf(world.client->Requests()[0], "Authorization") == "Bearer old");
  CHECK(HeaderOf(world.client->Requests()[1], "Authorization") == "Bearer new");

  // The same token again would be refused again.
  world.client->Answer(401, "");
  CHECK(absl::IsUnauthenticated(world.api->Get(kJobs, kKey).status()));
  CHECK(world.client->Requests().size() == 3);

  // When the file is gone the error says so.
  std::remove(pattern.c_str());
  world.client->Answer(401, "");
  CHECK(absl::StrContains(world.api->Get(kJobs, kKey).status().message(), pattern));
}

TEST_CASE("each request is observed with its method, host and code") {
  std::vector<std::string> seen;
  HttpKubeApiOptions options;
  options.observe = [&seen](absl::string_view verb, absl::string_view host, int code, absl::Duration took) {
    seen.push_back(absl::StrCat(verb, " ", host, " ", code, " ", absl::FormatDuration(took)));
  };
  World world(Connection("https://api"), options);
  world.client->Answer(200, kObject);
  world.client->Answer(absl::UnavailableError("refused"));
  world.client->AnswerStream(200, {});
  CHECK(world.api->Get(kJobs, kKey).ok());
  CHECK_FALSE(world.api->Get(kJobs, kKey).ok());
  CHECK(world.api->Watch({kJobs, "", "", "", 1}).ok());
  CHECK(seen == std::vector<std::string>{"GET api:443 200 0", "GET api:443 0 0", "GET api:443 200 0"});
}

TEST_CASE("calls beyond the client's own rate wait, and fail if that takes longer than the timeout") {
  HttpKubeApiOptions options;
  options.qps = 0.01;
  options.burst = 1;
  options.timeout = absl::Seconds(30);
  World world(Connection(), options);
  world.client->Answer(200, kObject);
  CHECK(world.api->Get(kJobs, kKey).ok());
  CHECK(absl::IsUnavailable(world.api->Get(kJobs, kKey).status()));
  CHECK(world.client->Requests().size() == 1);
}

TEST_CASE("a watch is opened from its version and gives its events") {
  World world;
  world.client->AnswerStream(200, {absl::StrCat(R"({"type":"ADDED","object":)", kObject, "}\n")});
  auto watch = world.api->Watch({kJobs, "a", "", "", 4});
  REQUIRE(watch.ok());
  CHECK(world.LastRequest().target ==
        "/apis/batch/v1/namespaces/a/jobs?watch=true&allowWatchBookmarks=true&resourceVersion=4&timeoutSeconds=420");
  const auto event = (*watch)->Next(absl::Seconds(1));
  REQUIRE(event.ok());
  CHECK(VersionOf((*event)->object) == 5);
  // A connection that went silent ends some time after the server was to end it.
  world.clock.Advance(absl::Minutes(7) + absl::Seconds(29));
  CHECK((*watch)->Next(absl::ZeroDuration()).ok());
  world.clock.Advance(absl::Seconds(1));
  CHECK(absl::IsUnavailable((*watch)->Next(absl::ZeroDuration()).status()));
}

TEST_CASE("a watch that is refused says why") {
  World world;
  world.client->AnswerStream(410, {std::string(R"({"kind":"Status","mess)"),
                                   std::string(R"(age":"too old","code":410})"), ScriptedHttpStream::End()});
  CHECK(world.api->Watch({kJobs, "", "", "", 1}).status() == absl::OutOfRangeError("too old"));
  world.client->AnswerStream(404, {std::string("404 page not found"), ScriptedHttpStream::End()});
  CHECK(world.api->Watch({kJobs, "", "", "", 1}).status() ==
        absl::NotFoundError("GET /apis/batch/v1/jobs: HTTP 404 Not Found: 404 page not found"));
}

TEST_CASE("options that make no sense are refused") {
  const auto made = [](HttpKubeApiOptions options, std::string server = "https://api") {
    HttpKubeApiParts parts;
    parts.client = std::make_unique<ScriptedHttpClient>();
    parts.clock = &Clock::Real();
    return NewHttpKubeApi(Connection(std::move(server)), std::move(options), std::move(parts)).status();
  };
  CHECK(made({}).ok());
  HttpKubeApiOptions options;
  options.timeout = absl::ZeroDuration();
  CHECK(absl::IsInvalidArgument(made(options)));
  options = {};
  options.watch_timeout = absl::ZeroDuration();
  CHECK(absl::IsInvalidArgument(made(options)));
  options = {};
  options.qps = -1;
  CHECK(absl::IsInvalidArgument(made(options)));
  CHECK(absl::IsInvalidArgument(made({}, "api:6443")));
}

// From here on a server of HTTP itself, without a script of the client.

std::unique_ptr<HttpServer> Serve(HttpHandle handle) {
  auto server = StartHttpServer({}, std::move(handle));
  REQUIRE(server.ok());
  return *std::move(server);
}

std::unique_ptr<KubeApi> ApiOf(int port, HttpKubeApiOptions options = {}) {
  auto api = NewHttpKubeApi(Connection(absl::StrCat("http://127.0.0.1:", port)), std::move(options));
  REQUIRE(api.ok());
  return *std::move(api);
}

TEST_CASE("objects and refusals come over the wire") {
  const auto server = Serve([](const HttpRequest& request, const HttpPeer&) {
    HttpResponse response;
    if (request.method == "PATCH") {
      response.code = 429;
      response.headers.Add("Retry-After", "2");
      response.body = R"({"kind":"Status","message":"later","code":429})";
    } else {
      response.body = kObject;
    }
    return response;
  });
  const auto api = ApiOf(server->port());
  const auto object = api->Get(kJobs, kKey);
  REQUIRE(object.ok());
  CHECK(*object == *ParseJson(kObject));
  const absl::Status refused =
      api->Patch({kJobs, kKey, Subresource::kNone, PatchType::kMerge, Json(JsonObject())}).status();
  CHECK(absl::IsUnavailable(refused));
  CHECK(RetryAfter(refused) == absl::Seconds(2));
}

TEST_CASE("where nobody listens nothing was done") {
  int port = 0;
  {
    const auto server = Serve([](const HttpRequest&, const HttpPeer&) { return HttpResponse(); });
    port = server->port();
  }
  CHECK(absl::IsUnavailable(ApiOf(port)->Create(kJobs, "a", *ParseJson(kObject)).status()));
}

TEST_CASE("a watch comes over the wire as it is written") {
  const auto server = Serve([](const HttpRequest&, const HttpPeer&) {
    HttpResponse response;
    const std::string event = absl::StrCat(R"({"type":"MODIFIED","object":)", kObject, "}\n");
    response.body = event.substr(0, 9);
    response.more = [rest = std::vector<std::string>{event.substr(9) + event.substr(0, 1), event.substr(1)},
                     at = size_t{0}]() mutable -> std::optional<std::string> {
      if (at == rest.size()) return std::nullopt;
      return rest[at++];
    };
    return response;
  });
  const auto api = ApiOf(server->port());
  auto watch = api->Watch({kJobs, "", "", "", 1});
  REQUIRE(watch.ok());
  for (int i = 0; i < 2; ++i) {
    const auto event = (*watch)->Next(absl::Seconds(30));
    REQUIRE(event.ok());
    REQUIRE(event->has_value());
    CHECK(VersionOf((*event)->object) == 5);
  }
  CHECK((*watch)->Next(absl::Seconds(30)).status() == absl::UnavailableError("the watch ended"));
}

TEST_CASE("Cancel wakes a Next that waits in another thread") {
  const auto server = Serve([](const HttpRequest&, const HttpPeer&) {
    HttpResponse response;
    response.more = [] { return std::optional<std::string>(""); };
    return response;
  });
  const auto api = ApiOf(server->port());
  auto watch = api->Watch({kJobs, "", "", "", 1});
  REQUIRE(watch.ok());
  absl::Status seen;
  std::thread reader([&] { seen = (*watch)->Next(absl::Minutes(10)).status(); });
  (*watch)->Cancel();
  reader.join();
  CHECK(absl::IsCancelled(seen));
}

}  // namespace
}  // namespace kq
