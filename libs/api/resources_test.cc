#include "libs/api/resources.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/hash/hash.h"

namespace kq {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST_CASE("entries are in the order of their names and the later of two wins", "[resources]") {
  const Resources resources{{"memory", 1}, {"cpu", 2}, {"nvidia.com/gpu", 3}, {"cpu", 4}};
  CHECK(resources.DebugString() == "cpu=4 memory=1 nvidia.com/gpu=3");
  CHECK(resources.Size() == 3);
}

TEST_CASE("an absent resource is 0 and explicit zeros stay", "[resources]") {
  Resources resources;
  CHECK(resources.Empty());
  CHECK(resources.At("cpu") == 0);
  CHECK_FALSE(resources.Has("cpu"));
  resources.Set("cpu", 0);
  CHECK(resources.Has("cpu"));
  CHECK_FALSE(resources.Empty());
  CHECK_FALSE(resources == Resources());
  CHECK(Resources::EqualAmounts(resources, Resources()));
  CHECK(resources.Nonzero() == Resources());
  resources.Erase("cpu");
  resources.Erase("memory");
  CHECK(resources.Empty());
}

TEST_CASE("add and subtract walk over the resources of both", "[resources]") {
  Resources used{{"cpu", 1000}, {"pods", 1}};
  used.Add({{"cpu", 500}, {"memory", 7}, {"zeta", 9}});
  CHECK(used == Resources{{"cpu", 1500}, {"memory", 7}, {"pods", 1}, {"zeta", 9}});
  used.Subtract({{"cpu", 1500}, {"amd.com/gpu", 2}});
  CHECK(used == Resources{{"amd.com/gpu", -2}, {"cpu", 0}, {"memory", 7}, {"pods", 1}, {"zeta", 9}});
  CHECK(used.AnyNegative());
  used.AddTo("amd.com/gpu", 2);
  used.AddTo("beta", 3);
  CHECK_FALSE(used.AnyNegative());
  CHECK(used.At("beta") == 3);
  CHECK(Resources{{"cpu", 1}} + Resources{{"cpu", 2}} == Resources{{"cpu", 3}});
  CHECK(Resources{{"cpu", 1}} - Resources{{"cpu", 2}} == Resources{{"cpu", -1}});
}

TEST_CASE("resources may be added to and subtracted from themselves", "[resources]") {
  Resources resources{{"cpu", 3}, {"memory", 5}};
  resources.Add(resources);
  CHECK(resources == Resources{{"cpu", 6}, {"memory", 10}});
  resources.Subtract(resources);
  CHECK(resources == Resources{{"cpu", 0}, {"memory", 0}});
}

TEST_CASE("SubtractOrZero leaves nothing below zero", "[resources]") {
  Resources resources{{"cpu", 3}, {"memory", 5}};
  resources.SubtractOrZero({{"cpu", 4}, {"memory", 1}, {"pods", 1}});
  CHECK(resources == Resources{{"cpu", 0}, {"memory", 4}, {"pods", 0}});
}

TEST_CASE("amounts stop at the ends of 64 bits", "[resources]") {
  CHECK(Resources{{"memory", kMax}} + Resources{{"memory", 1}} == Resources{{"memory", kMax}});
  CHECK(Resources{{"memory", kMin}} - Resources{{"memory", 1}} == Resources{{"memory", kMin}});
  CHECK(Resources{{"memory", kMax}} - Resources{{"memory", -1}} == Resources{{"memory", kMax}});
  CHECK(Resources() - Resources{{"memory", kMin}} == Resources{{"memory", kMax}});
  CHECK(Resources{{"memory", kMax / 2}}.Scaled(3) == Resources{{"memory", kMax}});
  CHECK(Resources{{"memory", kMax / 2}}.Scaled(-3) == Resources{{"memory", kMin}});
  CHECK(Resources{{"memory", -5}}.Scaled(kMin) == Resources{{"memory", kMax}});
  CHECK(Resources{{"memory", 5}}.Scaled(0) == Resources{{"memory", 0}});
  CHECK(SaturatingMultiply(kMin, -1) == kMax);
  CHECK(SaturatingAdd(kMin, kMax) == -1);
}

TEST_CASE("max and min keep what only one names", "[resources]") {
  const Resources a{{"cpu", 1}, {"memory", 9}, {"x", -3}}, b{{"cpu", 2}, {"memory", 8}, {"y", -4}};
  CHECK(Resources::Max(a, b) == Resources{{"cpu", 2}, {"memory", 9}, {"x", -3}, {"y", -4}});
  CHECK(Resources::Min(a, b) == Resources{{"cpu", 1}, {"memory", 8}, {"x", -3}, {"y", -4}});
}

TEST_CASE("only what a limit names is limited", "[resources]") {
  const Resources need{{"cpu", 4}, {"memory", 8}};
  CHECK(need.FitsWithin({}));
  CHECK(need.FitsWithin({{"cpu", 4}}));
  CHECK(need.FitsWithin({{"memory", 8}, {"pods", 0}}));
  CHECK_FALSE(need.FitsWithin({{"cpu", 3}, {"memory", 100}}));
  CHECK_FALSE(need.FitsWithin({{"memory", 0}}));
  CHECK(Resources().FitsWithin({{"cpu", 0}}));
  CHECK(Resources{{"cpu", 0}}.FitsWithin({{"cpu", 0}}));
}

TEST_CASE("equal resources have equal hashes", "[resources]") {
  const Resources a{{"cpu", 1}, {"memory", 2}}, b{{"memory", 2}, {"cpu", 1}};
  CHECK(a == b);
  CHECK(absl::HashOf(a) == absl::HashOf(b));
  CHECK(Resources().DebugString() == "(nothing)");
}

// A book in the plainest form, for comparison.
using Book = std::map<std::string, int64_t>;

Resources FromBook(const Book& book) {
  Resources out;
  for (const auto& [name, amount] : book) out.Set(name, amount);
  return out;
}

TEST_CASE("random sums are those of a plain map, and subtract undoes add", "[resources][property]") {
  std::mt19937_64 random(1);
  const std::vector<std::string> names = {"cpu", "memory", "pods", "nvidia.com/gpu", "ephemeral-storage", "a", "zz"};
  int wrong = 0;
  for (int round = 0; round < 2'000; ++round) {
    Book expected;
    Resources used;
    std::vector<Resources> added;
    for (int step = 0; step < 10; ++step) {
      Resources need;
      for (uint64_t n = random() % 5; n > 0; --n) {
        need.Set(names[random() % names.size()], static_cast<int64_t>(random() % 1000) - 100);
      }
      for (const auto& [name, amount] : need) expected[name] += amount;
      used.Add(need);
      added.push_back(need);
    }
    if (!(used == FromBook(expected))) ++wrong;
    for (const Resources& need : added) used.Subtract(need);
    if (!Resources::EqualAmounts(used, {}) || !used.Nonzero().Empty()) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("EqualAmounts agrees with comparing without zeros", "[resources][property]") {
  std::mt19937_64 random(2);
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  int wrong = 0, equal = 0;
  for (int round = 0; round < 20'000; ++round) {
    Resources a, b;
    for (int n = 0; n < 3; ++n) {
      a.Set(names[random() % 4], static_cast<int64_t>(random() % 2));
      b.Set(names[random() % 4], static_cast<int64_t>(random() % 2));
    }
    const bool same = a.Nonzero() == b.Nonzero();
    equal += same;
    if (Resources::EqualAmounts(a, b) != same) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(equal > 1'000);
}

}  // namespace
}  // namespace kq
