#include "libs/http/http_server.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/http/http_client.h"
#include "libs/http/testing/raw_peer.h"

namespace kq {
namespace {

using testing::RawPeer;

constexpr absl::Duration kLong = absl::Seconds(30);  // never waited for in a test that passes
constexpr absl::Duration kShort = absl::Milliseconds(60);

HttpResponse Echo(const HttpRequest& request, const HttpPeer&) {
  return TextResponse(200, absl::StrCat(request.method, " ", request.target, " [", request.body, "]"));
}

std::unique_ptr<HttpServer> ServerOf(HttpHandle handle, HttpServerOptions options = {}) {
  auto server = StartHttpServer(std::move(options), std::move(handle));
  REQUIRE(server.ok());
  return *std::move(server);
}

std::unique_ptr<HttpClient> ClientOf(const HttpServer& server) {
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", server.port());
  auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  return *std::move(client);
}

// The code of an answer that a raw peer received; 0 if it is none.
int CodeOf(const std::string& answer) {
  return absl::StartsWith(answer, "HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

// What the server says to these bytes before it closes.
std::string AnswerTo(const HttpServer& server, const std::string& bytes) {
  const auto peer = RawPeer::Connect(server.port());
  peer->Send(bytes);
  peer->FinishSending();
  return peer->ReadAll();
}

const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";  // NOLINT: a test's constant

TEST_CASE("what is malformed or could be read in two ways is refused") {
  struct Case {
    std::string name, bytes;
    int code;
  };
  const auto c = GENERATE(values<Case>({
      {"not HTTP", "hello\r\n\r\n", 400},
      {"TLS to a plain port", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"HTTP/2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"a bare line feed after the version", "GET / HTTP/1.1\nHost: x\n\n", 505},
      {"a bare line feed after a field", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400},
      {"a space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"a NUL in a value", std::string("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 35), 400},
      {"a fragment", "GET /#x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a fragment of an absolute target", "GET http://x/a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a byte beyond ASCII", "GET /\xC3\xA9 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"the same in an absolute target", "GET http://x/\xC3\xA9 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a target without a slash", "GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"both lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"both lengths, the other way round",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
      {"two different lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
       400},
      {"one length twice", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
      {"a list of lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 4\r\n\r\nabcd", 400},
      {"a negative length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc", 400},
      {"a signed length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400},
      {"a length beyond 64 bits", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc", 400},
      {"gzip as encoding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nabc", 501},
      {"chunked, then gzip", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 501},
      {"chunked in disguise", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
      {"chunked twice",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"a chunk size that is none", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"a chunk size beyond 64 bits",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400},
      {"a chunk longer than its size",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", 400},
      {"an unknown expectation", "POST / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n", 417},
  }));
  std::atomic<int> calls{0};
  const auto server = ServerOf([&](const HttpRequest& request, const HttpPeer& peer) {
    ++calls;
    return Echo(request, peer);
  });
  CAPTURE(c.name);
  const std::string answer = AnswerTo(*server, c.bytes);
  CAPTURE(answer);
  CHECK(CodeOf(answer) == c.code);
  CHECK(absl::StrContains(answer, "Connection: close\r\n"));
  CHECK(calls == 0);
}

TEST_CASE("what is legal is served") {
  struct Case {
    std::string name, bytes, want;
  };
  const auto c = GENERATE(values<Case>({
      {"plain", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?b=c []"},
      {"an absolute target", "GET http://x/a?b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?b []"},
      {"an absolute target without a path", "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n", "GET / []"},
      {"HTTP/1.0 without a host", "GET / HTTP/1.0\r\n\r\n", "GET / []"},
      {"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * []"},
      {"an unknown method", "BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", "BREW /pot []"},
      {"a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "POST / [abc]"},
      {"an empty body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "POST / []"},
      {"chunks", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n1;e=f\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
       "POST / [abc]"},
  }));
  CAPTURE(c.name);
  const auto server = ServerOf(Echo);
  const std::string answer = AnswerTo(*server, c.bytes);
  CAPTURE(answer);
  CHECK(CodeOf(answer) == 200);
  CHECK(absl::EndsWith(answer, "\r\n\r\n" + c.want));
}

TEST_CASE("a trailer does not pass for a header") {
  const auto server = ServerOf([](const HttpRequest& request, const HttpPeer&) {
    return TextResponse(200, request.headers.Find("X-Remote-User") == nullptr ? "nobody" : "somebody");
  });
  const std::string answer = AnswerTo(
      *server, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Remote-User: admin\r\n\r\n");
  CHECK(absl::EndsWith(answer, "nobody"));
}

TEST_CASE("limits have their codes") {
  HttpServerOptions options;
  options.header_limit_bytes = 1000;
  options.body_limit_bytes = 1000;
  const auto server = ServerOf(Echo, options);
  const std::string big(1001, 'x');
  CHECK(CodeOf(AnswerTo(*server, absl::StrCat("GET / HTTP/1.1\r\nHost: x\r\nA: ", big, "\r\n\r\n"))) == 431);
  CHECK(CodeOf(AnswerTo(*server, absl::StrCat("GET /", big, " HTTP/1.1\r\nHost: x\r\n\r\n"))) == 431);
  CHECK(CodeOf(AnswerTo(*server, std::string(100000, 'G'))) == 431);
  CHECK(CodeOf(AnswerTo(*server, absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", big))) ==
        413);
  CHECK(CodeOf(AnswerTo(*server, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")) == 413);
  CHECK(CodeOf(AnswerTo(*server, absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
                                              big, "\r\n0\r\n\r\n"))) == 413);
  std::string trailers = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  while (trailers.size() < 100000) trailers += "A: bcdefghijklmnopqrstuvwxyz\r\n";
  CHECK(CodeOf(AnswerTo(*server, trailers)) >= 400);
  const std::string extension =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(100000, 'x');
  CHECK(CodeOf(AnswerTo(*server, extension)) == 400);
  const std::string fits(1000, 'x');
  CHECK(CodeOf(AnswerTo(*server, absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", fits))) ==
        200);
}

TEST_CASE("a client that goes on sending still reads why it was refused") {
  const auto server = ServerOf(Echo);
  HttpRequest request;
  request.method = "POST";
  request.body = std::string(16 << 20, 'x');
  const auto response = ClientOf(*server)->Call(request, kLong);
  REQUIRE(response.ok());
  CHECK(response->code == 413);
}

TEST_CASE("a slow header is answered 408, even if it trickles") {
  HttpServerOptions options;
  options.header_timeout = kShort;
  const auto server = ServerOf(Echo, options);
  const auto peer = RawPeer::Connect(server->port());
  peer->Send("GET / HTTP/1.1\r\nA: ");
  std::string answer;
  while (answer.empty() && peer->Send("x")) answer = peer->ReadUntil("\r\n\r\n", absl::Milliseconds(5));
  CHECK(CodeOf(answer) == 408);
}

TEST_CASE("a slow body is answered 408") {
  HttpServerOptions options;
  options.body_timeout = kShort;
  const auto server = ServerOf(Echo, options);
  const auto peer = RawPeer::Connect(server->port());
  peer->Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  CHECK(CodeOf(peer->ReadAll()) == 408);
}

TEST_CASE("a connection that asks for nothing is closed without a word") {
  HttpServerOptions options;
  SECTION("from the start") { options.header_timeout = kShort; }
  SECTION("after a request") { options.idle_timeout = kShort; }
  const auto server = ServerOf(Echo, options);
  const auto peer = RawPeer::Connect(server->port());
  if (options.idle_timeout == kShort) {
    peer->Send(kGet);
    CHECK(CodeOf(peer->ReadUntil("[]")) == 200);
  }
  CHECK(peer->ReadAll().empty());
}

TEST_CASE("a client that reads nothing is given up") {
  HttpServerOptions options;
  options.write_timeout = kShort;
  const auto server = ServerOf(
      [](const HttpRequest&, const HttpPeer&) { return TextResponse(200, std::string(64 << 20, 'x')); }, options);
  const auto peer = RawPeer::Connect(server->port());
  peer->Send(kGet);
  server->Stop(kLong);  // returns once the connection has been given up
  CHECK(peer->ReadAll().size() < (64 << 20));
}

TEST_CASE("while all places have something to answer, connections over the limit are answered 503") {
  HttpServerOptions options;
  options.connection_limit = options.threads = 2;
  std::latch handled(2), release(1);
  const auto server = ServerOf(
      [&](const HttpRequest& request, const HttpPeer& peer) {
        if (request.target == "/slow") {
          handled.count_down();
          release.wait();
        }
        return Echo(request, peer);
      },
      options);
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 2; ++i) {
    peers.push_back(RawPeer::Connect(server->port()));
    peers.back()->Send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  handled.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than a quiet one keeps its place
  const std::string refused = AnswerTo(*server, kGet);
  CHECK(CodeOf(refused) == 503);
  CHECK(absl::StrContains(refused, "Connection: close\r\n"));
  release.count_down();
  for (const auto& peer : peers) CHECK(CodeOf(peer->ReadUntil("[]")) == 200);
  peers.clear();
  int code = 503;
  while (code == 503) code = CodeOf(AnswerTo(*server, kGet));  // until it has seen that they are gone
  CHECK(code == 200);
}

TEST_CASE("connections that say nothing cannot keep others out") {
  HttpServerOptions options;
  options.connection_limit = 3;
  const auto server = ServerOf(Echo, options);
  const auto silent = RawPeer::Connect(server->port()), half = RawPeer::Connect(server->port());
  half->Send("GET /half HTTP/1.1\r\n");
  const auto kept = RawPeer::Connect(server->port());
  kept->Send(kGet);
  CHECK(CodeOf(kept->ReadUntil("[]")) == 200);
  for (int64_t i = 1; i <= 4; ++i) {
    int code = 503;
    while (code == 503) code = CodeOf(AnswerTo(*server, kGet));  // until one of them was quiet for long enough
    CHECK(code == 200);
  }
  // A new one is served at once where the last has gone, else it gets the place of the quietest.
  CHECK(server->counts().connections_evicted >= 1);
  CHECK(silent->ReadAll().empty());
  CHECK(CodeOf(AnswerTo(*server, kGet)) == 200);
}

TEST_CASE("every limit has a count") {
  HttpServerOptions options;
  options.connection_limit = 1;
  options.header_timeout = options.write_timeout = kShort;
  options.body_limit_bytes = 10;
  const auto server = ServerOf(
      [](const HttpRequest&, const HttpPeer&) { return TextResponse(200, std::string(64 << 20, 'x')); }, options);
  const auto becomes = [&](const std::function<bool(const HttpServerCounts&)>& true_of) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!true_of(server->counts()) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return true_of(server->counts());
  };
  CHECK(CodeOf(AnswerTo(*server, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")) == 400);
  CHECK(becomes([](const auto& counts) { return counts.connections == 0; }));
  CHECK(CodeOf(AnswerTo(*server, absl::StrCat("GET /", std::string(20'000, 'x')))) == 431);
  CHECK(becomes([](const auto& counts) { return counts.connections == 0; }));
  CHECK(CodeOf(AnswerTo(*server, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n")) == 413);
  CHECK(becomes([](const auto& counts) { return counts.connections == 0; }));
  const auto slow = RawPeer::Connect(server->port());
  slow->Send("GET /");
  CHECK(CodeOf(slow->ReadAll()) == 408);
  CHECK(becomes([](const auto& counts) { return counts.connections == 0; }));
  CHECK(server->counts().refused == std::map<int, int64_t>{{400, 1}, {408, 1}, {413, 1}, {431, 1}});
  {
    const auto sleepy = RawPeer::Connect(server->port());
    sleepy->Send(kGet);
    CHECK(becomes([](const auto& counts) { return counts.connections == 1; }));
    CHECK(CodeOf(AnswerTo(*server, kGet)) == 503);
    CHECK(becomes([](const auto& counts) { return counts.answers_timed_out == 1; }));
  }
  CHECK(server->counts().connections_refused == 1);
  CHECK(becomes([](const auto& counts) { return counts.connections == 0; }));
}

TEST_CASE("requests that are sent ahead are answered in order") {
  const auto server = ServerOf(Echo);
  const std::string answers =
      AnswerTo(*server,
               "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: "
               "3\r\n\r\nabcGET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const size_t one = answers.find("GET /1 []"), two = answers.find("POST /2 [abc]"), three = answers.find("GET /3 []");
  CHECK(one < two);
  CHECK(two < three);
  CHECK(three != std::string::npos);
}

TEST_CASE("every way to cut a request into packets leads to the same answer") {
  const auto server = ServerOf(Echo);
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
  const auto peer = RawPeer::Connect(server->port());
  for (size_t cut = 1; cut < request.size(); cut += 3) {
    peer->Send(request.substr(0, cut));
    peer->Send(request.substr(cut));
    CHECK(CodeOf(peer->ReadUntil("POST /x [abc]")) == 200);
  }
}

TEST_CASE("a client that waits for 100 Continue gets it") {
  HttpServerOptions options;
  options.body_limit_bytes = 100;
  const auto server = ServerOf(Echo, options);
  const auto peer = RawPeer::Connect(server->port());
  peer->Send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  CHECK(peer->ReadUntil("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  peer->Send("abc");
  CHECK(CodeOf(peer->ReadUntil("[abc]")) == 200);
  peer->Send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n");
  CHECK(CodeOf(peer->ReadUntil("\r\n\r\n")) == 413);  // before the body
}

TEST_CASE("HEAD is answered like GET, without the body") {
  const auto server = ServerOf(Echo);
  const std::string answer = AnswerTo(*server, "HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(CodeOf(answer) == 200);
  CHECK(absl::StrContains(answer, "Content-Length: 12\r\n"));
  CHECK(absl::EndsWith(answer, "\r\n\r\n"));
}

TEST_CASE("an HTTP/1.0 connection ends with the answer") {
  const auto server = ServerOf(Echo);
  const auto peer = RawPeer::Connect(server->port());
  peer->Send("GET / HTTP/1.0\r\n\r\n");
  CHECK(absl::EndsWith(peer->ReadAll(), "GET / []"));
}

TEST_CASE("an exception in a handler is a 500, and the connection lives on") {
  const auto server = ServerOf([](const HttpRequest& request, const HttpPeer& peer) {
    if (request.target == "/std") throw std::runtime_error("broken");
    if (request.target == "/odd") throw 42;
    HttpResponse bad;
    if (request.target == "/field") bad.headers.Add("X", "a\r\nInjected: yes");
    if (request.target == "/code") bad.code = 42;
    return request.target == "/" ? Echo(request, peer) : bad;
  });
  const auto client = ClientOf(*server);
  for (const std::string target : {"/std", "/odd", "/field", "/code"}) {
    HttpRequest request;
    request.target = target;
    const auto response = client->Call(request, kLong);
    CAPTURE(target);
    REQUIRE(response.ok());
    CHECK(response->code == 500);
    CHECK(response->headers.Find("Injected") == nullptr);
    CHECK(!absl::StrContains(response->body, "broken"));
  }
  CHECK(client->Call(HttpRequest(), kLong)->code == 200);
  CHECK(client->ConnectionsOpened() == 1);
}

TEST_CASE("several requests are handled at once") {
  std::promise<void> both;
  std::atomic<int> inside{0};
  const auto server = ServerOf([&, gate = both.get_future().share()](const HttpRequest& request, const HttpPeer& peer) {
    if (++inside == 2) both.set_value();
    gate.wait();
    return Echo(request, peer);
  });
  const auto client = ClientOf(*server);
  absl::Status elsewhere;
  std::thread other([&] { elsewhere = client->Call(HttpRequest(), kLong).status(); });
  CHECK(client->Call(HttpRequest(), kLong).ok());
  other.join();
  CHECK(elsewhere.ok());
}

TEST_CASE("the handler knows the peer's address") {
  const auto server =
      ServerOf([](const HttpRequest&, const HttpPeer& peer) { return TextResponse(200, peer.address); });
  CHECK(absl::StartsWith(ClientOf(*server)->Call(HttpRequest(), kLong)->body, "127.0.0.1:"));
}

// A handler that says when it runs, and runs until it may end.
struct SlowHandle {
  HttpResponse operator()(const HttpRequest& request, const HttpPeer& peer) {
    entered.set_value();
    leave_future.wait();
    return Echo(request, peer);
  }
  std::promise<void> entered, leave;
  std::shared_future<void> leave_future = leave.get_future().share();
};

TEST_CASE("a graceful stop lets a running request finish and closes idle connections") {
  SlowHandle slow;
  const auto server = ServerOf([&](const HttpRequest& request, const HttpPeer& peer) { return slow(request, peer); });
  const auto idle = RawPeer::Connect(server->port());
  const auto peer = RawPeer::Connect(server->port());
  peer->Send(kGet);
  slow.entered.get_future().wait();
  std::thread stop([&] { server->Stop(absl::Minutes(10)); });
  CHECK(idle->ReadAll().empty());
  slow.leave.set_value();
  const std::string answer = peer->ReadAll();
  CHECK(CodeOf(answer) == 200);
  CHECK(absl::StrContains(answer, "Connection: close\r\n"));
  stop.join();
  CHECK_THROWS(RawPeer::Connect(server->port()));
  server->Stop(absl::ZeroDuration());  // a second one has nothing to do
}

TEST_CASE("a stop without grace drops the answer, but waits for the handler") {
  SlowHandle slow;
  const auto server = ServerOf([&](const HttpRequest& request, const HttpPeer& peer) { return slow(request, peer); });
  const auto peer = RawPeer::Connect(server->port());
  peer->Send(kGet);
  slow.entered.get_future().wait();
  std::atomic<bool> stopped{false};
  std::thread stop([&] {
    server->Stop(absl::ZeroDuration());
    stopped = true;
  });
  CHECK(peer->ReadAll().empty());
  CHECK(!stopped);
  slow.leave.set_value();
  stop.join();
}

TEST_CASE("a server is destroyed with connections and requests on their way") {
  auto server = ServerOf(Echo);
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (const std::string& bytes : {std::string(), kGet, std::string("GET / HT"),
                                   std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")}) {
    peers.push_back(RawPeer::Connect(server->port()));
    peers.back()->Send(bytes);
  }
  server.reset();
  for (const auto& peer : peers) CHECK(!absl::StartsWith(peer->ReadAll(), "HTTP/1.1 5"));
}

TEST_CASE("an answer in pieces is sent as chunks") {
  const auto server = ServerOf([](const HttpRequest&, const HttpPeer&) {
    HttpResponse response = TextResponse(200, "first\n");
    response.more = [count = 0]() mutable -> std::optional<std::string> {
      ++count;
      if (count == 1001) return std::nullopt;
      return count % 10 == 3 && count < 50 ? "" : absl::StrCat(count, "\n");  // nothing to say now and then
    };
    return response;
  });
  const auto client = ClientOf(*server);
  const auto response = client->Call(HttpRequest(), kLong);
  REQUIRE(response.ok());
  CHECK(absl::StartsWith(response->body, "first\n1\n2\n4\n"));
  CHECK(absl::EndsWith(response->body, "\n1000\n"));
  CHECK(client->Call(HttpRequest(), kLong).ok());
  CHECK(client->ConnectionsOpened() == 1);
  // HTTP/1.0 does not know chunks: there the end of the connection is the end.
  const auto peer = RawPeer::Connect(server->port());
  peer->Send("GET / HTTP/1.0\r\n\r\n");
  const std::string old = peer->ReadAll();
  CHECK(!absl::StrContains(old, "chunked"));
  CHECK(absl::StrContains(old, "\r\n\r\nfirst\n1\n2\n4\n"));
  CHECK(absl::EndsWith(old, "\n999\n1000\n"));
  CHECK(absl::EndsWith(AnswerTo(*server, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"), "Transfer-Encoding: chunked\r\n\r\n"));
}

TEST_CASE("an exception between pieces cuts the answer off, so that nobody takes it for whole") {
  const auto server = ServerOf([](const HttpRequest&, const HttpPeer&) {
    HttpResponse response = TextResponse(200, "first\n");
    response.more = []() -> std::optional<std::string> { throw std::runtime_error("broken"); };
    return response;
  });
  CHECK(ClientOf(*server)->Call(HttpRequest(), kLong).status().code() == absl::StatusCode::kUnknown);
}

TEST_CASE("pieces end when the peer has gone, or the server stops") {
  std::promise<void> destroyed;
  const auto server = ServerOf([&](const HttpRequest&, const HttpPeer&) {
    HttpResponse response = TextResponse(200, "first\n");
    const std::shared_ptr<int> guard(new int(0), [&](int* p) {
      delete p;
      destroyed.set_value();
    });
    response.more = [guard]() -> std::optional<std::string> { return ""; };
    return response;
  });
  auto peer = RawPeer::Connect(server->port());
  peer->Send(kGet);
  CHECK(CodeOf(peer->ReadUntil("first\n")) == 200);
  SECTION("the peer goes") { peer.reset(); }
  SECTION("the server stops") { server->Stop(absl::ZeroDuration()); }
  destroyed.get_future().wait();
}

TEST_CASE("a handler may close the connection instead of answering") {
  const auto server = ServerOf([](const HttpRequest&, const HttpPeer&) {
    HttpResponse response;
    response.code = 0;
    return response;
  });
  CHECK(AnswerTo(*server, kGet).empty());
}

TEST_CASE("options are checked") {
  const auto status_of = [](const HttpServerOptions& options) { return StartHttpServer(options, Echo).status(); };
  HttpServerOptions options;
  options.address = "nonsense";
  CHECK(absl::IsInvalidArgument(status_of(options)));
  options = {};
  options.threads = 0;
  CHECK(absl::IsInvalidArgument(status_of(options)));
  options = {};
  options.connection_limit = 0;
  CHECK(absl::IsInvalidArgument(status_of(options)));
  options = {};
  options.port = 70000;
  CHECK(absl::IsInvalidArgument(status_of(options)));
  options = {};
  options.key_file = "key.pem";
  CHECK(absl::IsInvalidArgument(status_of(options)));
  options = {};
  options.client_ca_file = "ca.pem";
  CHECK(absl::IsInvalidArgument(status_of(options)));
}

TEST_CASE("an address in use is unavailable") {
  const auto server = ServerOf(Echo);
  HttpServerOptions options;
  options.port = server->port();
  const auto second = StartHttpServer(options, Echo);
  CHECK(absl::IsUnavailable(second.status()));
  CHECK(absl::StrContains(second.status().message(), absl::StrCat("127.0.0.1:", server->port())));
}

}  // namespace
}  // namespace kq
