#include "libs/process/api_clients.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/http/http_server.h"
#include "libs/http/testing/certificates.h"

namespace kq {
namespace {

// An API server that has every object, and a kubeconfig that leads to it.
class Cluster {
 public:
  Cluster() {
    auto server = StartHttpServer({}, [this](const HttpRequest& request, const HttpPeer&) {
      ++(absl::StrContains(request.target, "/leases/") ? leases : others);
      HttpResponse response;
      response.headers.Add("Content-Type", "application/json");
      response.body = R"({"metadata":{"namespace":"ns","name":"x","resourceVersion":"1"}})";
      return response;
    });
    REQUIRE(server.ok());
    server_ = *std::move(server);
    kubeconfig_ = folder_.Write(
        "kubeconfig",
        absl::StrCat(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: "
            "u}}]\nusers: [{name: u, user: {token: t}}]\nclusters: [{name: c, cluster: {server: '",
            "http://127.0.0.1:", server_->port(), "'}}]\n"));
  }

  const std::string& kubeconfig() const { return kubeconfig_; }
  std::atomic<int> leases{0}, others{0};

 private:
  const testing::TestFolder folder_;
  std::string kubeconfig_;
  std::unique_ptr<HttpServer> server_;
};

TEST_CASE("field report 148: the lease does not wait for a rate that others have used up") {
  Cluster cluster;
  ApiServerSettings settings;
  settings.kubeconfig = cluster.kubeconfig();
  settings.qps = 0.001;
  settings.burst = 1;
  ApiClientsOptions options;
  options.program = "test";
  options.renew_deadline = absl::Seconds(10);
  const absl::StatusOr<ApiClients> clients = NewApiClients(settings, Environment(), options);
  INFO(clients.status());
  REQUIRE(clients.ok());

  const KubeResource units{"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
  const KubeResource leases{"coordination.k8s.io", "v1", "leases"};
  CHECK(clients->api->Get(units, {"ns", "x"}).ok());
  // The next turn is in 1000 s, longer than any call waits.
  CHECK(absl::IsUnavailable(clients->api->Get(units, {"ns", "x"}).status()));
  CHECK(cluster.others == 1);
  for (int i = 0; i < 20; ++i) {
    const absl::StatusOr<Json> lease = clients->lease_api->Get(leases, {"ns", "x"});
    INFO(lease.status());
    REQUIRE(lease.ok());
  }
  CHECK(cluster.leases == 20);
}

}  // namespace
}  // namespace kq
