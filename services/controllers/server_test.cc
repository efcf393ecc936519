#include "services/controllers/server.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/http/http_client.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq::controllers {
namespace {

const KubeResource kJobs{"batch", "v1", "jobs"};
const KubeResource kUnits{"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
const KubeResource kEvents{"", "v1", "events"};
const KubeResource kLeases{"coordination.k8s.io", "v1", "leases"};

Json FromText(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  const absl::StatusOr<Json> json = ParseJson(text);
  REQUIRE(json.ok());
  return *json;
}

// Waits for what must come; a test that fails waits long, one that passes does not.
bool Comes(const std::function<bool()>& condition) {
  const absl::Time deadline = Clock::Real().TimeNow() + absl::Seconds(60);
  while (Clock::Real().TimeNow() < deadline) {
    if (condition()) return true;
    Clock::Real().SleepFor(absl::Milliseconds(5));
  }
  return false;
}

struct Cluster {
  Cluster() {
    api.AddResource(kJobs, {.kind = "Job", .status_subresource = true});
    api.AddResource({"", "v1", "pods"}, {.kind = "Pod", .status_subresource = true});
    api.AddResource({"scheduling.k8s.io", "v1", "priorityclasses"}, {.kind = "PriorityClass", .namespaced = false});
    api.AddResource(kEvents, {.kind = "Event"});
    api.AddResource(kLeases, {.kind = "Lease"});
  }
  void AddCrds() {
    api.AddResource(kUnits,
                    {.kind = "QueueUnit", .status_subresource = true, .default_status = {{"phase", "Enqueued"}}});
  }
  void CreateJob(const std::string& name) {
    const Json job = FromText("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" + name +
                              "','namespace':'ns','labels':{'alibabacloud.com/quota-name':'q'}},'spec':{'suspend':true,"
                              "'template':{'spec':{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}}}}");
    REQUIRE(api.Create(kJobs, "ns", job).ok());
  }
  void Admit(const std::string& name) {
    PatchRequest request;
    request.resource = kUnits;
    request.key = {"ns", name};
    request.subresource = Subresource::kStatus;
    request.patch =
        FromText("{'status':{'phase':'Dequeued','admissions':[{'name':'" + name + "','replicas':1,'running':0}]}}");
    REQUIRE(api.Patch(request).ok());
  }
  bool Suspended(const std::string& name) {
    const absl::StatusOr<Json> job = api.Get(kJobs, {"ns", name});
    return job.ok() && *Find(*job, {"spec", "suspend"}) == true;
  }
  bool HasUnit(const std::string& name) { return api.Get(kUnits, {"ns", name}).ok(); }

  FakeKubeApi api{{.clock = &Clock::Real(), .streams_wait = true}};
  std::atomic<int> exits{0};
};

Config Quick() {
  Config config;
  config.environment.host = "h";
  config.metrics_address = "127.0.0.1:0";
  config.health_address = "127.0.0.1:0";
  config.workers = 4;
  config.report_interval = absl::Milliseconds(10);
  return config;
}

std::unique_ptr<Server> Start(Cluster* cluster, Config config) {
  Server::Surroundings surroundings;
  surroundings.api = &cluster->api;
  surroundings.on_lease_lost = [cluster] { ++cluster->exits; };
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(std::move(config), std::move(surroundings));
  INFO(server.status());
  REQUIRE(server.ok());
  return *std::move(server);
}

HttpResponse Ask(int port, const std::string& target) {
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", port);
  const auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  HttpRequest request;
  request.target = target;
  const absl::StatusOr<HttpResponse> response = (*client)->Call(request, absl::Seconds(10));
  REQUIRE(response.ok());
  return *response;
}

}  // namespace

TEST_CASE("the process queues a job, releases it, and says so") {
  Cluster cluster;
  cluster.AddCrds();
  auto server = Start(&cluster, Quick());
  cluster.CreateJob("a");
  REQUIRE(Comes([&] { return cluster.HasUnit("a"); }));
  cluster.Admit("a");
  REQUIRE(Comes([&] { return !cluster.Suspended("a"); }));
  REQUIRE(Comes([&] { return cluster.api.Objects(kEvents).size() == 1; }));
  const Json event = cluster.api.Objects(kEvents)[0];
  CHECK(StringAt(event, {"reason"}) == "Resume");
  CHECK(StringAt(event, {"involvedObject", "name"}) == "a");

  const std::string metrics = Ask(server->metrics_port(), "/metrics").body;
  for (const char* line :
       {"controller_runtime_reconcile_total{controller=\"job\",result=\"success\"}",
        "koord_queue_controllers_steps_total{controller=\"job\",result=\"made\",step=\"Resume\"} 1",
        "koord_queue_controllers_objects{controller=\"job\",kind=\"queueunits\"} 1", "workqueue_depth{name=\"job\"} 0",
        "controller_runtime_max_concurrent_reconciles{controller=\"job\"} 4", "process_resident_memory_bytes",
        "workqueue_queue_duration_seconds_count{name=\"job\"}", "workqueue_work_duration_seconds_count{name=\"job\"}",
        "koord_queue_controllers_build_info"}) {
    CAPTURE(line);
    CHECK(metrics.find(line) != std::string::npos);
  }
  CHECK(Ask(server->health_port(), "/healthz").body == "ok");
  CHECK(Ask(server->health_port(), "/readyz").code == 200);
  server->Stop();
}

TEST_CASE("without CRDs the process is not ready, says which, and goes on when they come") {
  Cluster cluster;
  auto server = Start(&cluster, Quick());
  cluster.CreateJob("a");
  REQUIRE(Comes([&] {
    const HttpResponse ready = Ask(server->health_port(), "/readyz?verbose");
    return ready.code == 503 && ready.body.find("queueunits.scheduling.x-k8s.io") != std::string::npos;
  }));
  CHECK_FALSE(server->Works());
  CHECK(Ask(server->health_port(), "/healthz").code == 200);
  cluster.AddCrds();
  REQUIRE(Comes([&] { return cluster.HasUnit("a"); }));
  CHECK(Ask(server->health_port(), "/readyz").code == 200);
}

TEST_CASE("of two replicas one works, and the other takes over when it stops") {
  Cluster cluster;
  cluster.AddCrds();
  Config config = Quick();
  config.lease.election = true;
  config.lease.duration = absl::Seconds(3);
  config.lease.renew_deadline = absl::Seconds(2);
  config.lease.retry_period = absl::Milliseconds(100);
  auto first = Start(&cluster, config);
  REQUIRE(Comes([&] { return first->Works(); }));
  auto second = Start(&cluster, config);
  cluster.CreateJob("a");
  REQUIRE(Comes([&] { return cluster.HasUnit("a"); }));
  REQUIRE(Comes([&] { return Ask(second->health_port(), "/readyz").code == 200; }));
  CHECK_FALSE(second->Works());
  CHECK(Comes(
      [&] { return Ask(second->health_port(), "/readyz?verbose").body.find("held by h_") != std::string::npos; }));
  first->Stop();
  REQUIRE(Comes([&] { return second->Works(); }));
  cluster.CreateJob("b");
  CHECK(Comes([&] { return cluster.HasUnit("b"); }));
  CHECK(cluster.exits == 0);
}

TEST_CASE("a replica that cannot renew its lease ends") {
  Cluster cluster;
  cluster.AddCrds();
  Config config = Quick();
  config.lease.election = true;
  config.lease.duration = absl::Milliseconds(900);
  config.lease.renew_deadline = absl::Milliseconds(500);
  config.lease.retry_period = absl::Milliseconds(50);
  auto server = Start(&cluster, config);
  REQUIRE(Comes([&] { return server->Works(); }));
  cluster.api.set_faults([](const FakeCall& call) {
    FakeFault fault;
    if (call.resource.plural == "leases") fault.kind = FakeFault::Kind::kUnavailable;
    return fault;
  });
  REQUIRE(Comes([&] { return cluster.exits == 1; }));
  CHECK_FALSE(server->Works());
}

namespace {

// The machine's clock, which a test sets forward.
class ShiftedClock : public Clock {
 public:
  absl::Time TimeNow() const override { return Real().TimeNow() + absl::Nanoseconds(shift_.load()); }
  void SleepUntil(absl::Time deadline) const override { Real().SleepFor(deadline - TimeNow()); }
  void Shift(absl::Duration by) { shift_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> shift_{0};
};

}  // namespace

TEST_CASE("a process whose workers hang is not alive, and alive again when they go on") {
  Cluster cluster;
  cluster.AddCrds();
  ShiftedClock clock;
  std::atomic<bool> hang{true}, hangs{false};
  cluster.api.set_faults([&](const FakeCall& call) {
    if (call.verb == FakeCall::Verb::kCreate && call.resource == kUnits) {
      hangs = true;
      while (hang) Clock::Real().SleepFor(absl::Milliseconds(5));
    }
    return FakeFault{};
  });
  Config config = Quick();
  config.workers = 1;
  Server::Surroundings surroundings;
  surroundings.api = &cluster.api;
  surroundings.clock = &clock;
  auto server = Server::Start(config, std::move(surroundings));
  REQUIRE(server.ok());
  REQUIRE(Comes([&] { return (*server)->Works(); }));
  cluster.CreateJob("a");
  REQUIRE(Comes([&] { return hangs.load(); }));
  CHECK(Ask((*server)->health_port(), "/livez").code == 200);

  clock.Shift(absl::Minutes(9));
  CHECK(Ask((*server)->health_port(), "/livez").code == 200);
  clock.Shift(absl::Minutes(2));
  const HttpResponse dead = Ask((*server)->health_port(), "/livez?verbose");
  CHECK(dead.code == 503);
  CHECK(absl::StrContains(dead.body, "job: no turn for 11m"));
  hang = false;
  CHECK(Comes([&] { return Ask((*server)->health_port(), "/livez").code == 200; }));
  CHECK(cluster.HasUnit("a"));
}

TEST_CASE("a process whose lease is never answered is not alive, led or not") {
  Cluster cluster;
  cluster.AddCrds();
  ShiftedClock clock;
  std::atomic<bool> hang{false}, hangs{false};
  cluster.api.set_faults([&](const FakeCall& call) {
    while (hang && call.resource == kLeases) {
      hangs = true;
      Clock::Real().SleepFor(absl::Milliseconds(5));
    }
    return FakeFault{};
  });
  const bool leads = GENERATE(false, true);
  CAPTURE(leads);
  hang = !leads;
  Config config = Quick();
  config.lease.election = true;
  config.lease.retry_period = absl::Milliseconds(10);
  Server::Surroundings surroundings;
  surroundings.api = &cluster.api;
  surroundings.clock = &clock;
  auto server = Server::Start(config, std::move(surroundings));
  REQUIRE(server.ok());
  if (leads) REQUIRE(Comes([&] { return (*server)->Works(); }));
  hang = true;
  REQUIRE(Comes([&] { return hangs.load(); }));
  CHECK(Ask((*server)->health_port(), "/livez").code == 200);
  clock.Shift(absl::Minutes(11));
  CHECK(Comes([&] { return absl::StrContains(Ask((*server)->health_port(), "/livez").body, "control: no turn for"); }));
  hang = false;
}

TEST_CASE("a process that cannot list the cluster, or has nothing to do, is alive") {
  Cluster cluster;
  ShiftedClock clock;
  Server::Surroundings surroundings;
  surroundings.api = &cluster.api;
  surroundings.clock = &clock;
  auto server = Server::Start(Quick(), std::move(surroundings));
  REQUIRE(server.ok());
  const auto alive = [&] { return Ask((*server)->health_port(), "/livez").code == 200; };
  clock.Shift(absl::Minutes(11));
  CHECK(Comes(alive));
  CHECK_FALSE((*server)->Works());
  cluster.AddCrds();
  clock.Shift(absl::Minutes(1));  // over the backoff of the watches
  REQUIRE(Comes([&] { return (*server)->Works(); }));
  clock.Shift(absl::Minutes(11));
  CHECK(Comes(alive));
}

TEST_CASE("an address that is in use is told at the start") {
  Cluster cluster;
  auto server = Start(&cluster, Quick());
  Config config = Quick();
  config.metrics_address = absl::StrCat("127.0.0.1:", server->metrics_port());
  Server::Surroundings surroundings;
  surroundings.api = &cluster.api;
  CHECK_FALSE(Server::Start(config, surroundings).ok());
}

}  // namespace kq::controllers
