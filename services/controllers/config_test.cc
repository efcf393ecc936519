#include "services/controllers/config.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace kq::controllers {
namespace {

struct Parsed {
  Config config;
  std::string errors;  // empty: none
  std::vector<std::string> warnings;
};

Parsed Parse(const std::vector<std::string>& words) {
  Parsed parsed;
  parsed.config.environment.host = "h";
  FlagSet flags("koord-queue-controllers", "1");
  RegisterFlags(&flags, &parsed.config);
  const auto rest = flags.Parse(words);
  if (!rest.ok()) parsed.errors = std::string(rest.status().message());
  parsed.warnings = flags.warnings();
  return parsed;
}

}  // namespace

TEST_CASE("the defaults are those of the original, without a limit of ours on requests") {
  const Config config = Parse({}).config;
  CHECK(config.metrics_address == ":8080");
  CHECK(config.health_address == ":8081");
  CHECK_FALSE(config.lease.election);
  CHECK(config.extensions == std::vector<std::string>{"job"});
  CHECK(config.workers == 20);
  CHECK(config.retries_per_second == 100);
  CHECK(config.api.qps == 0);
  CHECK(config.Lease().OptionsFor(config.environment.Name()).key ==
        ObjectKey{"koord-queue", "koord-queue-controllers-job"});
  CHECK(config.Lease().OptionsFor(config.environment.Name()).identity.rfind("h_", 0) == 0);
}

TEST_CASE("flags of the original are understood") {
  const Parsed parsed =
      Parse({"--qps=300", "--burst", "300", "--leader-elect", "--leader-namespace=ns", "--enabled-extensions=job",
             "--manage-all-jobs", "--workers=5", "--wqqps=7", "--enable-pod-reclaim=false", "--config=/x",
             "--default-requeue-period=1m", "--enable-job-extensions=true",
             "--feature-gates=ElasticQuota=true,QueueUnitConditions=false"});
  CHECK(parsed.errors == "");
  CHECK(parsed.config.api.qps == 300);
  CHECK(parsed.config.api.burst == 300);
  CHECK(parsed.config.lease.election);
  CHECK(parsed.config.lease.ns == "ns");
  CHECK(parsed.config.manage_all_jobs);
  CHECK(parsed.config.workers == 5);
  CHECK(parsed.config.retries_per_second == 7);
  CHECK_FALSE(parsed.config.gates.On("QueueUnitConditions"));
  CHECK(parsed.warnings.size() == 3);
}

TEST_CASE("a gate that changes nothing is said") {
  const std::vector<const char*> arguments = {"koord-queue-controllers",
                                              "--feature-gates=QueueUnitActive=true,ElasticQuota=true"};
  Config config;
  CHECK_FALSE(ParseConfig(static_cast<int>(arguments.size()), arguments.data(), &config).has_value());
  REQUIRE(config.warnings.size() == 1);
  CHECK_THAT(config.warnings[0], Catch::Contains("QueueUnitActive has no effect"));
}

TEST_CASE("everything that is wrong is told at once") {
  const auto has_all = [](const std::string& errors, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      CAPTURE(word, errors);
      CHECK(errors.find(word) != std::string::npos);
    }
  };
  has_all(Parse({"--workers=0", "--nonsense", "--feature-gates=NoGate=true"}).errors,
          {"workers", "nonsense", "NoGate"});
  has_all(Parse({"--enabled-extensions=job,tfjob,x,job", "--metrics-bind-address=8080", "--kube-api-qps=-5",
                 "--enable-job-extensions=false", "--leader-elect", "--lease-duration=5s"})
              .errors,
          {"\"tfjob\" is not supported by this version", "\"x\" is not known", "\"job\" is there twice",
           "--metrics-bind-address", "--kube-api-qps", "--enable-job-extensions", "lease duration"});
}

TEST_CASE("gates that need each other") {
  const std::string errors = Parse({"--feature-gates=MaximumExecutionTime=true"}).errors;
  CHECK(errors.find("MaximumExecutionTime=true needs QueueUnitActive=true") != std::string::npos);
}

}  // namespace kq::controllers
