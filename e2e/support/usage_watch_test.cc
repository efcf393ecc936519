#include "e2e/support/usage_watch.h"

#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "e2e/support/objects.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq::e2e {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

TEST_CASE("of an admission that a list tells of, the version is not known", "[e2e]") {
  FakeKubeApi api({.clock = &Clock::Real(), .streams_wait = true});
  api.AddResource(kUnits, {.kind = "QueueUnit", .status_subresource = true});
  std::atomic<bool> away = false;
  api.set_faults([&away](const FakeCall& call) {
    const bool reads = call.verb == FakeCall::Verb::kList || call.verb == FakeCall::Verb::kWatch;
    return FakeFault{away && reads ? FakeFault::Kind::kRefused : FakeFault::Kind::kNone};
  });
  const auto create = [&api](const std::string& name) {
    Json unit = UnitObject(name, "q");
    unit.at("spec") = {{"resource", {{"cpu", "1"}}}};
    REQUIRE(api.Create(kUnits, "n", unit).ok());
  };
  const auto write = [&api](const std::string& name, const std::string& phase) {
    const absl::StatusOr<Json> written =
        api.Patch({kUnits, {"n", name}, Subresource::kStatus, PatchType::kMerge, {{"status", {{"phase", phase}}}}});
    REQUIRE(written.ok());
    return VersionOf(*written);
  };
  for (const char* name : {"a-missed", "b-seen", "c-waits"}) create(name);
  UsageWatch watch(&api, "n", {{"q", 3000}});
  REQUIRE(Await(kPatience, [&] { return watch.UnitCount() == 3; }));
  const uint64_t seen = write("b-seen", "Dequeued");
  REQUIRE(Await(kPatience, [&] { return watch.admissions() == 1; }));

  away = true;
  api.CutWatches();
  write("a-missed", "Dequeued");
  write("a-missed", "Running");
  api.Compact();
  away = false;
  REQUIRE(Await(kPatience, [&] { return watch.admissions() == 2; }));
  create("d-later");
  REQUIRE(Await(kPatience, [&] { return watch.UnitCount() == 4; }));
  const uint64_t later = write("d-later", "Dequeued");
  REQUIRE(Await(kPatience, [&] { return watch.admissions() == 3; }));

  std::map<std::string, std::vector<uint64_t>> admitted;
  for (const auto& [unit, versions] : watch.AdmittedAt()) admitted[unit.name] = versions;
  CHECK(admitted ==
        std::map<std::string, std::vector<uint64_t>>{{"a-missed", {0}}, {"b-seen", {seen}}, {"d-later", {later}}});
  CHECK(watch.exceeded() == "");
}

}  // namespace
}  // namespace kq::e2e
