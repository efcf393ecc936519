// The server over real TLS: who may speak for others, and who may not; clients
// that are too many, too slow, or gone; certificates that end.
#include "services/visibility/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/http_client.h"
#include "libs/http/testing/certificates.h"
#include "libs/http/testing/raw_peer.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "libs/pki/certificate.h"
#include "libs/scheduler_client/testing/fake_picture_source.h"
#include "services/visibility/testing/front_proxy.h"
#include "services/visibility/testing/pictures.h"

namespace kq::visibility {
namespace {

const std::string kUnits = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1/queues/team-a/queueunits";

constexpr absl::Duration kLong = absl::Seconds(60);  // never waited for in a test that passes

int CodeOf(const absl::StatusOr<HttpResponse>& response) { return response.ok() ? response->code : 0; }

bool Becomes(const std::function<bool()>& done) {
  const absl::Time deadline = Clock::Real().TimeNow() + kLong;
  while (Clock::Real().TimeNow() < deadline) {
    if (done()) return true;
    Clock::Real().SleepFor(absl::Milliseconds(20));
  }
  return false;
}

// Reviews that allow nobody but masters; the ConfigMap of the front proxy; the
// certificate in files.
struct World {
  explicit World(Config config = {}, int waiting = 3) {
    api.AddResource(kConfigMaps, FakeResource());
    PublishProxy(proxies);
    Following following;
    following.picture = TeamPicture(waiting);
    following.heard = Clock::Real().TimeNow() + absl::Hours(1);
    following.connection = absl::OkStatus();
    pictures.Set(following);
    const testing::TestCertificate own = testing::LocalhostCertificate(authority);
    config.address = config.metrics_address = "127.0.0.1:0";
    config.tls_certificate_file = folder.Write("server.crt", own.certificate_pem);
    config.tls_key_file = folder.Write("server.key", own.key_pem);
    auto started = Server::Start(config, {&Clock::Real(), &api, &pictures});
    REQUIRE(started.ok());
    server = *std::move(started);
  }
  void PublishProxy(const testing::TestAuthority& proxy) {
    const Json object = FrontProxyConfig(proxy.certificate_pem());
    const absl::StatusOr<Json> known = api.Get(kConfigMaps, {"kube-system", "extension-apiserver-authentication"});
    if (!known.ok()) {
      REQUIRE(api.Create(kConfigMaps, "kube-system", object).ok());
    } else {
      Json update = *known;
      update.as_object()["data"] = object.at("data");
      REQUIRE(api.Update(kConfigMaps, Subresource::kNone, update).ok());
    }
  }
  // A client with a certificate of `issuer`, or without one.
  std::unique_ptr<HttpClient> Client(const testing::TestAuthority* issuer,
                                     const std::string& common_name = "front-proxy-client") const {
    HttpClientOptions options;
    options.url = absl::StrCat("https://localhost:", server->port());
    options.ca_pem = authority.certificate_pem();
    options.connect_timeout = kLong;
    if (issuer != nullptr) {
      testing::TestCertificateOptions wanted;
      wanted.common_name = common_name;
      const testing::TestCertificate client = issuer->IssueClient(wanted);
      options.client_certificate_pem = client.certificate_pem;
      options.client_key_pem = client.key_pem;
    }
    auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    return *std::move(client);
  }
  // The code of an answer to a master's request, made with a certificate of `issuer`;
  // 0 if there is none.
  int Ask(const testing::TestAuthority* issuer, const std::string& common_name = "front-proxy-client",
          const std::string& path = kUnits) const {
    return CodeOf(Client(issuer, common_name)->Call(AsMaster(path), kLong));
  }
  // Asks until the code is `want`: what was published takes a moment.
  bool Comes(int want, const testing::TestAuthority* issuer) const {
    return Becomes([&] { return Ask(issuer) == want; });
  }
  // The value of one series of /metrics; 0 if it is not there.
  double Metric(const std::string& series) const {
    HttpClientOptions options;
    options.url = absl::StrCat("http://127.0.0.1:", server->metrics_port());
    auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    const auto response = (*client)->Call({.method = "GET", .target = "/metrics", .headers = {}, .body = {}}, kLong);
    REQUIRE(response.ok());
    const size_t at = response->body.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? 0 : std::stod(response->body.substr(at + series.size() + 2));
  }

  testing::TestFolder folder;
  testing::TestAuthority authority, proxies{"front proxy"}, strangers{"strangers"};
  FakeKubeApi api{{.clock = &Clock::Real(), .streams_wait = true}};
  testing::FakePictureSource pictures;
  std::unique_ptr<Server> server;
};

TEST_CASE("the front proxy may speak for others, and nobody else") {
  World world;
  REQUIRE(world.Comes(200, &world.proxies));
  CHECK(world.Ask(nullptr) == 401);
  CHECK(world.Ask(&world.proxies, "somebody-else") == 401);
  // A certificate of a stranger is not even listened to, or it is nobody's.
  const int stranger = world.Ask(&world.strangers);
  CHECK((stranger == 0 || stranger == 401));
  CHECK(world.Ask(nullptr, "", "/readyz") == 200);
}

TEST_CASE("a new authority of the front proxy counts from then on, and the old one no longer") {
  World world;
  REQUIRE(world.Comes(200, &world.proxies));
  const testing::TestAuthority renewed("renewed front proxy");
  world.PublishProxy(renewed);
  REQUIRE(world.Comes(200, &renewed));
  CHECK(world.Ask(&world.proxies) != 200);
}

TEST_CASE("metrics tell of the requests, the picture and the end of the certificate") {
  World world;
  REQUIRE(world.Comes(200, &world.proxies));
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", world.server->metrics_port());
  auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  HttpRequest request;
  request.target = "/metrics";
  const std::string text = (*client)->Call(request, absl::Seconds(20))->body;
  for (const char* part :
       {"koord_queue_visibility_requests_total{code=\"200\",what=\"queues/queueunits\"} 1",
        "koord_queue_visibility_connected 1", "koord_queue_visibility_snapshot_age_seconds",
        "koord_queue_visibility_build_info", "koord_queue_certificate_expiry_timestamp_seconds{use=\"https\"} "}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a bad parameter is answered 400 with its name") {
  World world;
  REQUIRE(world.Comes(200, &world.proxies));
  const auto client = world.Client(&world.proxies);
  for (const char* query : {"limit=-1", "limit=all", "limit=9223372036854775808", "offset=1.5", "offset=%00",
                            "phase=Asleep", "phase=%ff%fe", "limit=x&limit=2"}) {
    CAPTURE(query);
    const auto response = client->Call(AsMaster(absl::StrCat(kUnits, "?", query)), kLong);
    REQUIRE(CodeOf(response) == 400);
    const absl::StatusOr<Json> body = ParseJson(response->body);
    REQUIRE(body.ok());
    const std::string name = std::string(query).substr(0, std::string(query).find('='));
    CHECK(absl::StartsWith(StringAt(*body, {"message"}), name + ": "));
  }
}

TEST_CASE("of a thousand clients at once each is served or refused, and later ones are served") {
  constexpr int kClients = 1000, kLimit = 200;
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  files.rlim_cur = files.rlim_max;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  Config config;
  config.connection_limit = kLimit;
  const World world(config);
  REQUIRE(world.Comes(200, &world.proxies));
  const std::string open = R"(koord_queue_http_connections{listener="api"})";
  REQUIRE(Becomes([&] { return world.Metric(open) == 0; }));

  std::atomic<int> served = 0, told = 0, dropped = 0, other = 0;
  std::latch all_have_asked(kClients);
  const testing::TestCertificate certificate =
      world.proxies.IssueClient({.common_name = "front-proxy-client", .names = {}, .organizations = {}});
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      HttpClientOptions options;
      options.url = absl::StrCat("https://localhost:", world.server->port());
      options.ca_pem = world.authority.certificate_pem();
      options.connect_timeout = kLong;
      options.client_certificate_pem = certificate.certificate_pem;
      options.client_key_pem = certificate.key_pem;
      const auto client = NewHttpClient(options);
      const int code = client.ok() ? CodeOf((*client)->Call(AsMaster(kUnits), kLong)) : -1;
      ++(code == 200 ? served : code == 503 ? told : code == 0 ? dropped : other);
      all_have_asked.arrive_and_wait();  // nobody gives his connection back before
    });
  }
  for (std::thread& client : clients) client.join();
  INFO("served " << served << ", told 503 " << told << ", dropped " << dropped);
  CHECK(served >= kLimit);  // more: whoever has his answer is quiet, and may lose his place to another
  CHECK(other == 0);
  CHECK(served + told + dropped == kClients);
  double over = 0;
  for (const char* answer : {"place", "503", "none"}) {
    over += world.Metric(
        absl::StrCat("koord_queue_http_connections_over_limit_total{answer=\"", answer, "\",listener=\"api\"}"));
  }
  CHECK(over >= kClients - kLimit);
  CHECK(world.Comes(200, &world.proxies));
  CHECK(Becomes([&] { return world.Metric(open) == 0; }));
}

TEST_CASE("clients that are slow, or leave in the middle of an answer, do not stop the others") {
  constexpr int kSlow = 4, kUnitsInList = 20'000;
  Config config;
  config.threads = 2;
  config.long_answers = kSlow;
  World world(config, kUnitsInList);
  REQUIRE(world.Comes(200, &world.proxies));
  // Some never finish their handshake, others never read what they asked for.
  std::vector<std::unique_ptr<testing::RawPeer>> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(testing::RawPeer::Connect(world.server->port()));
    silent.back()->Send("\x16\x03\x01");
  }
  std::vector<std::unique_ptr<HttpClient>> readers;
  std::vector<std::unique_ptr<HttpStream>> answers;
  REQUIRE(Becomes([&] {  // earlier long answers have ended
    readers.push_back(world.Client(&world.proxies));
    auto answer = readers.back()->Open(AsMaster(kUnits), kLong);
    if (answer.ok() && (*answer)->code() == 200) answers.push_back(*std::move(answer));
    return answers.size() == kSlow;
  }));
  const auto fresh = world.Client(&world.proxies);
  CHECK(CodeOf(fresh->Call(AsMaster(kUnits), kLong)) == 429);
  const absl::Time asked = Clock::Real().TimeNow();
  for (int i = 0; i < 20; ++i) CHECK(CodeOf(fresh->Call(AsMaster(kUnits + "?limit=100&offset=1000"), kLong)) == 200);
  CHECK(Clock::Real().TimeNow() - asked < absl::Seconds(20));
  // They leave: each gives its place back.
  answers.clear();
  readers.clear();
  absl::StatusOr<HttpResponse> whole;
  REQUIRE(Becomes([&] { return CodeOf(whole = fresh->Call(AsMaster(kUnits), kLong)) == 200; }));
  const absl::StatusOr<Json> list = ParseJson(whole->body);
  REQUIRE(list.ok());
  CHECK(Find(*list, {"items"})->get_array().size() == kUnitsInList);
  CHECK(Becomes(
      [&] { return world.Metric(R"(koord_queue_http_answers_cut_off_total{listener="api",reason="gone"})") >= 1; }));
  CHECK(world.Metric(R"(koord_queue_visibility_requests_total{code="429",what="queues/queueunits"})") >= 1);
}

TEST_CASE("a certificate that has ended is not accepted, and one in its place is, without a restart") {
  const World world;
  REQUIRE(world.Comes(200, &world.proxies));
  const testing::TestCertificate ended = world.authority.IssueServer({.common_name = "localhost",
                                                                      .names = {"localhost"},
                                                                      .organizations = {},
                                                                      .valid_from = -absl::Hours(2),
                                                                      .valid_until = -absl::Hours(1)});
  world.folder.Write("server.key", ended.key_pem);
  world.folder.Write("server.crt", ended.certificate_pem);
  CHECK(world.Ask(&world.proxies) == 0);
  const testing::TestCertificate renewed = testing::LocalhostCertificate(world.authority);
  world.folder.Write("server.key", renewed.key_pem);
  world.folder.Write("server.crt", renewed.certificate_pem);
  CHECK(world.Ask(&world.proxies) == 200);
}

const KubeResource kSecrets{"", "v1", "secrets"};
const KubeResource kServices{"", "v1", "services"};
const KubeResource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};
const char kApiService[] = "v1alpha1.visibility.koord-queue.x-k8s.io";
const ObjectKey kSecret{"koord-queue", "koord-queue-visibility-ca"};
const char kHost[] = "koord-queue-visibility-server.koord-queue.svc";

// A server with an authority of its own, of which `left` is left at `start`.
struct OwnAuthority {
  OwnAuthority(absl::Time start, absl::Duration left) : clock(start) {
    api.AddResource(kConfigMaps, FakeResource());
    REQUIRE(api.Create(kConfigMaps, "kube-system", FrontProxyConfig(proxies.certificate_pem())).ok());
    Following following;
    following.picture = TeamPicture(3);
    pictures.Set(following);
    for (const KubeResource& resource : {kSecrets, kServices, kApiServices}) {
      FakeResource options;
      options.namespaced = resource.plural != "apiservices";
      api.AddResource(resource, options);
    }
    REQUIRE(api.Create(kApiServices, "",
                       {{"apiVersion", "apiregistration.k8s.io/v1"},
                        {"kind", "APIService"},
                        {"metadata", {{"name", kApiService}}},
                        {"spec", JsonObject()}})
                .ok());
    CertificateRequest request;
    request.common_name = "old authority";
    request.not_before = start - absl::Hours(24);
    request.not_after = start + left;
    const auto authority = MakeAuthority(request);
    REQUIRE(authority.ok());
    REQUIRE(api.Create(kSecrets, "koord-queue",
                       {{"apiVersion", "v1"},
                        {"kind", "Secret"},
                        {"metadata", {{"name", "koord-queue-visibility-ca"}, {"namespace", "koord-queue"}}},
                        {"data",
                         {{"ca.crt", absl::Base64Escape(authority->certificate_pem)},
                          {"ca.key", absl::Base64Escape(authority->key_pem)}}}})
                .ok());
    Config config;
    config.address = config.metrics_address = "127.0.0.1:0";
    auto started = Server::Start(config, {&clock, &api, &pictures, absl::Milliseconds(20)});
    REQUIRE(started.ok());
    server = *std::move(started);
  }
  // The authorities in the APIService, the newest first.
  std::vector<std::string> Trusted() {
    std::string text;
    const Json service = *api.Get(kApiServices, {"", kApiService});
    return absl::Base64Unescape(StringAt(service, {"spec", "caBundle"}), &text) ? SplitCertificates(text)
                                                                                : std::vector<std::string>();
  }
  // Whether who trusts `bundle` is answered.
  bool Answers(const std::string& bundle) const {
    HttpClientOptions options;
    options.url = absl::StrCat("https://127.0.0.1:", server->port());
    options.ca_pem = bundle;
    options.server_name = kHost;
    const auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    return CodeOf((*client)->Call(AsMaster("/livez"), kLong)) == 200;
  }

  void SpoilSecret(const std::string& certificates, const std::string& key) {
    Json secret = *api.Get(kSecrets, kSecret);
    secret.as_object()["data"] = {{"ca.crt", absl::Base64Escape(certificates)}, {"ca.key", absl::Base64Escape(key)}};
    REQUIRE(api.Update(kSecrets, Subresource::kNone, secret).ok());
  }
  // A GET of the port of metrics and health: the code and the text.
  std::pair<int, std::string> Ask(const std::string& target) const {
    HttpClientOptions options;
    options.url = absl::StrCat("http://127.0.0.1:", server->metrics_port());
    const auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    const auto response = (*client)->Call({.method = "GET", .target = target, .headers = {}, .body = {}}, kLong);
    REQUIRE(response.ok());
    return {response->code, response->body};
  }
  // Waits until /readyz says this of a check; returns its code.
  int Comes(const std::string& words) const {
    std::pair<int, std::string> last;
    const bool came = Becomes([&] { return absl::StrContains((last = Ask("/readyz?verbose")).second, words); });
    CAPTURE(words, last.second);
    CHECK(came);
    return last.first;
  }
  bool InOrder(const std::string& part) const {
    const std::string series = absl::StrCat("\nkoord_queue_visibility_in_order{part=\"", part, "\"} ");
    const std::string text = Ask("/metrics").second;
    CHECK(absl::StrContains(text, series));
    return absl::StrContains(text, absl::StrCat(series, "1"));
  }

  SimulatedClock clock;
  testing::TestAuthority proxies{"front proxy"};
  FakeKubeApi api{{.clock = &Clock::Real(), .streams_wait = true}};
  testing::FakePictureSource pictures;
  std::unique_ptr<Server> server;
};

TEST_CASE("whatever befalls the Secret or the APIService, a replica is ready as long as its certificate is good") {
  const absl::Time start = Clock::Real().TimeNow();
  OwnAuthority world(start, absl::Hours(24 * 365 * 4));
  CHECK(world.Comes("readyz check passed") == 200);
  const std::vector<std::string> trusted = world.Trusted();
  REQUIRE(trusted.size() == 1);
  CHECK(world.InOrder("certificate"));
  const Json good = *world.api.Get(kSecrets, kSecret);
  std::string trouble;
  SECTION("the Secret has lost its certificates") {
    world.SpoilSecret("", "");
    trouble = "no certificate in ca.crt";
  }
  SECTION("the key in the Secret is garbage") {
    world.SpoilSecret(trusted[0], "garbage");
    trouble = "the authority's certificate or key is not PEM";
  }
  SECTION("the right to read the Secret was lost") {
    world.api.set_faults([](const FakeCall& call) {
      return FakeFault{call.resource == kSecrets ? FakeFault::Kind::kInternal : FakeFault::Kind::kNone};
    });
    trouble = "secret koord-queue/koord-queue-visibility-ca";
  }
  SECTION("the APIService is gone") {
    REQUIRE(world.api.Delete({kApiServices, {"", kApiService}}).ok());
    trouble = "get apiservice";
  }
  CHECK(world.Comes("[+]certificate ok: the one in use is good until ") == 200);
  CHECK(world.Comes(trouble) == 200);
  CHECK(world.Ask("/readyz").first == 200);
  CHECK_FALSE(world.InOrder("certificate"));
  CHECK(world.Answers(trusted[0]));
  // Nobody mended it for 30 days. Without an APIService a new certificate is issued all the same.
  world.clock.Advance(absl::Hours(24 * 31));
  if (trouble == "get apiservice") {
    CHECK(world.Comes("[+]certificate ok: the one in use is good until ") == 200);
  } else {
    CHECK(world.Comes("[-]certificate failed: the one in use ended at ") == 503);
    world.api.set_faults(nullptr);
    Json mended = *world.api.Get(kSecrets, kSecret);
    mended.as_object()["data"] = good.at("data");
    REQUIRE(world.api.Update(kSecrets, Subresource::kNone, mended).ok());
    CHECK(world.Comes("[+]certificate ok\n") == 200);
    CHECK(world.InOrder("certificate"));
  }
}

TEST_CASE("a Secret that is deleted is made anew, and the API server told") {
  OwnAuthority world(Clock::Real().TimeNow(), absl::Hours(24 * 365 * 4));
  CHECK(world.Comes("readyz check passed") == 200);
  const std::vector<std::string> before = world.Trusted();
  REQUIRE(world.api.Delete({kSecrets, kSecret}).ok());
  REQUIRE(Becomes([&] { return world.Trusted() != before; }));
  CHECK(Becomes([&] { return world.Answers(world.Trusted()[0]); }));
  CHECK(world.Ask("/readyz").first == 200);
}

TEST_CASE("the front proxy's authority stays in force when its ConfigMap is spoiled or gone, and that is told") {
  OwnAuthority world(Clock::Real().TimeNow(), absl::Hours(24 * 365 * 4));
  CHECK(world.Comes("readyz check passed") == 200);
  const ObjectKey key{"kube-system", "extension-apiserver-authentication"};
  const Json good = *world.api.Get(kConfigMaps, key);
  SECTION("spoiled") {
    Json spoiled = good;
    spoiled.as_object()["data"].as_object()["requestheader-client-ca-file"] = "garbage";
    REQUIRE(world.api.Update(kConfigMaps, Subresource::kNone, spoiled).ok());
    CHECK(world.Comes("[+]front-proxy ok: configmap kube-system/extension-apiserver-authentication: requestheader") ==
          200);
    CHECK(Becomes([&] { return !world.InOrder("front-proxy"); }));
    Json mended = *world.api.Get(kConfigMaps, key);
    mended.as_object()["data"] = good.at("data");
    REQUIRE(world.api.Update(kConfigMaps, Subresource::kNone, mended).ok());
  }
  SECTION("gone") {
    REQUIRE(world.api.Delete({kConfigMaps, key}).ok());
    CHECK(world.Comes("[+]front-proxy ok: configmap kube-system/extension-apiserver-authentication: it is gone") ==
          200);
    CHECK(Becomes([&] { return !world.InOrder("front-proxy"); }));
    REQUIRE(world.api.Create(kConfigMaps, "kube-system", FrontProxyConfig(world.proxies.certificate_pem())).ok());
  }
  CHECK(world.Comes("[+]front-proxy ok\n") == 200);
  CHECK(Becomes([&] { return world.InOrder("front-proxy"); }));
}

TEST_CASE("an authority of our own is renewed, and whoever follows the APIService never notices") {
  // A third of five years is left in half a day; a day passes.
  const absl::Time start = Clock::Real().TimeNow() - absl::Hours(24);
  OwnAuthority world(start, absl::Hours(24 * 365 * 5) / 3 + absl::Hours(12));
  REQUIRE(Becomes([&] { return world.Trusted().size() == 1; }));
  const std::string old_authority = world.Trusted()[0];
  REQUIRE(Becomes([&] { return world.Answers(old_authority); }));
  world.clock.SetTime(start + absl::Hours(24));
  REQUIRE(Becomes([&] { return world.Trusted().size() == 2; }));
  const std::vector<std::string> both = world.Trusted();
  CHECK(both[1] == old_authority);
  CHECK(world.Answers(both[0] + both[1]));
  // The old certificate may still be shown, until time goes on.
  world.clock.Advance(absl::Minutes(2));
  CHECK(Becomes([&] {
    CHECK(world.Answers(both[0] + both[1]));
    return world.Answers(both[0]);
  }));
  CHECK_FALSE(world.Answers(old_authority));
}

}  // namespace
}  // namespace kq::visibility
