#include "services/scheduler/plugins/registry.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "services/scheduler/plugins/priority_order.h"
#include "services/scheduler/plugins/queue_selector.h"

namespace kq::scheduler {
namespace {

QueueUnit Unit(const std::string& ns, const std::string& name, int32_t priority, int64_t created) {
  QueueUnit unit;
  unit.key = {ns, name};
  unit.priority = priority;
  unit.created = absl::FromUnixSeconds(created);
  return unit;
}

TEST_CASE("higher priority, then older, then by name: a strict total order", "[plugins]") {
  const PriorityOrder order;
  const std::vector<QueueUnit> sorted = {Unit("n", "x", 20, 9),  Unit("n", "old", 10, 1), Unit("n", "a", 10, 2),
                                         Unit("n", "b", 10, 2),  Unit("o", "b", 10, 2),   Unit("n", "none", 0, 0),
                                         Unit("n", "low", -5, 0)};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      CAPTURE(sorted[i].key.ToString(), sorted[j].key.ToString());
      CHECK(order.Before(sorted[i], sorted[j]) == (i < j));
    }
  }
}

TEST_CASE("the queue of a unit has the name of its quota", "[plugins]") {
  QueueUnit unit;
  CHECK(QueueOfQuota().QueueFor(unit) == std::nullopt);
  unit.quota = "team-a";
  CHECK(QueueOfQuota().QueueFor(unit) == "team-a");
}

TEST_CASE("a configuration gets its policies, and every mistake is named at once", "[plugins]") {
  const auto policies = MakePolicies(DefaultPlugins(), 1.0);
  REQUIRE(policies.ok());
  CoreOptions options;
  (*policies)->Fill(&options);
  CHECK(options.selector != nullptr);
  CHECK(options.order != nullptr);
  CHECK(options.admission.size() == 1);

  const auto wrong = MakePolicies({"ElasticQuotaV2", "Fancy", "defaultgroup"}, -1);
  CHECK(wrong.status().code() == absl::StatusCode::kInvalidArgument);
  const std::string message(wrong.status().message());
  for (const char* part :
       {"oversell rate -1", "\"Fancy\"", "\"defaultgroup\"", "no plugin gives an order", "known plugins: Priority"}) {
    CHECK_THAT(message, Catch::Contains(part));
  }
}

}  // namespace
}  // namespace kq::scheduler
