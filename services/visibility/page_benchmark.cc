// How long a page of 100 units out of 100 000 takes, asked over TLS by the front
// proxy as the API server does, in the same process. Counters are percentiles of
// single requests in milliseconds. Run it on an idle machine with
//
//   bazel run -c opt //services/visibility:page_benchmark 2>/dev/null
//
// BM_QueuePage: of one queue, cut out of its middle. BM_QueuePhasePage: the same
// behind a filter that looks at every unit. BM_QuotaPage: of a quota, whose units
// are looked for in all queues. BM_NewConnection: a page of a queue with a new TLS
// connection for each. The number behind the name is that of clients at once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"
#include "libs/http/http_client.h"
#include "libs/http/testing/certificates.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "libs/scheduler_client/testing/fake_picture_source.h"
#include "services/visibility/server.h"
#include "services/visibility/testing/front_proxy.h"
#include "services/visibility/testing/pictures.h"

namespace kq::visibility {
namespace {

constexpr int kWaiting = 100'000;
constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr char kPrefix[] = "/apis/visibility.koord-queue.x-k8s.io/v1alpha1/";

// The server, and what it asks, shared by the threads of one benchmark.
class World {
 public:
  explicit World(int connections) {
    api_.AddResource(kConfigMaps, FakeResource());
    const Json front_proxy = FrontProxyConfig(proxies_.certificate_pem());
    problem_.Update(api_.Create(kConfigMaps, "kube-system", front_proxy).status());
    pictures_.Set({.picture = TeamPicture(kWaiting),
                   .heard = Clock::Real().TimeNow() + absl::Hours(1),
                   .connection = absl::OkStatus(),
                   .server = ""});
    const testing::TestCertificate own = testing::LocalhostCertificate(authority_);
    Config config;
    config.address = config.metrics_address = "127.0.0.1:0";
    config.tls_certificate_file = folder_.Write("server.crt", own.certificate_pem);
    config.tls_key_file = folder_.Write("server.key", own.key_pem);
    auto server = Server::Start(config, {&Clock::Real(), &api_, &pictures_});
    problem_.Update(server.status());
    if (!problem_.ok()) return;
    server_ = *std::move(server);
    Connect(connections);
  }

  const absl::Status& problem() const { return problem_; }

  // A page; kUnavailable until the front proxy's authority was read.
  absl::Status Ask(const std::string& target) const {
    const absl::StatusOr<HttpResponse> response = client_->Call(AsMaster(target), kPatience);
    if (!response.ok()) return response.status();
    return response->code == 200 ? absl::OkStatus() : absl::UnavailableError(response->body);
  }

  void Took(std::vector<double> milliseconds) {
    MutexLock lock(&mu_);
    took_.insert(took_.end(), milliseconds.begin(), milliseconds.end());
  }
  // Of all that was told so far, once every thread has.
  double Percentile(double part) {
    MutexLock lock(&mu_);
    if (took_.empty()) return 0;
    std::sort(took_.begin(), took_.end());
    return took_[static_cast<size_t>(part * static_cast<double>(took_.size() - 1))];
  }

 private:
  void Connect(int connections) {
    testing::TestCertificateOptions wanted;
    wanted.common_name = "front-proxy-client";
    const testing::TestCertificate own = proxies_.IssueClient(wanted);
    HttpClientOptions options;
    options.url = absl::StrCat("https://localhost:", server_->port());
    options.ca_pem = authority_.certificate_pem();
    options.client_certificate_pem = own.certificate_pem;
    options.client_key_pem = own.key_pem;
    options.connections = connections;
    auto client = NewHttpClient(options);
    problem_.Update(client.status());
    if (problem_.ok()) client_ = *std::move(client);
  }

  testing::TestFolder folder_;
  testing::TestAuthority authority_, proxies_{"front proxy"};
  FakeKubeApi api_{{.clock = &Clock::Real(), .streams_wait = true}};
  testing::FakePictureSource pictures_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<HttpClient> client_;
  absl::Status problem_;
  Mutex mu_;
  std::vector<double> took_ ABSL_GUARDED_BY(mu_);
};

void Measure(benchmark::State& state, const std::string& target, int connections) {
  static std::unique_ptr<World> world;  // the library's threads share nothing else
  static std::atomic<int> busy;
  if (state.thread_index() == 0) {
    world = std::make_unique<World>(connections);
    busy = state.threads();
    while (world->problem().ok() && absl::IsUnavailable(world->Ask(absl::StrCat(kPrefix, target)))) {
      Clock::Real().SleepFor(absl::Milliseconds(20));
    }
  }
  std::vector<double> milliseconds;
  for (auto _ : state) {
    const absl::Time begin = Clock::Real().TimeNow();
    const absl::Status answer = world->problem().ok() ? world->Ask(absl::StrCat(kPrefix, target)) : world->problem();
    if (!answer.ok()) state.SkipWithError(answer.ToString().c_str());
    milliseconds.push_back(absl::ToDoubleMilliseconds(Clock::Real().TimeNow() - begin));
  }
  world->Took(std::move(milliseconds));
  --busy;
  if (state.thread_index() != 0) return;
  while (busy > 0) Clock::Real().SleepFor(absl::Milliseconds(1));
  state.counters["p50"] = world->Percentile(0.50);
  state.counters["p99"] = world->Percentile(0.99);
  world.reset();
}

void BM_QueuePage(benchmark::State& state) { Measure(state, "queues/team-a/queueunits?limit=100&offset=50000", 32); }
BENCHMARK(BM_QueuePage)->Threads(1)->Threads(8)->UseRealTime();

void BM_QueuePhasePage(benchmark::State& state) {
  Measure(state, "queues/team-a/queueunits?limit=100&offset=50000&phase=Enqueued", 32);
}
BENCHMARK(BM_QueuePhasePage)->Threads(1)->Threads(8)->UseRealTime();

void BM_QuotaPage(benchmark::State& state) {
  Measure(state, "elasticquotas/team-a/queueunits?limit=100&offset=50000", 32);
}
BENCHMARK(BM_QuotaPage)->Threads(1)->Threads(8)->UseRealTime();

void BM_NewConnection(benchmark::State& state) { Measure(state, "queues/team-a/queueunits?limit=100&offset=50000", 0); }
BENCHMARK(BM_NewConnection)->Threads(1)->Threads(8)->UseRealTime();

}  // namespace
}  // namespace kq::visibility

BENCHMARK_MAIN();
