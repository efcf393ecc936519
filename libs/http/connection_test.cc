#include "libs/http/connection.h"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libs/http/connection_pool.h"
#include "libs/http/exchange.h"
#include "libs/http/http_server.h"
#include "libs/http/testing/certificates.h"
#include "libs/http/testing/raw_peer.h"

namespace kq {
namespace {

using testing::RawPeer;
using testing::RawServer;

Deadline Soon() { return Deadline::After(absl::Milliseconds(50)); }
Deadline Late() { return Deadline::After(absl::Seconds(30)); }  // never waited for in a test that passes

ConnectionPoolOptions PoolOptions(int port) {
  ConnectionPoolOptions options;
  options.host = "127.0.0.1";
  options.server_name = "127.0.0.1";
  options.port = port;
  return options;
}

std::unique_ptr<Connection> OpenTo(int port) {
  auto connection = ConnectionPool(PoolOptions(port)).Open(Late());
  REQUIRE(connection.ok());
  return *std::move(connection);
}

TEST_CASE("bytes go there and back, and the end is told from an error") {
  RawServer server([](RawPeer& peer) { peer.Send(peer.ReadUntil("!")); });
  const auto connection = OpenTo(server.port());
  const Connection::Sent sent = connection->Send("hello!", Late());
  CHECK(sent.status.ok());
  CHECK(sent.bytes == 6);
  while (connection->Received() != "hello!") REQUIRE(*connection->Receive(Late()) > 0);
  connection->Consume(5);
  CHECK(connection->Received() == "!");
  CHECK(*connection->Receive(Late()) == 0);
  CHECK(!connection->Fresh());
}

TEST_CASE("waiting has an end: by time, by Cancel") {
  std::promise<void> done;
  RawServer silent([future = done.get_future().share()](RawPeer&) { future.wait(); });
  const auto connection = OpenTo(silent.port());
  CHECK(absl::IsDeadlineExceeded(connection->Receive(Soon()).status()));
  // The peer reads nothing: what the system takes is counted.
  const std::string much(64 << 20, 'x');
  const Connection::Sent sent = connection->Send(much, Soon());
  CHECK(absl::IsDeadlineExceeded(sent.status));
  CHECK(sent.bytes > 0);
  CHECK(sent.bytes < much.size());
  REQUIRE(connection->EnableCancel().ok());
  absl::Status status;
  std::thread reader([&] { status = connection->Receive(Late()).status(); });
  connection->Cancel();
  reader.join();
  CHECK(absl::IsCancelled(status));
  CHECK(absl::IsCancelled(connection->Send(much, Late()).status));
  done.set_value();
}

TEST_CASE("a connection that got what nobody asked for is not fresh") {
  std::promise<void> done;
  RawServer server([future = done.get_future().share()](RawPeer& peer) {
    peer.ReadUntil("!");
    peer.Send("surprise");
    future.wait();
  });
  const auto connection = OpenTo(server.port());
  CHECK(connection->Fresh());
  CHECK(connection->Send("!", Late()).status.ok());
  while (connection->Fresh()) std::this_thread::yield();
  done.set_value();
}

TEST_CASE("a request of which nothing was sent is unavailable, and the connection counts as dropped") {
  std::promise<void> open;  // a reset that comes sooner fails the connect
  RawServer server([future = open.get_future().share()](RawPeer& peer) {
    future.wait();
    peer.Reset();
  });
  auto connection = OpenTo(server.port());
  open.set_value();
  while (connection->Fresh()) std::this_thread::yield();  // until the reset is here
  HttpRequest request;
  request.method = "POST";
  Exchange exchange(std::move(connection), {1000, 1000});
  const absl::Status status = exchange.Start(request, *RequestHeader(request, "x"), Late());
  CHECK(absl::IsUnavailable(status));
  CHECK(exchange.dropped());
}

TEST_CASE("the pool hands out what was used last, and nothing that is dead or old") {
  const auto server = StartHttpServer({}, [](const HttpRequest&, const HttpPeer&) { return TextResponse(200); });
  REQUIRE(server.ok());
  ConnectionPoolOptions options = PoolOptions((*server)->port());
  options.idle_limit = 2;
  SECTION("last in, first out, up to the limit") {
    ConnectionPool pool(options);
    CHECK(pool.TakeIdle() == nullptr);
    std::vector<std::unique_ptr<Connection>> three;
    for (int i = 0; i < 3; ++i) three.push_back(*pool.Open(Late()));
    const Connection* const second = three[1].get();
    const Connection* const third = three[2].get();
    for (auto& connection : three) pool.Return(std::move(connection));
    CHECK(pool.TakeIdle().get() == third);
    CHECK(pool.TakeIdle().get() == second);
    CHECK(pool.TakeIdle() == nullptr);
    CHECK(pool.Opened() == 3);
  }
  SECTION("what is too old is closed") {
    options.idle_timeout = absl::ZeroDuration();
    ConnectionPool pool(options);
    pool.Return(*pool.Open(Late()));
    CHECK(pool.TakeIdle() == nullptr);
  }
  SECTION("what the server closed is closed") {
    ConnectionPool pool(options);
    auto connection = *pool.Open(Late());
    (*server)->Stop(absl::ZeroDuration());
    while (connection->Fresh()) std::this_thread::yield();
    pool.Return(std::move(connection));
    CHECK(pool.TakeIdle() == nullptr);
    CHECK(absl::IsUnavailable(pool.Open(Late()).status()));
  }
}

TEST_CASE("a second TLS connection resumes the session of the first") {
  const testing::TestAuthority authority;
  const testing::TestCertificate certificate = testing::LocalhostCertificate(authority);
  const testing::TestFolder folder;
  HttpServerOptions server_options;
  server_options.certificate_file = folder.Write("tls.crt", certificate.certificate_pem);
  server_options.key_file = folder.Write("tls.key", certificate.key_pem);
  const auto server =
      StartHttpServer(server_options, [](const HttpRequest&, const HttpPeer&) { return TextResponse(200); });
  REQUIRE(server.ok());
  ConnectionPoolOptions options = PoolOptions((*server)->port());
  ClientTlsOptions tls;
  tls.ca_pem = authority.certificate_pem();
  options.tls = *NewClientTls(tls);
  ConnectionPool pool(options);
  for (int i = 0; i < 3; ++i) {
    Exchange exchange(*pool.Open(Late()), {1000, 1000});
    CHECK(exchange.connection()->Resumed() == (i > 0));
    REQUIRE(exchange.Start(HttpRequest(), *RequestHeader(HttpRequest(), "x"), Late()).ok());
    CHECK(exchange.ReadAll(Late()).ok());
  }
}

}  // namespace
}  // namespace kq
