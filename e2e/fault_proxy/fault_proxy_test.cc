#include "e2e/fault_proxy/fault_proxy.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/http_server.h"
#include "libs/kube/http_kube_api.h"

namespace kq {
namespace {

const KubeResource kJobs = {"batch", "v1", "jobs"};
const ObjectKey kKey = {"a", "x"};
const char kObject[] = R"({"metadata":{"namespace":"a","name":"x","resourceVersion":"5"}})";

// Stands in for the API server: answers every call with one object, a watch with
// five events, and remembers what it was asked.
class Upstream {
 public:
  Upstream() {
    auto server = StartHttpServer({}, [this](const HttpRequest& request, const HttpPeer&) { return Answer(request); });
    REQUIRE(server.ok());
    server_ = *std::move(server);
  }
  int port() const { return server_->port(); }
  std::vector<HttpRequest> Requests() const {
    MutexLock lock(&mu_);
    return requests_;
  }
  void Stop() { server_.reset(); }

 private:
  HttpResponse Answer(const HttpRequest& request) {
    {
      MutexLock lock(&mu_);
      requests_.push_back(request);
    }
    HttpResponse response;
    response.headers.Add("Content-Type", "application/json");
    response.headers.Add("X-Upstream", "yes");
    if (!absl::StrContains(request.target, "watch=true")) {
      response.body = kObject;
      return response;
    }
    for (int i = 1; i <= 5; ++i) {
      absl::StrAppend(&response.body, R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":")", i,
                      "\"}}}\n");
    }
    return response;
  }

  mutable Mutex mu_;
  std::vector<HttpRequest> requests_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<HttpServer> server_;
};

// A client of the API server that goes through the proxy.
struct World {
  explicit World(absl::string_view rules_text, const Clock* clock = &Clock::Real()) {
    HttpClientOptions options;
    options.url = absl::StrCat("http://127.0.0.1:", upstream.port());
    client = *NewHttpClient(options);
    auto rules = FaultRules::Parse(rules_text);
    INFO(rules.status().ToString());
    REQUIRE(rules.ok());
    proxy = std::make_unique<FaultProxy>(FaultProxyOptions(), *std::move(rules), client.get(), clock);
    auto started =
        StartHttpServer({}, [this](const HttpRequest& request, const HttpPeer&) { return proxy->Handle(request); });
    REQUIRE(started.ok());
    server = *std::move(started);
    KubeConnection connection;
    connection.server = absl::StrCat("http://127.0.0.1:", server->port());
    connection.token = "secret";
    api = *NewHttpKubeApi(connection, {});
    options.url = connection.server;
    raw = *NewHttpClient(options);
  }

  absl::Status Patch() {
    return api->Patch({kJobs, kKey, Subresource::kNone, PatchType::kMerge, Json(JsonObject())}).status();
  }
  HttpResponse Own(const std::string& method, const std::string& path, const std::string& body = "") {
    HttpRequest request{method, "/fault-proxy/" + path, {}, body};
    const auto response = raw->Call(request, absl::Seconds(30));
    REQUIRE(response.ok());
    return *response;
  }
  // The versions that a watch brings until it ends, and how it ends.
  std::pair<std::vector<uint64_t>, absl::Status> Watch() {
    std::vector<uint64_t> versions;
    auto watch = api->Watch({kJobs, "", "", "", 1});
    if (!watch.ok()) return {versions, watch.status()};
    for (;;) {
      const auto event = (*watch)->Next(absl::Seconds(30));
      if (!event.ok()) return {versions, event.status()};
      REQUIRE(event->has_value());
      versions.push_back(VersionOf((*event)->object));
    }
  }

  Upstream upstream;
  std::unique_ptr<HttpClient> client;
  std::unique_ptr<FaultProxy> proxy;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<KubeApi> api;
  std::unique_ptr<HttpClient> raw;
};

TEST_CASE("without a fault a request passes as it is, with its authorization") {
  World world("");
  CHECK(world.Patch().ok());
  REQUIRE(world.upstream.Requests().size() == 1);
  const HttpRequest seen = world.upstream.Requests()[0];
  CHECK(seen.method == "PATCH");
  CHECK(seen.target == "/apis/batch/v1/namespaces/a/jobs/x");
  CHECK(*seen.headers.Find("Authorization") == "Bearer secret");
  CHECK(*seen.headers.Find("Content-Type") == "application/merge-patch+json");
  CHECK(seen.body == "{}");
  const auto answer = world.raw->Call({"GET", "/version", {}, ""}, absl::Seconds(30));
  REQUIRE(answer.ok());
  CHECK(*answer->headers.Find("X-Upstream") == "yes");
  CHECK(answer->body == kObject);
}

TEST_CASE("a watch passes whole and ends as it ended") {
  World world("");
  const auto [versions, end] = world.Watch();
  CHECK(versions == std::vector<uint64_t>{1, 2, 3, 4, 5});
  CHECK(end == absl::UnavailableError("the watch ended"));
}

TEST_CASE("a lost request takes no effect, a lost answer does, and the client knows of neither") {
  World world("rules: [{fault: lose-request, limit: 1}, {fault: lose-answer, limit: 1}]");
  CHECK(OutcomeUnknown(world.Patch()));
  CHECK(world.upstream.Requests().empty());
  CHECK(OutcomeUnknown(world.Patch()));
  CHECK(world.upstream.Requests().size() == 1);
  CHECK(world.Patch().ok());
}

TEST_CASE("answers are injected in the API server's form") {
  World world(R"(
rules:
- {fault: answer, code: 409, limit: 1}
- {fault: answer, code: 429, retry_after: 1500ms, limit: 1}
- {fault: answer, code: 503, limit: 1}
- {fault: replace-answer, code: 500, limit: 1}
)");
  CHECK(absl::IsAborted(world.Patch()));
  const absl::Status busy = world.Patch();
  CHECK(absl::IsUnavailable(busy));
  CHECK(RetryAfter(busy) == absl::Seconds(2));
  CHECK(OutcomeUnknown(world.Patch()));
  CHECK(world.upstream.Requests().empty());
  CHECK(OutcomeUnknown(world.Patch()));
  CHECK(world.upstream.Requests().size() == 1);
}

TEST_CASE("a watch is cut after so many events or bytes") {
  World world("rules: [{fault: cut-watch, after_events: 2, limit: 1}, {fault: cut-watch, after_bytes: 10, limit: 1}]");
  const auto [two, cut] = world.Watch();
  CHECK(two == std::vector<uint64_t>{1, 2});
  CHECK(absl::IsUnavailable(cut));
  CHECK(cut.message() != "the watch ended");
  const auto [none, early] = world.Watch();
  CHECK(none.empty());
  CHECK(absl::IsUnavailable(early));
  CHECK(world.Watch().first.size() == 5);
}

TEST_CASE("a watch expires in the stream") {
  World world("rules: [{fault: expire-watch, after_events: 3, limit: 1}]");
  const auto [versions, end] = world.Watch();
  CHECK(versions == std::vector<uint64_t>{1, 2, 3});
  CHECK(absl::IsOutOfRange(end));
}

TEST_CASE("slow requests wait before the server sees them, slow answers after") {
  SimulatedClock clock;
  World world("rules: [{fault: slow-request, delay: 5s, limit: 1}, {fault: slow-answer, delay: 7s, limit: 1}]", &clock);
  absl::Status seen = absl::InternalError("not answered");
  std::thread caller([&] { seen = world.Patch(); });
  clock.AwaitSleepers(1);
  CHECK(world.upstream.Requests().empty());
  clock.Advance(absl::Seconds(5));
  while (world.upstream.Requests().empty()) std::this_thread::yield();
  clock.AwaitSleepers(1);
  clock.Advance(absl::Seconds(7));
  caller.join();
  CHECK(seen.ok());
}

TEST_CASE("a server that is not there is told as one where nothing was done") {
  World world("");
  world.upstream.Stop();
  const absl::Status status = world.Patch();
  CHECK(absl::IsUnavailable(status));
  CHECK(absl::StrContains(status.message(), "not ready"));
}

TEST_CASE("what happened is counted") {
  World world("seed: 4\nrules: [{name: lost, fault: lose-answer, every: 2}]");
  for (int i = 0; i < 5; ++i) (void)world.Patch();
  const HttpResponse stats = world.Own("GET", "stats");
  CHECK(stats.body == R"({"seed":4,"requests":5,"forwarded":5,"upstreamErrors":0,"faults":{"lose-answer":2},)"
                      R"("rules":[{"name":"lost","fault":"lose-answer","matched":5,"struck":2}]})"
                      "\n");
}

TEST_CASE("rules are swapped while it runs, bad ones are not") {
  World world("rules: [{fault: answer, code: 500}]");
  CHECK_FALSE(world.Patch().ok());
  const HttpResponse bad = world.Own("PUT", "rules", "rules: [{fault: fire}]");
  CHECK(bad.code == 400);
  CHECK(absl::StartsWith(bad.body, "rules[0].fault: must be one of"));
  CHECK_FALSE(world.Patch().ok());
  CHECK(world.Own("PUT", "rules", "seed: 8").code == 200);
  CHECK(world.Patch().ok());
  CHECK(absl::StrContains(world.proxy->StatsText(), R"("seed":8,"requests":1,)"));
  CHECK(world.Own("GET", "else").code == 404);
}

}  // namespace
}  // namespace kq
