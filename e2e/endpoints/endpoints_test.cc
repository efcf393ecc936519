// The chart's own Services on a cluster of its own: the APIService says
// MissingEndpoints while no pod is ready, and what the real EndpointSlice controller
// puts behind Service koord-queue is the leader alone. The schedulers are those of the
// chart's pods, and have its rights and no others.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "e2e/chart/pod_process.h"
#include "e2e/support/chart_release.h"
#include "e2e/support/own_cluster.h"
#include "e2e/support/test_cluster.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr char kApiService[] = "v1alpha1.visibility.koord-queue.x-k8s.io";
using Names = std::vector<std::string>;

class World {
 public:
  World()
      : release_(own_.kubeconfig(),
                 "controller.replicas=2,controller.enableVisibilityServer=true,visibility.replicas=0,"
                 "controller.leaderElection.leaseDuration=2s,controller.leaderElection.renewDeadline=1500ms,"
                 "controller.leaderElection.retryPeriod=250ms"),
        cluster_(own_.kubeconfig(), TestCluster::Definitions::kLeaveOut) {}

  TestCluster& cluster() { return cluster_; }
  // The condition Available of the APIService: "False MissingEndpoints".
  std::string Availability() const {
    return cluster_.Kubectl(
        absl::StrCat("get apiservice ", kApiService,
                     R"( -o jsonpath='{range .status.conditions[?(@.type=="Available")]}{.status} {.reason}{end}')"));
  }
  bool Becomes(const std::string& availability) const {
    return Await(kPatience, [&] { return Availability() == availability; });
  }

 private:
  OwnCluster own_;
  ChartRelease release_;
  TestCluster cluster_;
};

void CheckMissingEndpoints(World& world) {
  CHECK(world.Becomes("False MissingEndpoints"));
  CHECK_THAT(world.cluster().Kubectl(absl::StrCat("get apiservice ", kApiService)),
             Catch::Contains("False (MissingEndpoints)"));
  CHECK_THAT(
      world.cluster().Kubectl(absl::StrCat("get --raw /apis/visibility.koord-queue.x-k8s.io/v1alpha1 2>&1 || true")),
      Catch::Contains("ServiceUnavailable"));
  // With a ready pod there is somebody to ask, whom this API server cannot reach.
  world.cluster().Kubectl("-n koord-queue scale deployment koord-queue-visibility --replicas=1");
  REQUIRE(Await(kPatience, [&] {
    return ChartRelease::Endpoints(&world.cluster(), "koord-queue-visibility-server").size() == 1;
  }));
  CHECK(world.Becomes("False FailedDiscoveryCheck"));
  world.cluster().Kubectl("-n koord-queue scale deployment koord-queue-visibility --replicas=0");
  CHECK(world.Becomes("False MissingEndpoints"));
}

using Replicas = std::map<std::string, std::unique_ptr<PodProcess>>;

// A process in each pod of the Deployment, by the pod's name.
Replicas StartReplicas(World& world, const std::string& format) {
  Replicas replicas;
  for (const auto& [pod, address] : ChartRelease::ReadyPods(&world.cluster(), "koord-queue")) {
    replicas[pod] =
        std::make_unique<PodProcess>(&world.cluster(), PodProcessOptions{.deployment = "koord-queue",
                                                                         .container = "controller",
                                                                         .program = "services/scheduler/koord-queue",
                                                                         .pod = pod,
                                                                         .flags = {"--logging-format=" + format}});
    replicas[pod]->Start();
  }
  return replicas;
}

// The seed's own command, on the log file in place of kubectl logs.
std::string BecameLeader(const PodProcess& replica) {
  return Run(absl::StrCat("cat ", replica.log(), R"( | grep -m1 "became leader" || true)"));
}

void CheckLeaderAlone(World& world, const std::string& format) {
  CAPTURE(format);
  REQUIRE(Await(kPatience, [&] { return ChartRelease::ReadyPods(&world.cluster(), "koord-queue").size() == 2; }));
  const auto pods = ChartRelease::ReadyPods(&world.cluster(), "koord-queue");
  const Replicas replicas = StartReplicas(world, format);
  const auto alone = [&](const std::string& pod) {
    for (const auto& [name, address] : pods) {
      if (name == pod) return ChartRelease::Endpoints(&world.cluster(), "koord-queue") == Names{address};
    }
    return false;
  };
  std::string leader;
  REQUIRE(Await(kPatience, [&] {
    for (const auto& [pod, replica] : replicas) {
      if (replica->Leads()) leader = pod;
    }
    return !leader.empty();
  }));
  CHECK(Await(kPatience, [&] { return alone(leader); }));
  const std::string line = BecameLeader(*replicas.at(leader));
  CHECK_THAT(line, Catch::Contains("became leader, start to do job queuing"));
  if (format == "json") CHECK(ParseJson(line.substr(0, line.find('\n'))).ok());
  CHECK(CountOf(replicas.at(leader)->LogText(), "became leader") == 1);

  const std::string other = replicas.begin()->first == leader ? replicas.rbegin()->first : replicas.begin()->first;
  CHECK(BecameLeader(*replicas.at(other)).empty());
  replicas.at(leader)->Kill();  // its pod keeps its label, until the next leader takes it off
  CHECK(Await(kPatience, [&] { return alone(other); }));
  CHECK_THAT(BecameLeader(*replicas.at(other)), Catch::Contains("became leader"));
  CHECK(replicas.at(other)->Stop().value_or(-1) == 0);
  CHECK(Await(kPatience, [&] { return ChartRelease::Endpoints(&world.cluster(), "koord-queue").empty(); }));
}

TEST_CASE("the chart's Services lead to ready pods, and to the leader alone", "[endpoints]") {
  World world;
  CheckMissingEndpoints(world);
  CheckLeaderAlone(world, "text");
  CheckLeaderAlone(world, "json");
}

}  // namespace
}  // namespace kq::e2e
