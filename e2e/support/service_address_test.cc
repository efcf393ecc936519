#include "e2e/support/service_address.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "e2e/support/test_cluster.h"
#include "libs/http/http_client.h"
#include "libs/http/http_server.h"

namespace kq::e2e {
namespace {

// Says who it is.
std::unique_ptr<HttpServer> Named(const std::string& name) {
  auto server = StartHttpServer({}, [name](const HttpRequest&, const HttpPeer&) {
    HttpResponse response;
    response.body = name;
    return response;
  });
  REQUIRE(server.ok());
  return *std::move(server);
}

std::unique_ptr<HttpClient> ClientOf(const std::string& address) {
  HttpClientOptions options;
  options.url = absl::StrCat("http://", address);
  auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  return *std::move(client);
}

std::string Ask(HttpClient& client) {
  HttpRequest request;
  request.target = "/";
  const absl::StatusOr<HttpResponse> answer = client.Call(request, absl::Seconds(10));
  return answer.ok() ? answer->body : "no answer";
}

TEST_CASE("an address leads new connections to whoever is behind it, and leaves open ones where they are") {
  const auto first = Named("first"), second = Named("second");
  std::atomic<int> behind = 0;
  const ServiceAddress service([&] { return behind.load(); });
  const auto leads_to = [&](int port) {
    behind = port;
    return Await(absl::Seconds(10), [&] { return service.target() == port; });
  };
  CHECK(Ask(*ClientOf(service.address())) == "no answer");
  REQUIRE(leads_to(first->port()));
  const auto early = ClientOf(service.address());
  CHECK(Ask(*early) == "first");
  const absl::Time switched = service.switched();
  REQUIRE(leads_to(second->port()));
  CHECK(service.switched() > switched);
  CHECK(Ask(*ClientOf(service.address())) == "second");
  CHECK(Ask(*early) == "first");
  second->Stop(absl::ZeroDuration());
  CHECK(Ask(*ClientOf(service.address())) == "no answer");
}

}  // namespace
}  // namespace kq::e2e
