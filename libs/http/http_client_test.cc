#include "libs/http/http_client.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/http/http_server.h"
#include "libs/http/testing/raw_peer.h"

namespace kq {
namespace {

using testing::RawPeer;
using testing::RawServer;

constexpr absl::Duration kLong = absl::Seconds(30);  // never waited for in a test that passes
constexpr absl::Duration kShort = absl::Milliseconds(80);

std::unique_ptr<HttpClient> ClientOf(const std::string& url, HttpClientOptions options = {}) {
  options.url = url;
  auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  return *std::move(client);
}

std::unique_ptr<HttpServer> ServerOf(HttpHandle handle, HttpServerOptions options = {}) {
  auto server = StartHttpServer(std::move(options), std::move(handle));
  REQUIRE(server.ok());
  return *std::move(server);
}

std::string UrlOf(const HttpServer& server) { return absl::StrCat("http://127.0.0.1:", server.port()); }

HttpRequest Request(const std::string& method, const std::string& target = "/", const std::string& body = "") {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.body = body;
  return request;
}

HttpResponse Echo(const HttpRequest& request, const HttpPeer&) {
  HttpResponse response;
  response.body = absl::StrCat(request.method, " ", request.target, " ", request.body);
  if (const std::string* echo = request.headers.Find("x-echo")) response.headers.Add("X-Echo", *echo);
  return response;
}

TEST_CASE("a request and its answer arrive whole") {
  const auto server = ServerOf(Echo);
  const auto client = ClientOf(UrlOf(*server));
  const std::string large(3 << 18, 'x');
  for (const std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    for (const std::string& body : {std::string(), std::string("{\"a\": 1}"), large}) {
      HttpRequest request = Request(method, "/apis/x?limit=5&continue=%2Fa", body);
      request.headers.Add("X-Echo", "value with spaces");
      const auto response = client->Call(request, kLong);
      REQUIRE(response.ok());
      CHECK(response->code == 200);
      CHECK(response->body == absl::StrCat(method, " /apis/x?limit=5&continue=%2Fa ", body));
      REQUIRE(response->headers.Find("x-echo") != nullptr);
      CHECK(*response->headers.Find("x-echo") == "value with spaces");
    }
  }
}

TEST_CASE("one connection serves many requests") {
  const auto server = ServerOf(Echo);
  const auto client = ClientOf(UrlOf(*server));
  for (int i = 0; i < 50; ++i) REQUIRE(client->Call(Request(i % 2 == 0 ? "GET" : "POST"), kLong).ok());
  CHECK(client->ConnectionsOpened() == 1);
}

TEST_CASE("sixteen threads share the client") {
  const auto server = ServerOf(Echo);
  const auto client = ClientOf(UrlOf(*server));
  std::atomic<int> next{0}, right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < 200; i = next++) {
        const auto response = client->Call(Request("GET", absl::StrCat("/", i)), kLong);
        if (response.ok() && response->body == absl::StrCat("GET /", i, " ")) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 200);
  CHECK(client->ConnectionsOpened() <= 16);
}

TEST_CASE("the pool keeps no more connections than it may") {
  std::promise<void> both;
  std::atomic<int> inside{0};
  const std::shared_future<void> gate = both.get_future().share();
  const auto server = ServerOf([&](const HttpRequest& request, const HttpPeer& peer) {
    if (request.target == "/together") {
      if (++inside == 2) both.set_value();
      gate.wait();
    }
    return Echo(request, peer);
  });
  HttpClientOptions options;
  options.connections = 1;
  const auto client = ClientOf(UrlOf(*server), options);
  absl::Status elsewhere;
  std::thread other([&] { elsewhere = client->Call(Request("GET", "/together"), kLong).status(); });
  const absl::Status here = client->Call(Request("GET", "/together"), kLong).status();
  other.join();
  REQUIRE(here.ok());
  REQUIRE(elsewhere.ok());
  CHECK(client->ConnectionsOpened() == 2);
  REQUIRE(client->Call(Request("GET"), kLong).ok());
  CHECK(client->ConnectionsOpened() == 2);  // one of the two was kept

  options.connections = 0;
  const auto keeps_none = ClientOf(UrlOf(*server), options);
  for (int i = 0; i < 3; ++i) REQUIRE(keeps_none->Call(Request("GET"), kLong).ok());
  CHECK(keeps_none->ConnectionsOpened() == 3);
}

TEST_CASE("names and IPv6 addresses lead to the server") {
  const auto server = ServerOf(Echo);
  CHECK(ClientOf(absl::StrCat("http://localhost:", server->port(), "/"))->Call(Request("GET"), kLong).ok());
  HttpServerOptions options;
  options.address = "::1";
  auto six = StartHttpServer(options, [](const HttpRequest& request, const HttpPeer& peer) {
    return TextResponse(200, absl::StrCat(peer.address, " ", *request.headers.Find("Host")));
  });
  if (!six.ok()) {
    WARN("this machine has no IPv6");
    return;
  }
  const auto response = ClientOf(absl::StrCat("http://[::1]:", (*six)->port()))->Call(Request("GET"), kLong);
  REQUIRE(response.ok());
  CHECK(absl::StartsWith(response->body, "[::1]:"));
  CHECK(absl::EndsWith(response->body, absl::StrCat(" [::1]:", (*six)->port())));
}

TEST_CASE("who cannot be reached is unavailable, so the call may be repeated") {
  const std::string nobody = absl::StrCat("http://127.0.0.1:", testing::UnusedPort());
  CHECK(absl::IsUnavailable(ClientOf(nobody)->Call(Request("POST"), kLong).status()));
  CHECK(absl::IsUnavailable(ClientOf(nobody)->Open(Request("GET"), kLong).status()));
  CHECK(absl::IsUnavailable(ClientOf("http://no-such-name.invalid")->Call(Request("POST"), kLong).status()));
  // A server that accepts and then never says a word of TLS.
  std::promise<void> done;
  RawServer silent([future = done.get_future().share()](RawPeer&) { future.wait(); });
  HttpClientOptions options;
  options.connect_timeout = kShort;
  const auto client = ClientOf(absl::StrCat("https://127.0.0.1:", silent.port()), options);
  CHECK(absl::IsUnavailable(client->Call(Request("POST"), kLong).status()));
  CHECK(absl::IsUnavailable(client->Call(Request("POST"), absl::Milliseconds(20)).status()));
  done.set_value();
}

TEST_CASE("a server that never answers costs the deadline and no more") {
  std::promise<void> done;
  RawServer silent([future = done.get_future().share()](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    future.wait();
  });
  const auto client = ClientOf(silent.url());
  CHECK(absl::IsDeadlineExceeded(client->Call(Request("POST", "/", "{}"), kShort).status()));
  done.set_value();
  CHECK(client->ConnectionsOpened() == 1);  // not asked again
}

TEST_CASE("a server that never pauses does not outlast the deadline") {
  RawServer chatty([](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = absl::StrCat("8000\r\n", std::string(0x8000, 'x'), "\r\n");
    while (peer.Send(chunk)) {
    }
  });
  HttpClientOptions options;
  options.response_limit_bytes = size_t{1} << 40;
  const auto client = ClientOf(chatty.url(), options);
  CHECK(absl::IsDeadlineExceeded(client->Call(Request("GET"), kShort).status()));
}

TEST_CASE("an answer that breaks off leaves the outcome unknown") {
  const std::string answer = GENERATE(as<std::string>{}, "", "HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789",
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n",
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n012");
  RawServer server([answer](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
  });
  CAPTURE(answer);
  const auto client = ClientOf(server.url());
  CHECK(client->Call(Request("POST"), kLong).status().code() == absl::StatusCode::kUnknown);
  CHECK(client->Call(Request("GET"), kLong).status().code() == absl::StatusCode::kUnknown);
}

TEST_CASE("an answer that is not HTTP leaves the outcome unknown") {
  const std::string answer =
      GENERATE(as<std::string>{}, "hello\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
               "HTTP/1.1 101 Upgrade\r\n\r\n", "HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n");
  RawServer server([answer](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
    peer.ReadAll();
  });
  CAPTURE(answer);
  CHECK(ClientOf(server.url())->Call(Request("POST"), kLong).status().code() == absl::StatusCode::kUnknown);
}

TEST_CASE("answers of every legal form are read") {
  struct Case {
    std::string method, answer, body;
    int code;
  };
  const auto c = GENERATE(values<Case>({
      {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200},
      {"GET", "HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end", 200},
      {"GET", "HTTP/1.1 204 No Content\r\n\r\n", "", 204},
      {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "", 304},
      {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "", 200},
      {"POST",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: "
       "1\r\n\r\nx",
       "x", 201},
      {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;ext=1\r\na\r\n2\r\nbc\r\n0\r\nTrailer: x\r\n\r\n",
       "abc", 200},
      {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", 200},
      {"GET", "HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n", "", 599},
  }));
  CAPTURE(c.answer);
  RawServer server([&c](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    for (char byte : c.answer) peer.Send(absl::string_view(&byte, 1));
  });
  const auto response = ClientOf(server.url())->Call(Request(c.method), kLong);
  REQUIRE(response.ok());
  CHECK(response->code == c.code);
  CHECK(response->body == c.body);
  CHECK(response->headers.Find("Trailer") == nullptr);
}

// Plays: one good answer, then the connection is dropped when the next request
// came; `connections` says for how many connections.
struct DroppingServer {
  explicit DroppingServer(int connections)
      : server([this, connections](RawPeer& peer) {
          const bool drops = ++seen <= connections;
          for (int request = 0; !(drops && request == 1); ++request) {
            if (peer.ReadUntil("\r\n\r\n").empty()) return;
            ++requests;
            peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          }
          if (!peer.ReadUntil("\r\n\r\n").empty()) ++requests;
        }) {}
  std::atomic<int> seen{0}, requests{0};
  RawServer server;
};

TEST_CASE("a kept connection that is dropped under a request is opened anew for reads alone") {
  DroppingServer server(1);
  const auto client = ClientOf(server.server.url());
  REQUIRE(client->Call(Request("GET"), kLong).ok());
  SECTION("a read is made again") {
    CHECK(client->Call(Request(GENERATE(as<std::string>{}, "GET", "HEAD")), kLong).status().code() ==
          absl::StatusCode::kOk);
    CHECK(client->ConnectionsOpened() == 2);
    CHECK(server.requests == 3);
  }
  SECTION("so is a stream") {
    CHECK(client->Open(Request("GET"), kLong).ok());
    CHECK(client->ConnectionsOpened() == 2);
  }
  SECTION("a write is not, since it may have been carried out") {
    CHECK(client->Call(Request("PATCH", "/", "{}"), kLong).status().code() == absl::StatusCode::kUnknown);
    CHECK(client->ConnectionsOpened() == 1);
    CHECK(server.requests == 2);
  }
}

TEST_CASE("a read is made again once, not for ever") {
  std::atomic<int> requests{0};
  RawServer server([&](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    if (requests++ == 0) {
      peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      peer.ReadUntil("\r\n\r\n");
    }
  });
  const auto client = ClientOf(server.url());
  REQUIRE(client->Call(Request("GET"), kLong).ok());
  CHECK(client->Call(Request("GET"), kLong).status().code() == absl::StatusCode::kUnknown);
  CHECK(client->ConnectionsOpened() == 2);
}

TEST_CASE("a kept connection that was closed meanwhile is not used, for no method") {
  const std::string method = GENERATE("GET", "POST", "PATCH");
  std::promise<void> closed;
  RawServer server([&, first = true](RawPeer& peer) mutable {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    if (!std::exchange(first, false)) return;
    peer.Reset();
    closed.set_value();
  });
  const auto client = ClientOf(server.url());
  REQUIRE(client->Call(Request("GET"), kLong).ok());
  closed.get_future().wait();
  CHECK(client->Call(Request(method), kLong).ok());
  CHECK(client->ConnectionsOpened() == 2);
}

TEST_CASE("a server that says close is believed") {
  const auto server = ServerOf([](const HttpRequest&, const HttpPeer&) {
    HttpResponse response;
    response.headers.Add("Connection", "close");
    return response;
  });
  const auto client = ClientOf(UrlOf(*server));
  for (int i = 0; i < 3; ++i) REQUIRE(client->Call(Request("POST"), kLong).ok());
  CHECK(client->ConnectionsOpened() == 3);
}

TEST_CASE("answers over a limit are refused") {
  const std::string answer =
      GENERATE_COPY(as<std::string>{},
                    absl::StrCat("HTTP/1.1 200 OK\r\nX: ", std::string(5000, 'h'), "\r\nContent-Length: 0\r\n\r\n"),
                    absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", std::string(5000, 'b')),
                    absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n",
                                 std::string(5000, 'b'), "\r\n0\r\n\r\n"),
                    absl::StrCat("HTTP/1.1 200 OK\r\n\r\n", std::string(5000, 'b')));
  RawServer server([answer](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
  });
  HttpClientOptions options;
  options.header_limit_bytes = 4096;
  options.response_limit_bytes = 4096;
  const auto client = ClientOf(server.url(), options);
  CHECK(absl::IsInvalidArgument(client->Call(Request("GET"), kLong).status()));
  // What a write did is not known when its answer cannot be read.
  CHECK(client->Call(Request("POST"), kLong).status().code() == absl::StatusCode::kUnknown);
}

TEST_CASE("a chunk header without an end is refused") {
  RawServer server([](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    while (peer.Send(std::string(1000, 'x'))) {
    }
  });
  CHECK(absl::IsInvalidArgument(ClientOf(server.url())->Call(Request("GET"), kLong).status()));
}

TEST_CASE("an early refusal of a large body is heard") {
  RawServer server([](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    peer.FinishSending();
    peer.ReadAll();
  });
  const auto response = ClientOf(server.url())->Call(Request("POST", "/", std::string(8 << 20, 'x')), kLong);
  REQUIRE(response.ok());
  CHECK(response->code == 413);
}

TEST_CASE("what would break the protocol is not sent") {
  const auto client = ClientOf("http://127.0.0.1:1");
  const auto status_of = [&](const HttpRequest& request) { return client->Call(request, kLong).status(); };
  CHECK(absl::IsInvalidArgument(status_of(Request("GE T"))));
  CHECK(absl::IsInvalidArgument(status_of(Request(""))));
  CHECK(absl::IsInvalidArgument(status_of(Request("GET", "/a b"))));
  CHECK(absl::IsInvalidArgument(status_of(Request("GET", "/\r\nX: y"))));
  CHECK(absl::IsInvalidArgument(status_of(Request("GET", "x"))));
  CHECK(absl::IsInvalidArgument(status_of(Request("GET", ""))));
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"X", "a\r\nInjected: yes"}, {"X y", "a"}, {"", "a"}, {"X:", "a"}, {"X", std::string("a\0b", 3)}}) {
    HttpRequest request = Request("GET");
    request.headers.Add(name, value);
    const absl::Status status = status_of(request);
    CHECK(absl::IsInvalidArgument(status));
    CHECK(!absl::StrContains(status.message(), "Injected"));  // it could be a token
  }
}

TEST_CASE("the client writes its own framing") {
  std::promise<std::string> header;
  RawServer server([&](RawPeer& peer) {
    header.set_value(peer.ReadUntil("\r\n\r\n"));
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  HttpRequest request = Request("POST", "/x", "abc");
  request.headers.Add("content-length", "99");
  request.headers.Add("Transfer-Encoding", "chunked");
  request.headers.Add("Connection", "close");
  request.headers.Add("Host", "other");
  REQUIRE(ClientOf(server.url())->Call(request, kLong).ok());
  CHECK(header.get_future().get() == "POST /x HTTP/1.1\r\nHost: other\r\nContent-Length: 3\r\n\r\n");
}

TEST_CASE("URLs are checked") {
  for (const std::string url : {"", "host", "ftp://host", "http://", "https://:1", "http://host:0", "http://host:65536",
                                "http://host:x", "http://host/path", "http://user@host", "http://host?x", "http://[::1",
                                "http://[x]", "http://[::1]x", "http://a b"}) {
    HttpClientOptions options;
    options.url = url;
    CAPTURE(url);
    CHECK(absl::IsInvalidArgument(NewHttpClient(options).status()));
  }
  for (const std::string url :
       {"http://host", "http://host/", "https://host:6443", "https://[::1]:6443", "http://[::1]"}) {
    HttpClientOptions options;
    options.url = url;
    CAPTURE(url);
    CHECK(NewHttpClient(options).ok());
  }
}

TEST_CASE("a stream of ten thousand lines arrives whole, whatever the chunks") {
  std::string text;
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&text, "{\"line\":", i, "}\n");
  RawServer server([&text](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    size_t at = 0;
    for (size_t size = 1; at < text.size(); size = (size * 7 + 3) % 1021 + 1) {
      const std::string piece = text.substr(at, size);
      at += piece.size();
      const std::string chunk = absl::StrCat(absl::Hex(piece.size()), "\r\n", piece, "\r\n");
      // Cut in the middle of the chunk's header now and then.
      peer.Send(chunk.substr(0, size % 3));
      peer.Send(chunk.substr(size % 3));
    }
    peer.Send("0\r\n\r\n");
  });
  const auto client = ClientOf(server.url());
  auto stream = client->Open(Request("GET"), kLong);
  REQUIRE(stream.ok());
  CHECK((*stream)->code() == 200);
  std::string received;
  absl::StatusOr<std::string> piece;
  while ((piece = (*stream)->Read(kLong)).ok()) received += *piece;
  CHECK(absl::IsOutOfRange(piece.status()));
  CHECK(absl::IsOutOfRange((*stream)->Read(kLong).status()));
  CHECK(received == text);
}

TEST_CASE("a stream outlasts a Read that waits in vain") {
  std::promise<void> go;
  RawServer server([future = go.get_future().share()](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    future.wait();
    peer.Send("5\r\nhello\r\n");
    peer.ReadAll();
  });
  const auto client = ClientOf(server.url());
  auto stream = client->Open(Request("GET"), kLong);
  REQUIRE(stream.ok());
  for (const absl::Duration timeout : {absl::ZeroDuration(), kShort}) {
    const auto nothing = (*stream)->Read(timeout);
    REQUIRE(nothing.ok());
    CHECK(nothing->empty());
  }
  go.set_value();
  const auto piece = (*stream)->Read(kLong);
  REQUIRE(piece.ok());
  CHECK(*piece == "hello");
}

TEST_CASE("a stream that breaks is unavailable") {
  const std::string rest = GENERATE(as<std::string>{}, "", "5\r\nwor", "zz\r\n");
  RawServer server([rest](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    peer.Send(rest);
  });
  const auto client = ClientOf(server.url());
  auto stream = client->Open(Request("GET"), kLong);
  REQUIRE(stream.ok());
  absl::StatusOr<std::string> piece;
  while ((piece = (*stream)->Read(kLong)).ok()) CHECK(*piece == "wor");
  CHECK(absl::IsUnavailable(piece.status()));
}

TEST_CASE("a Read that waits is cancelled from another thread") {
  std::promise<void> done;
  RawServer server([future = done.get_future().share()](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    future.wait();
  });
  const auto client = ClientOf(server.url());
  auto stream = client->Open(Request("GET"), kLong);
  REQUIRE(stream.ok());
  std::promise<absl::Status> result;
  std::thread reader([&] { result.set_value((*stream)->Read(absl::InfiniteDuration()).status()); });
  (*stream)->Cancel();
  CHECK(absl::IsCancelled(result.get_future().get()));
  reader.join();
  CHECK(absl::IsCancelled((*stream)->Read(kLong).status()));  // and every later one
  done.set_value();
}

TEST_CASE("a busy stream is cancelled too") {
  RawServer server([](RawPeer& peer) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (peer.Send("1\r\nx\r\n")) {
    }
  });
  const auto client = ClientOf(server.url());
  auto stream = client->Open(Request("GET"), kLong);
  REQUIRE(stream.ok());
  REQUIRE((*stream)->Read(kLong).ok());
  std::thread canceller([&] { (*stream)->Cancel(); });
  absl::Status status;
  while (status.ok()) status = (*stream)->Read(kLong).status();
  CHECK(absl::IsCancelled(status));
  canceller.join();
}

TEST_CASE("a stream may outlive its client") {
  const auto server = ServerOf(Echo);
  absl::StatusOr<std::unique_ptr<HttpStream>> stream;
  {
    const auto client = ClientOf(UrlOf(*server));
    stream = client->Open(Request("GET", "/x"), kLong);
  }
  REQUIRE(stream.ok());
  const auto piece = (*stream)->Read(kLong);
  REQUIRE(piece.ok());
  CHECK(*piece == "GET /x ");
}

}  // namespace
}  // namespace kq
