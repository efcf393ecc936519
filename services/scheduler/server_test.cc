#include "services/scheduler/server.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"
#include "libs/http/http_client.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/leader_label.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const KubeResource kLeases{"coordination.k8s.io", "v1", "leases"};
const KubeResource kEvents{"", "v1", "events"};

// Waits for what is bound to come; the test's own time limit ends a wait in vain.
void Await(const std::function<bool()>& arrived) {
  while (!arrived()) Clock::Real().SleepFor(absl::Milliseconds(2));
}

// The machine's clock, which can be put forward.
class ClockAhead : public Clock {
 public:
  void PutForward(absl::Duration by) { ahead_ += absl::ToInt64Nanoseconds(by); }
  absl::Time TimeNow() const override { return Clock::Real().TimeNow() + absl::Nanoseconds(ahead_.load()); }
  void SleepUntil(absl::Time deadline) const override { Clock::Real().SleepFor(deadline - TimeNow()); }

 private:
  std::atomic<int64_t> ahead_ = 0;
};

// One API server in memory, and whole koord-queue processes without the process.
struct Cluster {
  Cluster() {
    AddKinds(&api);
    for (const auto& [resource, kind] :
         {std::pair(kLeases, "Lease"), std::pair(kEvents, "Event"), std::pair(Pods(), "Pod")}) {
      FakeResource options;
      options.kind = kind;
      api.AddResource(resource, options);
    }
    for (const char* pod : {"kq-0", "kq-1"}) REQUIRE(api.Create(Pods(), "kq", PodObject("kq", pod)).ok());
  }

  static Config Defaults(const std::string& pod) {
    Config config;
    config.metrics_address = "127.0.0.1:0";
    config.grpc.address = "127.0.0.1:0";
    config.environment.pod_name = pod;
    config.environment.pod_namespace = "kq";
    config.write_concurrency = 2;
    config.lease.duration = absl::Seconds(2);
    config.lease.renew_deadline = absl::Seconds(1);
    config.lease.retry_period = absl::Milliseconds(100);
    config.check_invariants = true;
    return config;
  }
  std::unique_ptr<Server> Start(const Config& config, const Clock* clock = &Clock::Real()) {
    Server::Surroundings surroundings;
    surroundings.clock = clock;
    surroundings.api = &api;
    surroundings.on_lease_lost = [this] { ++exits; };
    auto server = Server::Start(config, std::move(surroundings));
    REQUIRE(server.ok());
    return *std::move(server);
  }
  std::unique_ptr<Server> Start(const std::string& pod = "kq-0") { return Start(Defaults(pod)); }

  void CreateQuota(const std::string& name, int cpus) {
    REQUIRE(api.Create(ElasticQuotas(), "kube-system", QuotaObject(name, cpus)).ok());
  }
  void CreateUnit(const std::string& name, int cpus) {
    REQUIRE(api.Create(QueueUnits(), "default", UnitObject(name, "team-a", cpus)).ok());
  }
  std::string Phase(const std::string& unit) {
    return StringAt(OnServer(api, QueueUnits(), {"default", unit}), {"status", "phase"});
  }
  std::string Message(const std::string& unit) {
    return StringAt(OnServer(api, QueueUnits(), {"default", unit}), {"status", "message"});
  }
  void Finish(const std::string& unit) {
    REQUIRE(api.Patch({QueueUnits(),
                       {"default", unit},
                       Subresource::kStatus,
                       PatchType::kMerge,
                       JsonObject{{"status", JsonObject{{"phase", "Succeed"}, {"admissions", nullptr}}}}})
                .ok());
  }
  std::string LabelOf(const std::string& pod) {
    return StringAt(OnServer(api, Pods(), {"kq", pod}), {"metadata", "labels", kLeaderLabel});
  }
  bool HasEvent(const std::string& reason) {
    for (const Json& event : api.Objects(kEvents)) {
      if (StringAt(event, {"reason"}) == reason) return true;
    }
    return false;
  }

  FakeKubeApi api{{&Clock::Real(), {}, true}};
  std::atomic<int> exits = 0;
};

HttpResponse Get(const Server& server, const std::string& path) {
  HttpClientOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", server.metrics_port());
  auto client = NewHttpClient(options);
  REQUIRE(client.ok());
  HttpRequest request;
  request.target = path;
  auto response = (*client)->Call(request, absl::Seconds(20));
  REQUIRE(response.ok());
  return *response;
}

TEST_CASE("a quota and two units appear: a queue is made, one is admitted, the other is told why it waits") {
  Cluster cluster;
  const std::unique_ptr<Server> server = cluster.Start();
  cluster.CreateQuota("team-a", 4);
  cluster.CreateUnit("a", 4);
  Await([&] { return cluster.Phase("a") == "Dequeued"; });
  cluster.CreateUnit("b", 4);
  Await([&] { return absl::StartsWith(cluster.Message("b"), "limited quotaName:team-a, limited resKey:cpu,"); });
  CHECK_FALSE(OnServer(cluster.api, Queues(), {"koord-queue", "team-a"}).is_null());
  Await([&] { return cluster.HasEvent("Scheduled") && cluster.HasEvent("FailedScheduling"); });

  cluster.Finish("a");
  Await([&] { return cluster.Phase("b") == "Dequeued"; });
  Await([&] { return cluster.LabelOf("kq-0") == "true"; });
  server->Stop();
  CHECK(cluster.LabelOf("kq-0").empty());
  CHECK(cluster.exits == 0);
}

TEST_CASE("metrics and health are served, and say what the process is doing") {
  Cluster cluster;
  const std::unique_ptr<Server> server = cluster.Start();
  cluster.CreateQuota("team-a", 4);
  cluster.CreateUnit("a", 4);
  Await([&] { return cluster.Phase("a") == "Dequeued"; });
  Await([&] {
    return absl::StrContains(server->MetricsText(), "job_schedule_attempts{queue=\"team-a\",result=\"scheduled\"} 1");
  });
  Await([&] { return absl::StrContains(server->MetricsText(), "job_scheduling_e2e_latency_count 1"); });
  const HttpResponse metrics = Get(*server, "/metrics");
  CHECK(metrics.code == 200);
  for (const char* family : {"dequeued_quota_usage_by_quota{quota=\"team-a\",resource=\"cpu\"} 4000",
                             "koord_queue_leader 1", "process_cpu_seconds_total", "koord_queue_build_info",
                             "koord_queue_writes_total", "queueunits_in_active_queue{queue=\"team-a\"} 0"}) {
    CAPTURE(family);
    CHECK(absl::StrContains(metrics.body, family));
  }
  CHECK(Get(*server, "/livez").body == "ok");
  CHECK(Get(*server, "/healthz").code == 200);
  const HttpResponse ready = Get(*server, "/readyz?verbose");
  CHECK(ready.code == 200);
  CHECK(absl::StrContains(ready.body, "[+]leadership ok: leads"));
  CHECK(Get(*server, "/nowhere").code == 404);
}

TEST_CASE("field report 125: a decision loop that makes no turn for a minute is not alive, until it makes one") {
  Cluster cluster;
  ClockAhead clock;
  Config config = Cluster::Defaults("kq-0");
  config.lease.election = false;
  const std::unique_ptr<Server> server = cluster.Start(config, &clock);
  Await([&] { return server->Leads(); });
  CHECK(Get(*server, "/livez").code == 200);
  // Idle, it makes a turn every two seconds: the question comes before the next one, soon.
  std::string body;
  Await([&] {
    clock.PutForward(absl::Seconds(61));
    const HttpResponse response = Get(*server, "/livez");
    body = response.body;
    return response.code == 503;
  });
  CHECK_THAT(body, Catch::Contains("no turn for 1m"));
  cluster.CreateQuota("team-a", 4);
  Await([&] { return Get(*server, "/livez").code == 200; });
}

TEST_CASE("without an API server the process waits, says so, and goes on when it comes") {
  Cluster cluster;
  cluster.api.set_faults([](const FakeCall&) { return FakeFault{FakeFault::Kind::kRefused, absl::ZeroDuration()}; });
  const std::unique_ptr<Server> server = cluster.Start();
  Await([&] { return absl::StrContains(Get(*server, "/readyz").body, "waiting for the API server"); });
  CHECK(Get(*server, "/readyz").code == 503);
  CHECK(Get(*server, "/livez").code == 200);
  CHECK_FALSE(server->Leads());
  cluster.api.set_faults(nullptr);
  Await([&] { return server->Leads(); });
  Await([&] { return Get(*server, "/readyz").code == 200; });
}

TEST_CASE("a missing CRD is named, nobody leads, and the process goes on when it comes") {
  FakeKubeApi api({&Clock::Real(), {}, true});
  for (const auto& [resource, kind] :
       {std::pair(kLeases, "Lease"), std::pair(QueueUnits(), "QueueUnit"), std::pair(Queues(), "Queue")}) {
    FakeResource options;
    options.kind = kind;
    api.AddResource(resource, options);
  }
  Server::Surroundings surroundings;
  surroundings.api = &api;
  auto server = Server::Start(Cluster::Defaults(""), std::move(surroundings));
  REQUIRE(server.ok());
  Await([&] {
    return absl::StrContains(Get(**server, "/readyz").body, "waiting for CRD elasticquotas.scheduling.sigs.k8s.io");
  });
  CHECK_FALSE((*server)->Leads());
  FakeResource quota;
  quota.kind = "ElasticQuota";
  api.AddResource(ElasticQuotas(), quota);
  Await([&] { return (*server)->Leads(); });
  CHECK(absl::StrContains(Get(**server, "/readyz?verbose").body, "[+]leader-label ok: skipped: POD_NAME is not set"));
}

TEST_CASE("after a restart the books are the same") {
  Cluster cluster;
  cluster.CreateQuota("team-a", 4);
  {
    const std::unique_ptr<Server> first = cluster.Start();
    cluster.CreateUnit("a", 3);
    Await([&] { return cluster.Phase("a") == "Dequeued"; });
    cluster.CreateUnit("b", 2);
    Await([&] { return !cluster.Message("b").empty(); });
  }
  const std::unique_ptr<Server> second = cluster.Start();
  Await([&] {
    return absl::StrContains(second->MetricsText(),
                             "dequeued_quota_usage_by_quota{quota=\"team-a\",resource=\"cpu\"} 3000");
  });
  cluster.CreateUnit("c", 1);
  Await([&] { return cluster.Phase("c") == "Dequeued"; });
  CHECK(cluster.Phase("b") != "Dequeued");
}

TEST_CASE("of two replicas one leads; when it stops the other goes on at once") {
  Cluster cluster;
  cluster.CreateQuota("team-a", 4);
  const std::unique_ptr<Server> first = cluster.Start("kq-0");
  Await([&] { return first->Leads() && cluster.LabelOf("kq-0") == "true"; });
  const std::unique_ptr<Server> second = cluster.Start("kq-1");
  Await([&] { return absl::StrContains(Get(*second, "/readyz?verbose").body, "follows kq-0_"); });
  CHECK(Get(*second, "/readyz").code == 200);
  CHECK_FALSE(second->Leads());
  CHECK_FALSE(absl::StrContains(second->MetricsText(), "queueunits_in_active_queue"));

  cluster.CreateUnit("a", 2);
  Await([&] { return cluster.Phase("a") == "Dequeued"; });
  first->Stop();
  CHECK(cluster.LabelOf("kq-0").empty());
  cluster.CreateUnit("b", 2);
  Await([&] { return cluster.Phase("b") == "Dequeued"; });
  CHECK(second->Leads());
  Await([&] { return cluster.LabelOf("kq-1") == "true"; });
}

TEST_CASE("a leader that cannot renew its lease wants the process to end, and writes no more") {
  Cluster cluster;
  cluster.CreateQuota("team-a", 4);
  const std::unique_ptr<Server> server = cluster.Start();
  Await([&] { return server->Leads(); });
  Await([&] { return cluster.LabelOf("kq-0") == "true"; });
  Await([&] { return absl::StrContains(server->MetricsText(), "queueunits_in_active_queue{queue=\"team-a\"} 0"); });
  cluster.api.set_faults([](const FakeCall& call) {
    const bool lease = call.resource == kLeases;
    return FakeFault{lease ? FakeFault::Kind::kRefused : FakeFault::Kind::kNone, absl::ZeroDuration()};
  });
  Await([&] { return cluster.exits == 1; });
  CHECK_FALSE(server->Leads());
  for (const char* family : {"queueunits_", "dequeued_quota_usage", "koord_queue_queue_trouble", "job_schedule_at"}) {
    CAPTURE(family);
    CHECK_FALSE(absl::StrContains(server->MetricsText(), family));
  }
  cluster.CreateUnit("a", 1);
  server->Stop();
  CHECK(cluster.LabelOf("kq-0").empty());
  CHECK(cluster.Phase("a") != "Dequeued");
}

TEST_CASE("what cannot work is an error at the start") {
  Cluster cluster;
  Config taken = Cluster::Defaults("");
  const std::unique_ptr<Server> server = cluster.Start();
  taken.metrics_address = absl::StrCat("127.0.0.1:", server->metrics_port());
  Server::Surroundings surroundings;
  surroundings.api = &cluster.api;
  CHECK(absl::IsUnavailable(Server::Start(taken, surroundings).status()));
  Config no_folder = Cluster::Defaults("");
  no_folder.decision_log_dir = "/proc/nowhere";
  CHECK_FALSE(Server::Start(no_folder, surroundings).ok());
  Config nowhere = Cluster::Defaults("");
  CHECK_THAT(std::string(Server::Start(nowhere, {}).status().message()), Catch::Contains("no API server"));
}

}  // namespace
}  // namespace kq::scheduler
