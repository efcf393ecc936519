#include "libs/process/settings.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "libs/common/flags.h"

namespace kq {
namespace {

// What is wrong, a line each; empty if nothing is.
template <typename Settings>
std::string Parse(const std::vector<std::string>& words, Settings* settings) {
  FlagSet flags("program", "1");
  settings->Register(&flags);
  flags.Check([settings] { return settings->Check(); });
  const auto rest = flags.Parse(words);
  return rest.ok() ? "" : std::string(rest.status().message());
}

TEST_CASE("the API server: names of old are accepted, and rates that make no sense are not") {
  ApiServerSettings good;
  CHECK(Parse({"--qps=5", "--burst=7", "--context=c"}, &good).empty());
  CHECK(good.qps == 5);
  CHECK(good.burst == 7);
  ApiServerSettings bad;
  const std::string errors = Parse({"--kube-api-qps=-1", "--events-per-second=0"}, &bad);
  CHECK_THAT(errors, Catch::Contains("--kube-api-qps") && Catch::Contains("--events-per-second"));
}

TEST_CASE("where no API server is named, that is said") {
  const auto connection = ApiServerSettings().Connection(Environment());
  REQUIRE(absl::IsInvalidArgument(connection.status()));
  CHECK_THAT(std::string(connection.status().message()), Catch::Contains("--kubeconfig"));
}

TEST_CASE("the flag's kubeconfig counts before the environment's") {
  Environment environment;
  environment.kubeconfig = "/no/such/environment";
  CHECK_THAT(std::string(ApiServerSettings().Connection(environment).status().message()),
             Catch::Contains("/no/such/environment"));
  ApiServerSettings settings;
  settings.kubeconfig = "/no/such/flag";
  CHECK_THAT(std::string(settings.Connection(environment).status().message()), Catch::Contains("/no/such/flag"));
}

TEST_CASE("the identity names the holder and is new each time") {
  const LeaseSettings lease{.name = "n", .ns = "ns"};
  CHECK(lease.OptionsFor("pod-1").key == ObjectKey{"ns", "n"});
  CHECK_THAT(lease.OptionsFor("pod-1").identity, Catch::StartsWith("pod-1_"));
  CHECK(lease.OptionsFor("pod-1").identity != lease.OptionsFor("pod-1").identity);
}

TEST_CASE("the times of a lease are checked only where there is an election") {
  LeaseSettings lease{.name = "n", .ns = "ns", .duration = absl::Seconds(1)};
  CHECK_FALSE(lease.Check().ok());
  lease.election = false;
  CHECK(lease.Check().ok());
}

TEST_CASE("the log has two formats") {
  LogSettings log;
  CHECK(Parse({"-v=4", "--logging-format=json", "--logtostderr"}, &log).empty());
  CHECK(log.verbosity == 4);
  LogSettings other;
  CHECK_THAT(Parse({"--logging-format=xml"}, &other), Catch::Contains("text or json"));
}

TEST_CASE("gates that need each other, and gates that there are not") {
  FeatureGates gates;
  CHECK_THAT(Parse({"--feature-gates=MaximumExecutionTime=true"}, &gates),
             Catch::Contains("needs QueueUnitActive=true"));
  FeatureGates unknown;
  CHECK_THAT(Parse({"--feature-gates=Telepathy=true"}, &unknown), Catch::Contains("Telepathy"));
  FeatureGates good;
  CHECK(Parse({"--feature-gates=QueueUnitConditions=false"}, &good).empty());
  CHECK_FALSE(good.On("QueueUnitConditions"));
  CHECK(good.Warnings().empty());
}

TEST_CASE("each gate but one that is turned is told to have no effect, and what is so instead") {
  for (const auto& [gate, by_default] : FeatureGates::Defaults()) {
    FeatureGates gates;
    CHECK(gates.Warnings().empty());
    gates.on[gate] = !by_default;
    CAPTURE(gate);
    if (gate == "QueueUnitConditions") {
      CHECK(gates.Warnings().empty());
    } else {
      REQUIRE(gates.Warnings().size() == 1);
      CHECK_THAT(gates.Warnings()[0], Catch::Contains(gate + " has no effect in this version: "));
    }
  }
}

TEST_CASE("a process is known by its pod, or else by its host") {
  Environment environment;
  environment.host = "machine";
  CHECK(environment.Name() == "machine");
  environment.pod_name = "koord-queue-0";
  CHECK(environment.Name() == "koord-queue-0");
}

}  // namespace
}  // namespace kq
