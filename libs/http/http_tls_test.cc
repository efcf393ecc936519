// TLS between HttpClient and HttpServer, with certificates made on the spot.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/http/http_client.h"
#include "libs/http/http_server.h"
#include "libs/http/testing/certificates.h"
#include "libs/http/testing/raw_peer.h"

namespace kq {
namespace {

using testing::LocalhostCertificate;
using testing::TestAuthority;
using testing::TestCertificate;
using testing::TestCertificateOptions;
using testing::TestFolder;

constexpr absl::Duration kLong = absl::Seconds(30);  // never waited for in a test that passes

// A server that answers with the name of its client.
struct TlsServer {
  explicit TlsServer(const TestCertificate& certificate, const std::string& client_ca_pem = "",
                     HttpServerOptions options = {}) {
    options.certificate_file = folder.Write("tls.crt", certificate.certificate_pem);
    options.key_file = folder.Write("tls.key", certificate.key_pem);
    if (!client_ca_pem.empty()) options.client_ca_file = folder.Write("ca.crt", client_ca_pem);
    auto started = StartHttpServer(options, [](const HttpRequest& request, const HttpPeer& peer) {
      return TextResponse(200, absl::StrCat("name=", peer.common_name, " body=", request.body.size()));
    });
    REQUIRE(started.ok());
    server = *std::move(started);
  }
  std::string Url(const std::string& host = "127.0.0.1") const {
    return absl::StrCat("https://", host, ":", server->port());
  }
  TestFolder folder;
  std::unique_ptr<HttpServer> server;
};

absl::StatusOr<HttpResponse> Ask(HttpClientOptions options, const std::string& body = "") {
  auto client = NewHttpClient(std::move(options));
  if (!client.ok()) return client.status();
  HttpRequest request;
  request.method = "POST";
  request.body = body;
  return (*client)->Call(request, kLong);
}

HttpClientOptions Trusting(const std::string& url, const TestAuthority& authority) {
  HttpClientOptions options;
  options.url = url;
  options.ca_pem = authority.certificate_pem();
  return options;
}

TEST_CASE("a certificate of a known authority for the right name is accepted") {
  const TestAuthority authority;
  const TlsServer server(LocalhostCertificate(authority));
  CHECK(Ask(Trusting(server.Url("127.0.0.1"), authority)).ok());  // an address among the names
  CHECK(Ask(Trusting(server.Url("localhost"), authority)).ok());
  // The system's authorities do not know this one, unless nobody looks.
  HttpClientOptions options;
  options.url = server.Url();
  CHECK(absl::IsUnavailable(Ask(options).status()));
  options.skip_tls_verify = true;
  CHECK(Ask(options).ok());
}

TEST_CASE("large bodies pass through TLS in both directions") {
  const TestAuthority authority;
  HttpServerOptions server_options;
  server_options.body_limit_bytes = 8 << 20;
  const TlsServer server(LocalhostCertificate(authority), "", server_options);
  const auto response = Ask(Trusting(server.Url(), authority), std::string(5 << 20, 'x'));
  REQUIRE(response.ok());
  CHECK(response->body == absl::StrCat("name= body=", 5 << 20));
}

TEST_CASE("a certificate that does not fit is refused before anything is sent") {
  const TestAuthority authority, stranger("stranger");
  TestCertificateOptions leaf;
  leaf.common_name = "localhost";  // does not count as a host name
  leaf.names = {"other.example", "10.9.8.7"};
  HttpClientOptions options;
  std::string want;
  SECTION("another authority") {
    const TlsServer server(LocalhostCertificate(stranger));
    const absl::Status status = Ask(Trusting(server.Url(), authority)).status();
    CHECK(absl::IsUnavailable(status));
    CHECK(absl::StrContains(status.message(), "certificate"));
  }
  SECTION("another name, and the name that was asked for") {
    const TlsServer server(authority.IssueServer(leaf));
    CHECK(absl::IsUnavailable(Ask(Trusting(server.Url("localhost"), authority)).status()));
    options = Trusting(server.Url("localhost"), authority);
    options.server_name = "other.example";
    CHECK(Ask(options).ok());
  }
  SECTION("another address, and the address that was asked for") {
    const TlsServer server(authority.IssueServer(leaf));
    const absl::Status status = Ask(Trusting(server.Url("127.0.0.1"), authority)).status();
    CHECK(absl::IsUnavailable(status));
    CHECK(absl::StrContains(status.message(), "IP address mismatch"));
    options = Trusting(server.Url("127.0.0.1"), authority);
    options.server_name = "10.9.8.7";
    CHECK(Ask(options).ok());
  }
  SECTION("expired") {
    leaf.names = {"127.0.0.1"};
    leaf.valid_from = -absl::Hours(2);
    leaf.valid_until = -absl::Hours(1);
    const TlsServer server(authority.IssueServer(leaf));
    const absl::Status status = Ask(Trusting(server.Url(), authority)).status();
    CHECK(absl::IsUnavailable(status));
    CHECK(absl::StrContains(status.message(), "expired"));
  }
  SECTION("not valid yet") {
    leaf.names = {"127.0.0.1"};
    leaf.valid_from = absl::Hours(1);
    const TlsServer server(authority.IssueServer(leaf));
    CHECK(absl::StrContains(Ask(Trusting(server.Url(), authority)).status().message(), "not yet valid"));
  }
  SECTION("made for a client") {
    leaf.names = {"127.0.0.1"};
    const TlsServer server(authority.IssueClient(leaf));
    CHECK(absl::IsUnavailable(Ask(Trusting(server.Url(), authority)).status()));
  }
}

TEST_CASE("plain HTTP and TLS do not understand each other, and say so") {
  const TestAuthority authority;
  const TlsServer tls(LocalhostCertificate(authority));
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", tls.server->port());
  CHECK(Ask(options).status().code() == absl::StatusCode::kUnknown);
  auto plain = StartHttpServer({}, [](const HttpRequest&, const HttpPeer&) { return TextResponse(200); });
  REQUIRE(plain.ok());
  CHECK(absl::IsUnavailable(Ask(Trusting(absl::StrCat("https://127.0.0.1:", (*plain)->port()), authority)).status()));
}

TEST_CASE("the server knows the name in a verified client certificate") {
  const TestAuthority servers("servers"), clients("clients"), stranger("stranger");
  const TlsServer server(LocalhostCertificate(servers), clients.certificate_pem());
  TestCertificateOptions user;
  user.common_name = "front-proxy-client";
  user.organizations = {"proxies"};
  HttpClientOptions options = Trusting(server.Url(), servers);
  SECTION("none") { CHECK(Ask(options)->body == "name= body=0"); }
  SECTION("of the right authority") {
    const TestCertificate certificate = clients.IssueClient(user);
    options.client_certificate_pem = certificate.certificate_pem;
    options.client_key_pem = certificate.key_pem;
    const auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    for (int i = 0; i < 3; ++i) CHECK((*client)->Call(HttpRequest(), kLong)->body == "name=front-proxy-client body=0");
    // A session that is resumed keeps the name.
    options.connections = 0;
    const auto anew = NewHttpClient(options);
    REQUIRE(anew.ok());
    for (int i = 0; i < 5; ++i) CHECK((*anew)->Call(HttpRequest(), kLong)->body == "name=front-proxy-client body=0");
  }
  SECTION("of another authority, expired, or made for a server: turned away, and nothing was done") {
    TestCertificate certificate;
    SECTION("another authority") { certificate = stranger.IssueClient(user); }
    SECTION("made for a server") { certificate = clients.IssueServer(user); }
    SECTION("expired") {
      user.valid_until = -absl::Minutes(1);
      certificate = clients.IssueClient(user);
    }
    options.client_certificate_pem = certificate.certificate_pem;
    options.client_key_pem = certificate.key_pem;
    const absl::Status status = Ask(options).status();
    CAPTURE(status.message());
    CHECK(absl::IsUnavailable(status));
  }
}

TEST_CASE("a new certificate counts without a restart and without a failed request") {
  const TestAuthority old_authority("old"), new_authority("new");
  TlsServer server(LocalhostCertificate(old_authority));
  HttpClientOptions options;
  options.url = server.Url();
  options.ca_pem = old_authority.certificate_pem() + new_authority.certificate_pem();

  std::atomic<bool> stop{false};
  std::atomic<int> failed{0}, answered{0};
  std::vector<std::thread> load;
  for (int t = 0; t < 4; ++t) {
    options.connections = t % 2 == 0 ? 0 : 4;  // new connections, and kept ones
    auto client = NewHttpClient(options);
    REQUIRE(client.ok());
    load.emplace_back([&, client = std::shared_ptr<HttpClient>(*std::move(client))] {
      while (!stop) ++((client->Call(HttpRequest(), kLong).ok()) ? answered : failed);
    });
  }
  const auto wait_for_load = [&] {
    for (const int until = answered + 20; answered < until && failed == 0;) std::this_thread::yield();
  };
  wait_for_load();
  for (int round = 0; round < 6; ++round) {
    const TestCertificate fresh = LocalhostCertificate(round % 2 == 0 ? new_authority : old_authority);
    server.folder.Write("tls.crt", fresh.certificate_pem);  // does not fit the key yet
    wait_for_load();
    server.folder.Write("tls.key", fresh.key_pem);
    wait_for_load();
    const bool is_new = round % 2 == 0;
    CHECK(Ask(Trusting(server.Url(), is_new ? new_authority : old_authority)).ok());
    CHECK(absl::IsUnavailable(Ask(Trusting(server.Url(), is_new ? old_authority : new_authority)).status()));
  }
  stop = true;
  for (std::thread& thread : load) thread.join();
  CHECK(failed == 0);
}

TEST_CASE("a new client authority counts without a restart") {
  const TestAuthority servers("servers"), before("before"), after("after");
  TlsServer server(LocalhostCertificate(servers), before.certificate_pem());
  TestCertificateOptions user;
  user.common_name = "anna";
  const TestCertificate certificate = after.IssueClient(user);
  HttpClientOptions options = Trusting(server.Url(), servers);
  options.client_certificate_pem = certificate.certificate_pem;
  options.client_key_pem = certificate.key_pem;
  CHECK(absl::IsUnavailable(Ask(options).status()));
  server.folder.Write("ca.crt", before.certificate_pem() + after.certificate_pem());
  CHECK(Ask(options)->body == "name=anna body=0");
  // An empty file does not mean that everybody is let in unchecked.
  server.folder.Write("ca.crt", "");
  CHECK(Ask(options)->body == "name=anna body=0");
}

TEST_CASE("a connection of an authority that counts no more gets one answer, and then ends") {
  const TestAuthority servers("servers"), before("before"), after("after");
  TlsServer server(LocalhostCertificate(servers), before.certificate_pem());
  TestCertificateOptions user;
  user.common_name = "anna";
  const TestCertificate certificate = before.IssueClient(user);
  HttpClientOptions options = Trusting(server.Url(), servers);
  options.client_certificate_pem = certificate.certificate_pem;
  options.client_key_pem = certificate.key_pem;
  const auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  for (int i = 0; i < 3; ++i) REQUIRE((*client)->Call(HttpRequest(), kLong).ok());
  CHECK((*client)->ConnectionsOpened() == 1);
  server.folder.Write("ca.crt", after.certificate_pem());
  CHECK((*client)->Call(HttpRequest(), kLong).ok());
  CHECK_FALSE((*client)->Call(HttpRequest(), kLong).ok());
}

TEST_CASE("bad certificates are refused at the start, by name") {
  const TestAuthority authority;
  const TestCertificate good = LocalhostCertificate(authority), other = LocalhostCertificate(authority);
  TestFolder folder;
  HttpServerOptions options;
  options.certificate_file = folder.Write("tls.crt", good.certificate_pem);
  options.key_file = folder.Write("tls.key", good.key_pem);
  std::string want;
  SECTION("no such file") {
    options.key_file = folder.Path("absent");
    want = "absent";
  }
  SECTION("a key of another certificate") {
    folder.Write("tls.key", other.key_pem);
    want = "key";
  }
  SECTION("no certificate in the file") {
    folder.Write("tls.crt", "nonsense");
    want = "tls.crt";
  }
  SECTION("a damaged certificate") {
    folder.Write("tls.crt", good.certificate_pem.substr(0, 200) + "\n-----END CERTIFICATE-----\n");
    want = "tls.crt";
  }
  SECTION("no authority in the file") {
    options.client_ca_file = folder.Write("ca.crt", "");
    want = "ca.crt";
  }
  const auto handle = [](const HttpRequest&, const HttpPeer&) { return TextResponse(200); };
  const absl::Status status = StartHttpServer(options, handle).status();
  CAPTURE(status.message());
  CHECK(absl::IsInvalidArgument(status));
  CHECK(absl::StrContains(status.message(), want));

  HttpClientOptions client;
  client.url = "https://127.0.0.1:1";
  client.ca_pem = "nonsense";
  CHECK(absl::IsInvalidArgument(NewHttpClient(client).status()));
  client.ca_pem = authority.certificate_pem();
  client.client_certificate_pem = good.certificate_pem;
  CHECK(absl::IsInvalidArgument(NewHttpClient(client).status()));
  client.client_key_pem = other.key_pem;
  CHECK(absl::IsInvalidArgument(NewHttpClient(client).status()));
}

TEST_CASE("a stream over TLS waits, reads and is cancelled like a plain one") {
  const TestAuthority authority;
  TestFolder folder;
  const TestCertificate certificate = LocalhostCertificate(authority);
  HttpServerOptions options;
  options.certificate_file = folder.Write("tls.crt", certificate.certificate_pem);
  options.key_file = folder.Write("tls.key", certificate.key_pem);
  auto server = StartHttpServer(options, [](const HttpRequest&, const HttpPeer&) {
    HttpResponse response = TextResponse(200, "first");
    response.more = []() -> std::optional<std::string> { return ""; };
    return response;
  });
  REQUIRE(server.ok());
  const auto client = NewHttpClient(Trusting(absl::StrCat("https://127.0.0.1:", (*server)->port()), authority));
  REQUIRE(client.ok());
  auto stream = (*client)->Open(HttpRequest(), kLong);
  REQUIRE(stream.ok());
  CHECK(*(*stream)->Read(kLong) == "first");
  CHECK((*stream)->Read(absl::Milliseconds(20))->empty());
  absl::Status status;
  std::thread reader([&] { status = (*stream)->Read(absl::InfiniteDuration()).status(); });
  (*stream)->Cancel();
  reader.join();
  CHECK(absl::IsCancelled(status));
}

TEST_CASE("a client that is slow to shake hands is dropped") {
  const TestAuthority authority;
  HttpServerOptions options;
  options.header_timeout = absl::Milliseconds(50);
  const TlsServer server(LocalhostCertificate(authority), "", options);
  const auto peer = testing::RawPeer::Connect(server.server->port());
  peer->Send("\x16\x03\x01");
  CHECK(peer->ReadAll().empty());
  CHECK(server.server->counts().handshakes_failed == 1);
}

}  // namespace
}  // namespace kq
