// Runs the simulation over a range of seeds:
//
//   bazel run -c opt //services/scheduler/sim -- --first-seed=1 --seeds=1000 --steps=2000
//   bazel run -c opt //services/scheduler/sim -- --seed=4711
//   bazel run -c opt //services/scheduler/sim -- --without-guard=news
//
// Ends with 0 if every promise was kept in every world, with 1 and the seeds and
// the commit otherwise.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "libs/common/flags.h"
#include "libs/common/log.h"
#include "libs/common/version.h"
#include "services/scheduler/sim/simulation.h"

namespace kq::scheduler {
namespace {

struct Wanted {
  int64_t first_seed = 1;
  int64_t seeds = 100;
  int64_t steps = 2000;
  int64_t seed = 0;
  std::string without_guard;
  std::string commit = "unknown";
};

bool TakeGuardAway(const std::string& name, Guards* guards) {
  if (name == "news") guards->news = false;
  if (name == "answer") guards->answer = false;
  if (name == "removal") guards->removal = false;
  return name.empty() || !guards->news || !guards->answer || !guards->removal;
}

// The commit of the workspace that `bazel run` was called in.
std::string CommitOfWorkspace() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr || chdir(workspace) != 0) return std::string(GitCommit());
  const std::unique_ptr<FILE, int (*)(FILE*)> git(popen("git rev-parse --short HEAD 2>/dev/null", "r"), pclose);
  char line[64] = {};
  if (git == nullptr || fgets(line, sizeof(line), git.get()) == nullptr) return std::string(GitCommit());
  return std::string(absl::StripAsciiWhitespace(line));
}

int Run(const Wanted& wanted) {
  SimulationOptions options;
  options.steps = static_cast<int>(wanted.steps);
  TakeGuardAway(wanted.without_guard, &options.guards);
  const uint64_t first = wanted.seed != 0 ? wanted.seed : wanted.first_seed;
  const uint64_t count = wanted.seed != 0 ? 1 : wanted.seeds;
  const auto start = std::chrono::steady_clock::now();
  int64_t bad = 0, admitted = 0, restarts = 0;
  for (options.seed = first; options.seed < first + count; ++options.seed) {
    const SimulationResult result = Simulate(options);
    admitted += result.admitted;
    restarts += result.restarts;
    if (result.violations.empty()) continue;
    if (++bad > 10) continue;
    std::cout << "seed " << options.seed << " (commit " << wanted.commit << "):\n";
    for (const std::string& violation : result.violations) std::cout << "  " << violation << "\n";
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << absl::StrFormat("%d seeds of %d steps, %d admissions, %d restarts, %.1f s: %d with violations\n", count,
                               wanted.steps, admitted, restarts, seconds, bad);
  if (bad > 0)
    std::cout << "replay one with --seed=N --steps=" << wanted.steps << " at commit " << wanted.commit << "\n";
  return bad > 0 ? 1 : 0;
}

}  // namespace
}  // namespace kq::scheduler

int main(int argc, char** argv) {
  kq::scheduler::Wanted wanted;
  wanted.commit = kq::scheduler::CommitOfWorkspace();
  kq::FlagSet flags("sim", kq::kVersion, "Runs the scheduler in simulated worlds and checks what it promises.");
  flags.Int("first-seed", &wanted.first_seed, "the first seed", {.lowest = 1});
  flags.Int("seeds", &wanted.seeds, "how many seeds, one after the other", {.lowest = 1});
  flags.Int("steps", &wanted.steps, "steps of each world", {.lowest = 1, .highest = 100'000'000});
  flags.Int("seed", &wanted.seed, "replays this seed alone; 0: a range", {.lowest = 0});
  flags.String("without-guard", &wanted.without_guard, "takes a version guard away: news, answer or removal");
  flags.Check([&] {
    kq::scheduler::Guards guards;
    if (kq::scheduler::TakeGuardAway(wanted.without_guard, &guards)) return absl::OkStatus();
    return absl::InvalidArgumentError("--without-guard takes news, answer or removal");
  });
  if (const std::optional<int> code = flags.ParseOrExitCode(argc, argv)) return *code;
  kq::SetLogThreshold(kq::LogSeverity::kError);
  return kq::scheduler::Run(wanted);
}
