#include "services/scheduler/sim/simulation.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"

namespace kq::scheduler {
namespace {

// Every violation of a range of seeds, with its seed; assertions inside the loops
// would cost more than the worlds.
std::vector<std::string> Violations(uint64_t first, uint64_t count) {
  SetLogThreshold(LogSeverity::kError);
  std::vector<std::string> all;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    for (const std::string& violation : Simulate({.seed = seed, .steps = 2000}).violations) {
      all.push_back(absl::StrCat("seed ", seed, ": ", violation));
    }
  }
  return all;
}

// The first seed of 1..400 in whose world a promise is broken; 0 if there is none.
uint64_t FirstBroken(Guards guards) {
  SetLogThreshold(LogSeverity::kError);
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    if (!Simulate({.seed = seed, .steps = 2000, .guards = guards}).violations.empty()) return seed;
  }
  return 0;
}

TEST_CASE("no promise is broken in the worlds of fixed seeds", "[sim]") {
  const std::vector<std::string> violations = Violations(1, 40);
  CHECK(violations == std::vector<std::string>{});
}

TEST_CASE("seeds that broke a promise once", "[sim]") {
  // 364, 536, 708: a picture went on showing an old value of a unit whose quota was gone.
  for (const uint64_t seed : {364, 536, 708}) {
    CAPTURE(seed);
    CHECK(Violations(seed, 1) == std::vector<std::string>{});
  }
}

TEST_CASE("the same seed gives the same decisions", "[sim]") {
  int64_t admitted = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const SimulationResult once = Simulate({.seed = seed, .steps = 500});
    const SimulationResult again = Simulate({.seed = seed, .steps = 500});
    CAPTURE(seed);
    CHECK(once.digest == again.digest);
    CHECK(once.admitted == again.admitted);
    admitted += once.admitted;
  }
  CHECK(admitted > 0);
}

TEST_CASE("without the guard on news a promise is broken", "[sim]") { CHECK(FirstBroken(Guards{.news = false}) != 0); }

TEST_CASE("without the guard on answers a promise is broken", "[sim]") {
  CHECK(FirstBroken(Guards{.answer = false}) != 0);
}

TEST_CASE("without the guard on removals a promise is broken", "[sim]") {
  CHECK(FirstBroken(Guards{.removal = false}) != 0);
}

}  // namespace
}  // namespace kq::scheduler
