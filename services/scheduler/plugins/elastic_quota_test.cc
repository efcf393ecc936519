#include "services/scheduler/plugins/elastic_quota.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "services/scheduler/core/testing/levels.h"

namespace kq::scheduler {
namespace {

using Level = Levels::Level;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

Resources Cpu(int64_t cores) { return Resources{{"cpu", cores * 1000}}; }

struct Case {
  std::string name;
  std::vector<Level> path;  // the unit's quota first
  Resources need;
  Refusal want = Refusal::kNone;
  std::string at = "";  // quota
  std::string resource = "";
  int64_t short_by = 0;  // amount
};

TEST_CASE("the quota rule, level by level", "[plugins]") {
  const auto c = GENERATE(values<Case>({
      {"a need that fits is admitted", {{"a", {}, Cpu(4), Cpu(1), {}}}, Cpu(3)},
      {"one milli too much is refused",
       {{"a", {}, Cpu(4), Cpu(1), {}}},
       Resources{{"cpu", 3001}},
       Refusal::kOverMax,
       "a",
       "cpu",
       1},
      {"quota max 11, used 8: 3 fits", {{"a", {}, Cpu(11), Cpu(8), {}}}, Cpu(3)},
      {"quota max 11, used 8: 4 does not",
       {{"a", {}, Cpu(11), Cpu(8), {}}},
       Cpu(4),
       Refusal::kOverMax,
       "a",
       "cpu",
       1000},
      {"a resource that max does not name is unlimited", {{"a", {}, Cpu(4), {}, {}}}, Resources{{"memory", kHuge / 2}}},
      {"an empty max refuses any need", {{"a", {}, {}, {}, {}}}, Cpu(1), Refusal::kQuotaEmpty, "a", "", 0},
      {"an empty max admits who asks for nothing", {{"a", {}, {}, {}, {}}}, {}},
      {"a max of zero refuses", {{"a", {}, Cpu(0), {}, {}}}, Cpu(1), Refusal::kOverMax, "a", "cpu", 1000},
      {"who asks for zero of a full resource is admitted", {{"a", {}, Cpu(4), Cpu(9), {}}}, Resources{{"cpu", 0}}},
      {"the parent may refuse what the leaf allows",
       {{"a", {}, Cpu(20), {}, {}}, {"parent", {}, Cpu(20), Cpu(15), {}}},
       Cpu(10),
       Refusal::kOverMax,
       "parent",
       "cpu",
       5000},
      {"the leaf is named before its parent",
       {{"a", {}, Cpu(1), {}, {}}, {"parent", {}, Cpu(1), {}, {}}},
       Cpu(2),
       Refusal::kOverMax,
       "a",
       "cpu",
       1000},
      {"the first short resource by name is told",
       {{"a", {}, Resources{{"cpu", 1}, {"memory", 1}}, {}, {}}},
       Resources{{"memory", 5}, {"cpu", 5}},
       Refusal::kOverMax,
       "a",
       "cpu",
       4},
      {"an over-full quota admits nothing more",
       {{"a", {}, Cpu(4), Cpu(6), {}}},
       Cpu(1),
       Refusal::kOverMax,
       "a",
       "cpu",
       3000},
      // Parent max 10, A min 4, B min 4 that does not lend, both idle.
      {"8 of a parent's 10 are refused while a sibling keeps its 4",
       {{"A", Cpu(4), Cpu(10), {}, {}}, {"parent", {}, Cpu(10), {}, Cpu(4)}},
       Cpu(8),
       Refusal::kGuaranteedToOthers,
       "parent",
       "cpu",
       2000},
      {"6 of them are admitted", {{"A", Cpu(4), Cpu(10), {}, {}}, {"parent", {}, Cpu(10), {}, Cpu(4)}}, Cpu(6)},
      {"need within min meets the hard limit alone",
       {{"A", Cpu(4), Cpu(10), {}, {}}, {"parent", {}, Cpu(10), Cpu(6), Cpu(4)}},
       Cpu(4)},
      {"within min, but others borrowed: the hard limit refuses",
       {{"A", Cpu(4), Cpu(10), {}, {}}, {"parent", {}, Cpu(10), Cpu(8), {}}},
       Cpu(4),
       Refusal::kOverMax,
       "parent",
       "cpu",
       2000},
      {"half of the need is within min, half above: the guarantee of others counts",
       {{"A", Cpu(4), Cpu(10), Cpu(2), {}}, {"parent", {}, Cpu(10), Cpu(2), Cpu(5)}},
       Cpu(4),
       Refusal::kGuaranteedToOthers,
       "parent",
       "cpu",
       1000},
      {"field report 31: 10P is more than 1P, not zero",
       {{"a", {}, Resources{{"ephemeral-storage", 1'000'000'000'000'000}}, {}, {}}},
       Resources{{"ephemeral-storage", 10'000'000'000'000'000}},
       Refusal::kOverMax,
       "a",
       "ephemeral-storage",
       9'000'000'000'000'000},
      {"field report 44: a huge cap on what nobody asks for hinders nobody",
       {{"a", {}, Resources{{"cpu", 4000}, {"nvidia.com/gpu", 9999}}, {}, {}}},
       Cpu(1)},
      {"a sum beyond int64 fits nowhere",
       {{"a", {}, Resources{{"memory", kHuge}}, Resources{{"memory", kHuge - 10}}, {}}},
       Resources{{"memory", 100}},
       Refusal::kOverMax,
       "a",
       "memory",
       0},
  }));
  CAPTURE(c.name);
  const Verdict verdict = ElasticQuota().Check(QueueUnit{}, c.need, Levels(c.path));
  CHECK(verdict.refusal.refusal == c.want);
  CHECK(verdict.refusal.quota == c.at);
  CHECK(verdict.refusal.resource == c.resource);
  CHECK(verdict.refusal.short_by == c.short_by);
}

TEST_CASE("oversell multiplies max without floating point in the comparison", "[plugins]") {
  const Levels path({{"a", {}, Cpu(10), {}, {}}});
  CHECK(ElasticQuota(1.5).Check(QueueUnit{}, Cpu(15), path).ok());
  CHECK_FALSE(ElasticQuota(1.5).Check(QueueUnit{}, Resources{{"cpu", 15001}}, path).ok());
  CHECK_FALSE(ElasticQuota(0.5).Check(QueueUnit{}, Cpu(6), path).ok());
  const Levels full({{"a", {}, Resources{{"memory", kHuge}}, {}, {}}});
  CHECK(ElasticQuota(1000).Check(QueueUnit{}, Resources{{"memory", kHuge - 1}}, full).ok());
}

TEST_CASE("a path that cannot be used refuses with its own reason", "[plugins]") {
  Verdict trouble;
  trouble.refusal.refusal = Refusal::kQuotaCycle;
  trouble.refusal.quota = "a";
  CHECK(ElasticQuota().Check(QueueUnit{}, Cpu(1), Levels({}, trouble)).refusal.refusal == Refusal::kQuotaCycle);
}

}  // namespace
}  // namespace kq::scheduler
