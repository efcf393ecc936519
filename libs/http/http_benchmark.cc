// Requests per second between HttpClient and HttpServer in one process, so that
// both sides' work is in the numbers. Patches of 400 bytes are answered with
// 2 000 bytes, as status writes are. Run it on an idle machine with
//
//   bazel run -c opt //libs/http:http_benchmark
//
// BM_Call/<threads>: plain HTTP over kept connections; BM_TlsCall: the same over
// TLS; BM_TlsConnect: a new TLS connection for each request, sessions resumed.
// Seen on 2 cores that were busy with compilers (load 15), so take them as lower
// bounds: 8 000 to 14 000 requests/s plain with 16 and 32 threads, 5 500 to 13 700
// over TLS, 990 new TLS connections/s.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/http/http_client.h"
#include "libs/http/http_server.h"
#include "libs/http/testing/certificates.h"

namespace kq {
namespace {

enum class Security { kPlain, kTls };

// The two ends, shared by the threads of one benchmark.
struct Ends {
  Ends(Security security, int connections) {
    HttpServerOptions server_options;
    HttpClientOptions client_options;
    const testing::TestAuthority authority;
    if (security == Security::kTls) {
      const testing::TestCertificate certificate = testing::LocalhostCertificate(authority);
      server_options.certificate_file = folder.Write("tls.crt", certificate.certificate_pem);
      server_options.key_file = folder.Write("tls.key", certificate.key_pem);
      client_options.ca_pem = authority.certificate_pem();
    }
    server = *StartHttpServer(server_options, [answer = std::string(2000, 'x')](const HttpRequest&, const HttpPeer&) {
      return TextResponse(200, answer);
    });
    client_options.url = absl::StrCat(security == Security::kTls ? "https" : "http", "://127.0.0.1:", server->port());
    client_options.connections = connections;
    client = *NewHttpClient(client_options);
  }
  testing::TestFolder folder;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<HttpClient> client;
};

void Measure(benchmark::State& state, Security security, int connections) {
  static std::unique_ptr<Ends> ends;  // the library's threads share nothing else
  if (state.thread_index() == 0) ends = std::make_unique<Ends>(security, connections);
  HttpRequest request;
  request.method = "PATCH";
  request.target = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/queueunits/unit/status";
  request.headers.Add("Content-Type", "application/merge-patch+json");
  request.headers.Add("Authorization", std::string(900, 't'));
  request.body = std::string(400, 'x');
  for (auto _ : state) {
    const auto response = ends->client->Call(request, absl::Seconds(10));
    if (!response.ok()) state.SkipWithError(response.status().ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) ends.reset();
}

void BM_Call(benchmark::State& state) { Measure(state, Security::kPlain, 32); }
BENCHMARK(BM_Call)->Threads(1)->Threads(16)->Threads(32)->UseRealTime();

void BM_TlsCall(benchmark::State& state) { Measure(state, Security::kTls, 32); }
BENCHMARK(BM_TlsCall)->Threads(1)->Threads(16)->Threads(32)->UseRealTime();

void BM_TlsConnect(benchmark::State& state) { Measure(state, Security::kTls, 0); }
BENCHMARK(BM_TlsConnect)->Threads(1)->Threads(16)->UseRealTime();

}  // namespace
}  // namespace kq

BENCHMARK_MAIN();
