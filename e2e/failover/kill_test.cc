// The scheduler is killed with -9 in the middle of many admissions, again and
// again, on a real API server. Whatever was decided, written or answered at that
// moment, no quota is exceeded at any time and the books are right afterwards.
//
// KILL_TEST_ROUNDS and KILL_TEST_UNITS make it longer: the full form is 10 x 1000.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "e2e/failover/usage_watch.h"
#include "e2e/support/child_process.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "proto/queueing/v1/scheduler.grpc.pb.h"

namespace kq::e2e {
namespace {

namespace pb = kq::queueing::v1;

constexpr char kQuotaNamespace[] = "kube-system";
constexpr absl::Duration kPatience = absl::Minutes(3);
constexpr int kWriters = 8;

int FromEnvironment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  int value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : fallback;
}

Json QuotaObject(const std::string& name, const std::string& parent, int64_t cores) {
  return {{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
          {"kind", "ElasticQuota"},
          {"metadata", {{"name", name}, {"labels", {{"quota.scheduling.koordinator.sh/parent", parent}}}}},
          {"spec", {{"max", {{"cpu", absl::StrCat(cores)}}}}}};
}

Json UnitObject(const std::string& name, const std::string& quota) {
  const Json container = {{"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
  const Json pod_set = {
      {"name", "main"}, {"count", 1}, {"template", {{"spec", {{"containers", JsonArray{container}}}}}}};
  return {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "QueueUnit"},
          {"metadata", {{"name", name}, {"labels", {{"quota.scheduling.koordinator.sh/name", quota}}}}},
          {"spec", {{"podSet", JsonArray{pod_set}}}}};
}

// Runs `work` for 0 .. count-1 in several threads.
void InParallel(int count, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&] {
      for (int n; (n = next.fetch_add(1)) < count;) work(n);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class Scheduler {
 public:
  Scheduler(const TestCluster& cluster, const std::string& lease_namespace)
      : grpc_port_(FreePort()),
        command_({DataFile("services/scheduler/koord-queue"), absl::StrCat("--kubeconfig=", cluster.kubeconfig()),
                  absl::StrCat("--lease-namespace=", lease_namespace), "--lease-name=kill-test", "--lease-duration=2s",
                  "--renew-deadline=1500ms", "--retry-period=250ms",
                  absl::StrCat("--grpc-bind-address=127.0.0.1:", grpc_port_),
                  absl::StrCat("--metrics-bind-address=127.0.0.1:", FreePort()), "--check-invariants"}) {}

  void Start() {
    auto child = ChildProcess::Start(command_, LogFile("koord-queue.log"));
    REQUIRE(child.ok());
    child_ = std::make_unique<ChildProcess>(*std::move(child));
  }
  void Kill() { child_ = nullptr; }
  bool Running() { return child_ != nullptr && child_->Running(); }

  // What the books say is used, cpu in milli by quota; empty while nobody leads.
  std::map<std::string, int64_t> Books() {
    const auto channel =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", grpc_port_), grpc::InsecureChannelCredentials());
    const auto stub = pb::Scheduler::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(Clock::Real().TimeNow() + absl::Seconds(5)));
    pb::GetSnapshotRequest request;
    request.set_without_units(true);
    pb::Snapshot snapshot;
    if (!stub->GetSnapshot(&context, request, &snapshot).ok()) return {};
    std::map<std::string, int64_t> used;
    for (const pb::QuotaSnapshot& quota : snapshot.quotas()) {
      used[quota.name()] = 0;
      for (const pb::Amount& amount : quota.used()) {
        if (amount.resource() == "cpu") used[quota.name()] = amount.amount();
      }
    }
    return used;
  }

 private:
  const int grpc_port_;
  const std::vector<std::string> command_;
  std::unique_ptr<ChildProcess> child_;
};

// Plays the controllers: admitted units finish after a while, so that the next ones
// have their turn, until it is told to let the rest run.
class Finisher {
 public:
  Finisher(KubeApi* api, UsageWatch* watch) : thread_([this, api, watch] { Run(api, watch); }) {}
  ~Finisher() { Stop(); }
  void Stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run(KubeApi* api, UsageWatch* watch) {
    const Json finished = {{"status", {{"phase", "Succeed"}, {"admissions", JsonArray()}}}};
    while (!stopped_) {
      for (const QueueUnit& unit : watch->Holders()) {
        if (stopped_) return;
        // Gone or changed meanwhile: its next turn comes.
        api->Patch({kUnits, unit.key, Subresource::kStatus, PatchType::kMerge, finished}).IgnoreError();
      }
      Clock::Real().SleepFor(absl::Milliseconds(20));
    }
  }

  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

TEST_CASE("killed in the middle of admissions, the books are right and no quota is exceeded", "[e2e]") {
  const int rounds = FromEnvironment("KILL_TEST_ROUNDS", 2);
  const int units = FromEnvironment("KILL_TEST_UNITS", 300);
  const int64_t cores = units / 6;  // of each quota; the parent has room for one and a half
  TestCluster cluster;
  const std::string ns = cluster.MakeNamespace("kill");
  const std::string parent = absl::StrCat(ns, "-p"), a = absl::StrCat(ns, "-a"), b = absl::StrCat(ns, "-b");
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(parent, "", cores * 3 / 2));
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(a, parent, cores));
  cluster.Create(kQuotas, kQuotaNamespace, QuotaObject(b, parent, cores));
  UsageWatch watch(&cluster.api(), ns, {{a, cores * 1000}, {b, cores * 1000}, {"", cores * 3 / 2 * 1000}});
  Scheduler scheduler(cluster, ns);

  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const int64_t before = watch.admissions();
    InParallel(units, [&](int n) {
      cluster.Create(kUnits, ns, UnitObject(absl::StrCat("u-", round, "-", n), n % 2 == 0 ? a : b));
    });
    scheduler.Start();
    {
      Finisher finisher(&cluster.api(), &watch);
      // Somewhere in the middle, another place each round.
      const int64_t kill_at = before + units / 5 + round * units / (2 * rounds);
      REQUIRE(Await(kPatience, [&] { return watch.admissions() >= kill_at; }));
      scheduler.Kill();
      scheduler.Start();
      // Most of the rest has its turn; then what runs stays.
      REQUIRE(Await(kPatience, [&] { return watch.admissions() >= before + units * 4 / 5; }));
    }
    const auto equal = [&] {
      std::map<std::string, int64_t> books = scheduler.Books();
      return books[a] == watch.Held(a) && books[b] == watch.Held(b) && books[parent] == watch.Held("") &&
             !books.empty();
    };
    // Everything that fits is running, and the books say what runs. Each unit asks for
    // one core, so a quota with room has nobody waiting, unless its parent is full.
    const auto settled = [&](const std::string& quota) {
      return watch.Waiting(quota) == 0 || watch.Held(quota) == cores * 1000 || watch.Held("") == cores * 3 / 2 * 1000;
    };
    const bool right = Await(kPatience, [&] { return settled(a) && settled(b) && equal(); });
    CHECK(right);
    CHECK(scheduler.Running());
    scheduler.Kill();
    cluster.DeleteAll(kUnits, ns);
    REQUIRE(Await(kPatience, [&] { return watch.UnitCount() == 0; }));
  }
  CHECK(watch.exceeded() == std::vector<std::string>{});
  for (const std::string& quota : {parent, a, b}) {
    CHECK(cluster.api().Delete({.resource = kQuotas, .key = {kQuotaNamespace, quota}}).ok());
    cluster.api().Delete({.resource = kQueues, .key = {"koord-queue", quota}}).IgnoreError();
  }
}

}  // namespace
}  // namespace kq::e2e
