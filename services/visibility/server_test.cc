// The server over real TLS: who may speak for others, and who may not.
#include "services/visibility/server.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "libs/http/http_client.h"
#include "libs/http/testing/certificates.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "libs/scheduler_client/testing/fake_picture_source.h"
#include "services/visibility/testing/pictures.h"

namespace kq::visibility {
namespace {

const std::string kUnits = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1/queues/team-a/queueunits";
const KubeResource kConfigMaps{"", "v1", "configmaps"};

// Reviews that allow nobody but masters; the ConfigMap of the front proxy; the
// certificate in files.
struct World {
  World() {
    api.AddResource(kConfigMaps, FakeResource());
    PublishProxy(proxies);
    Following following;
    following.picture = TeamPicture(3);
    following.heard = Clock::Real().TimeNow() + absl::Hours(1);
    following.connection = absl::OkStatus();
    pictures.Set(following);
    const testing::TestCertificate own = testing::LocalhostCertificate(authority);
    Config config;
    config.address = config.metrics_address = "127.0.0.1:0";
    config.tls_certificate_file = folder.Write("server.crt", own.certificate_pem);
    config.tls_key_file = folder.Write("server.key", own.key_pem);
    auto started = Server::Start(config, {&Clock::Real(), &api, &pictures});
    REQUIRE(started.ok());
    server = *std::move(started);
  }
  void PublishProxy(const testing::TestAuthority& proxy) {
    const Json object = {{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", {{"name", "extension-apiserver-authentication"}, {"namespace", "kube-system"}}},
                         {"data",
                          {{"requestheader-client-ca-file", proxy.certificate_pem()},
                           {"requestheader-allowed-names", R"(["front-proxy-client"])"},
                           {"requestheader-username-headers", R"(["X-Remote-User"])"},
                           {"requestheader-group-headers", R"(["X-Remote-Group"])"}}}};
    const absl::StatusOr<Json> known = api.Get(kConfigMaps, {"kube-system", "extension-apiserver-authentication"});
    if (!known.ok()) {
      REQUIRE(api.Create(kConfigMaps, "kube-system", object).ok());
    } else {
      Json update = *known;
      update.as_object()["data"] = object.at("data");
      REQUIRE(api.Update(kConfigMaps, Subresource::kNone, update).ok());
    }
  }
  // The code of an answer to a master's request, made with a certificate of `issuer`;
  // 0 if there is none.
  int Ask(const testing::TestAuthority* issuer, const std::string& common_name = "front-proxy-client",
          const std::string& path = kUnits) {
    HttpClientOptions options;
    options.url = absl::StrCat("https://localhost:", server->port());
    options.ca_pem = authority.certificate_pem();
    if (issuer != nullptr) {
      testing::TestCertificateOptions wanted;
      wanted.common_name = common_name;
      const testing::TestCertificate client = issuer->IssueClient(wanted);
      options.client_certificate_pem = client.certificate_pem;
      options.client_key_pem = client.key_pem;
    }
    auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    HttpRequest request;
    request.target = path;
    request.headers.Add("X-Remote-User", "root");
    request.headers.Add("X-Remote-Group", "system:masters");
    const auto response = (*client)->Call(request, absl::Seconds(20));
    return response.ok() ? response->code : 0;
  }
  // Asks until the code is `want`: what was published takes a moment.
  bool Comes(int want, const testing::TestAuthority* issuer) {
    for (int i = 0; i < 500; ++i) {
      if (Ask(issuer) == want) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
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
  for (const char* part : {"koord_queue_visibility_requests_total{code=\"200\",what=\"queues/queueunits\"} 1",
                           "koord_queue_visibility_connected 1", "koord_queue_visibility_snapshot_age_seconds",
                           "koord_queue_visibility_build_info",
                           "# TYPE koord_queue_visibility_certificate_expiry_timestamp_seconds gauge"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

}  // namespace
}  // namespace kq::visibility
