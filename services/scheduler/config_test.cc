#include "services/scheduler/config.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace kq::scheduler {
namespace {

// Parses `words` into `config`; the errors, one a line.
std::string Parse(const std::vector<std::string>& words, Config* config) {
  FlagSet flags("koord-queue", "test");
  RegisterFlags(&flags, config);
  const auto parsed = flags.Parse(words);
  config->warnings.insert(config->warnings.begin(), flags.warnings().begin(), flags.warnings().end());
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

std::string Apply(absl::string_view yaml, Config* config) {
  return std::string(ApplyConfigFile(yaml, config).message());
}

constexpr char kHead[] = "apiVersion: scheduling.k8s.io/v1\nkind: KoordQueueConfiguration\n";

TEST_CASE("the defaults are those of the contract, and valid") {
  Config config;
  CHECK(Parse({}, &config).empty());
  CHECK(config.metrics_address == ":10259");
  CHECK(config.grpc.address == "127.0.0.1:10260");
  CHECK(config.lease.ns + "/" + config.lease.name == "default/example-lease");
  CHECK(config.lease.OptionsFor(config.environment.Name()).duration == absl::Seconds(15));
  CHECK(config.lease.OptionsFor(config.environment.Name()).renew_deadline == absl::Seconds(10));
  CHECK(config.lease.OptionsFor(config.environment.Name()).retry_period == absl::Seconds(2));
  CHECK(config.lease.election);
  CHECK(config.api.qps == 0);
  CHECK(config.core.plugins == DefaultPlugins());
  CHECK(config.gates.On("QueueUnitConditions"));
  CHECK_FALSE(config.gates.On("QueueUnitActive"));
  CHECK(config.warnings.empty());
}

TEST_CASE("the flags of the original's chart are understood, and what has no effect is said") {
  Config config;
  CHECK(
      Parse({"--v=4", "--oversellrate=1.5", "--qps=50", "--burst=60", "--enableVisibilityServer=false",
             "--strictDequeueMode=false", "--podInitialBackoffSeconds=1", "--feature-gates=QueueUnitConditions=false"},
            &config)
          .empty());
  CHECK(config.log.verbosity == 4);
  CHECK(config.core.oversell == 1.5);
  CHECK(config.api.qps == 50);
  CHECK(config.api.burst == 60);
  CHECK_FALSE(config.gates.On("QueueUnitConditions"));
  CHECK(config.warnings.size() == 3);
}

TEST_CASE("a gate that changes nothing is said") {
  const std::vector<const char*> arguments = {"koord-queue", "--feature-gates=QueueUnitActive=true,ElasticQuota=true"};
  Config config;
  CHECK_FALSE(ParseConfig(static_cast<int>(arguments.size()), arguments.data(), &config).has_value());
  REQUIRE(config.warnings.size() == 1);
  CHECK_THAT(config.warnings[0], Catch::Contains("QueueUnitActive has no effect"));
}

TEST_CASE("a switch of the original whose part is a process of its own now: the log names the process") {
  for (const auto& [flag, process] : std::vector<std::pair<std::string, std::string>>{
           {"enableApiHandler", "koord-queue-debug-api"}, {"enableVisibilityServer", "koord-queue-visibility"}}) {
    for (const std::string& word : {"--" + flag, "--" + flag + "=true", "--" + flag + "=false"}) {
      CAPTURE(word);
      Config config;
      CHECK(Parse({word}, &config).empty());
      REQUIRE(config.warnings.size() == 1);
      CHECK_THAT(config.warnings[0], Catch::Contains("--" + flag) && Catch::EndsWith("is served by " + process));
    }
  }
}

// The errors of `words` name each of `about`.
void CheckNamed(const std::vector<std::string>& words, const std::vector<std::string>& about) {
  Config config;
  const std::string errors = Parse(words, &config);
  for (const std::string& name : about) {
    CAPTURE(name, errors);
    CHECK(errors.find(name) != std::string::npos);
  }
}

TEST_CASE("every flag that cannot be read is told at once") {
  CheckNamed({"--no-such-flag", "--asks-per-cycle=0", "--oversellrate=much", "--feature-gates=Telepathy=true"},
             {"no-such-flag", "asks-per-cycle", "oversellrate", "Telepathy"});
}

TEST_CASE("every value that does not fit is told at once") {
  CheckNamed({"--oversellrate=0", "--metrics-bind-address=nonsense", "--grpc-bind-address=0.0.0.0:10260",
              "--renew-deadline=20s", "--logging-format=xml",
              "--feature-gates=MaximumExecutionTime=true,QueueUnitConditions=false", "--tls-cert-file=x",
              "--kube-api-qps=-5", "--config=/nowhere"},
             {"oversell", "metrics-bind-address", "0.0.0.0:10260", "renew deadline", "logging-format",
              "MaximumExecutionTime=true needs QueueUnitActive=true",
              "MaximumExecutionTime=true needs QueueUnitConditions=true", "tls-private-key-file", "kube-api-qps",
              "cannot read /nowhere"});
}

TEST_CASE("feature gates depend on each other, and unknown ones are mistakes") {
  Config config;
  CHECK(Parse({"--feature-gates=MaximumExecutionTime=true,QueueUnitActive=true"}, &config).empty());
  Config state;
  CHECK_THAT(Parse({"--feature-gates=QueueUnitRequeueState=true,QueueUnitConditions=false"}, &state),
             Catch::Contains("QueueUnitRequeueState=true needs QueueUnitConditions=true"));
  Config unknown;
  CHECK_THAT(Parse({"--feature-gates=Telepathy=true"}, &unknown), Catch::Contains("Telepathy"));
}

TEST_CASE("without election the lease's times do not matter") {
  Config config;
  CHECK(Parse({"--leaderElection=false", "--renew-deadline=1h"}, &config).empty());
}

TEST_CASE("a configuration file names the plugins") {
  Config config;
  CHECK(Apply(std::string(kHead) + "plugins:\n- name: Priority\n- name: ElasticQuotaV2\n"
                                   "pluginConfigs:\n  ElasticQuotaV2: {}\n",
              &config)
            .empty());
  CHECK(config.core.plugins == std::vector<std::string>{"Priority", "ElasticQuotaV2"});
  CHECK(config.warnings.empty());
}

TEST_CASE("the time of reclaim protection may be a duration or nanoseconds") {
  for (const char* time : {"5m", "300000000000", "0"}) {
    CAPTURE(time);
    Config config;
    CHECK(Apply(absl::StrCat(kHead, "defaultReclaimProtectTime: ", time, "\n"), &config).empty());
    CHECK(config.warnings.size() == (std::string(time) == "0" ? 0 : 1));
  }
  for (const char* time : {"soon", "-5m", "[]", "1.5"}) {
    CAPTURE(time);
    Config config;
    CHECK_THAT(Apply(absl::StrCat(kHead, "defaultReclaimProtectTime: ", time, "\n"), &config),
               Catch::Contains("defaultReclaimProtectTime"));
  }
}

TEST_CASE("every mistake of a configuration file is told") {
  Config config;
  const std::string errors = Apply(
      "apiVersion: v1\nkind: Pod\nplugins:\n- name: Priority\n- name: Sorcery\n- {}\n"
      "pluginConfigs:\n  Alchemy: {}\ncolour: blue\n",
      &config);
  for (const char* about : {"apiVersion", "kind", "Sorcery", "plugins[2].name", "pluginConfigs.Alchemy", "colour"}) {
    CAPTURE(about, errors);
    CHECK(errors.find(about) != std::string::npos);
  }
  CHECK_THAT(Apply("a: [", &config), Catch::Contains("line"));
  CHECK_THAT(Apply("[]", &config), Catch::Contains("expected a mapping"));
}

TEST_CASE("the file that --config names is read with the flags") {
  const char* base = std::getenv("TEST_TMPDIR");
  const std::string path =
      absl::StrCat(base != nullptr ? base : "/tmp", "/config-", static_cast<int>(::getpid()), ".yaml");
  std::ofstream(path) << kHead << "plugins:\n- name: Sorcery\n";
  Config config;
  CHECK_THAT(Parse({"--config=" + path}, &config), Catch::Contains(path) && Catch::Contains("Sorcery"));
  ::unlink(path.c_str());
  Config missing;
  CHECK_THAT(Parse({"--config=" + path}, &missing), Catch::Contains("cannot read"));
}

TEST_CASE("the identity names the pod, or else the host, and is new each time") {
  Config config;
  config.environment.host = "machine";
  CHECK_THAT(config.lease.OptionsFor(config.environment.Name()).identity, Catch::StartsWith("machine_"));
  config.environment.pod_name = "koord-queue-0";
  CHECK_THAT(config.lease.OptionsFor(config.environment.Name()).identity, Catch::StartsWith("koord-queue-0_"));
  CHECK(config.lease.OptionsFor(config.environment.Name()).identity !=
        config.lease.OptionsFor(config.environment.Name()).identity);
}

}  // namespace
}  // namespace kq::scheduler
