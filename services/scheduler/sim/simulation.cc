#include "services/scheduler/sim/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/simulated_clock.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/plugins/registry.h"
#include "services/scheduler/sim/chance.h"
#include "services/scheduler/sim/cluster.h"
#include "services/scheduler/sim/process.h"

namespace kq::scheduler {
namespace {

constexpr ListedKind kKinds[] = {ListedKind::kUnits, ListedKind::kQueues, ListedKind::kQuotas};
constexpr int kSettleRounds = 400;

// How often each part of the world moves; changes every while, so that now the
// watch lags, now the writes, now the turns.
struct Pace {
  size_t users = 0, watch = 0, writes = 0, turns = 0;
};

Pace RandomPace(Chance* chance) {
  const auto pick = [&] { return size_t{1} << chance->Pick(6); };
  return {pick(), pick(), pick(), pick()};
}

class World {
 public:
  explicit World(const SimulationOptions& options)
      : options_(options),
        chance_(options.seed),
        clock_(absl::FromUnixSeconds(1'000'000)),
        exceeds_(options.seed % 4 == 0),
        cluster_(Weather{.faults = true, .users_exceed = exceeds_}, &chance_, &clock_) {
    Begin();
  }

  SimulationResult Run() {
    for (step_ = 0; step_ < options_.steps && result_.violations.empty(); ++step_) {
      Step();
      Check();
    }
    if (result_.violations.empty()) Settle();
    if (result_.violations.empty()) CheckSettled();
    End();
    return std::move(result_);
  }

 private:
  void Begin() {
    process_ =
        std::make_unique<Process>(options_.guards, absl::StrCat("epoch-", result_.restarts),
                                  options_.seed * 1000 + result_.restarts + 1, cluster_.scheduler_api(), &clock_);
  }
  void End() {
    result_.digest = result_.digest * 31 + process_->digest();
    result_.admitted += process_->admitted();
    process_ = nullptr;
  }
  void Restart() {
    End();
    ++result_.restarts;
    // What the dead process had sent has landed by the time its lease is over.
    cluster_.server()->LandLate();
    clock_.Advance(absl::Seconds(15));
    Begin();
  }

  void Step();
  void PassTime();
  void Check();
  void Settle();
  void CheckSettled();
  void CheckBooks(Core& fresh);
  void CheckTold(const std::vector<UnitSnapshot>& units);
  void Violate(absl::string_view what) { result_.violations.push_back(absl::StrCat("step ", step_, ": ", what)); }

  const SimulationOptions options_;
  Chance chance_;
  SimulatedClock clock_;
  const bool exceeds_;
  Cluster cluster_;
  std::unique_ptr<Process> process_;
  SimulationResult result_;
  Pace pace_{8, 8, 8, 8};
  int step_ = 0;
  uint64_t checked_version_ = 0;
};

void World::Step() {
  if (chance_.OneIn(40)) pace_ = RandomPace(&chance_);
  constexpr size_t kRest = 6;
  size_t what = chance_.Pick(pace_.users + pace_.watch + pace_.writes + pace_.turns + kRest);
  const auto is = [&](size_t weight) {
    const bool mine = what < weight;
    what = mine ? 0 : what - weight;
    return mine;
  };
  if (is(pace_.users)) {
    for (size_t n = 1 + chance_.Pick(3); n > 0; --n) cluster_.UserActs();
    return;
  }
  if (is(pace_.watch)) {
    const ListedKind kind = kKinds[chance_.OneIn(3) ? chance_.Pick(std::size(kKinds)) : 0];
    for (size_t n = 1 + chance_.Pick(6); n > 0; --n) process_->Watch(kind);
    return;
  }
  if (is(pace_.writes)) return chance_.OneIn(4) ? process_->WriteQueueObject() : process_->WriteUnit();
  if (is(pace_.turns)) return process_->Turn();
  PassTime();
}

void World::PassTime() {
  switch (chance_.Pick(12)) {
    case 0:
      return process_->WriteEvent();
    case 1:
      return clock_.SetTime(clock_.TimeNow() - absl::Seconds(chance_.Pick(20)));
    case 2:
    case 3:
    case 4:
      return cluster_.ServerActs();
    case 5:
      if (chance_.OneIn(8)) Restart();
      return;
    default:
      return clock_.Advance(absl::Milliseconds(chance_.Pick(3000)));
  }
}

void World::Check() {
  for (const std::string& broken : process_->TakeViolations()) Violate(broken);
  if (exceeds_ || cluster_.version() == checked_version_) return;
  checked_version_ = cluster_.version();
  for (const std::string& exceeded : cluster_.ExceededLimits()) Violate(exceeded);
}

void World::Settle() {
  cluster_.Calm();
  cluster_.server()->LandLate();
  int quiet = 0;
  for (int round = 0; round < kSettleRounds && quiet < 5; ++round) {
    const uint64_t before = cluster_.version();
    for (const ListedKind kind : kKinds) {
      for (int n = 0; n < 40; ++n) process_->Watch(kind);
    }
    process_->Turn();
    for (int n = 0; n < 40; ++n) process_->WriteUnit();
    for (int n = 0; n < 10; ++n) process_->WriteQueueObject();
    // Longer than any backoff.
    clock_.Advance(absl::Seconds(61));
    Check();
    quiet = cluster_.version() == before && !process_->Busy() ? quiet + 1 : 0;
  }
  if (quiet < 5) Violate("the world does not settle");
}

void World::CheckSettled() {
  const std::unique_ptr<Policies> policies = *MakePolicies(DefaultPlugins(), 1.0);
  CoreOptions options;
  policies->Fill(&options);
  Core fresh(std::move(options));
  const absl::Time now = clock_.TimeNow();
  for (const Quota& quota : cluster_.Quotas()) fresh.Apply(QuotaUpserted{quota}, now);
  for (const Queue& queue : cluster_.Queues()) fresh.Apply(QueueUpserted{queue}, now);
  for (const QueueUnit& unit : cluster_.Units()) fresh.Apply(UnitUpserted{unit}, now);
  for (const ListedKind kind : kKinds) fresh.Apply(Listed{kind}, now);
  fresh.Apply(LeadershipTaken{"fresh"}, now);
  for (const Decision& decision : fresh.RunCycle(now)) {
    if (const auto* dequeue = std::get_if<Dequeue>(&decision))
      Violate(absl::StrCat(dequeue->unit.ToString(), " fits and waits"));
    if (std::holds_alternative<CreateQueue>(decision)) Violate("a quota has no queue");
    if (std::holds_alternative<DeleteQueue>(decision)) Violate("a queue without a quota is still there");
    if (std::holds_alternative<UpdateQueue>(decision)) Violate("a policy label was not carried over");
  }
  CheckBooks(fresh);
  const auto snapshot = process_->core().TakeSnapshot(now);
  for (const auto& queue : snapshot->queues) CheckTold(queue->waiting);
  CheckTold(*snapshot->unplaced);
}

void World::CheckTold(const std::vector<UnitSnapshot>& units) {
  for (const UnitSnapshot& unit : units) {
    // The controllers tell of the phases that they end; who holds a quota that is gone does not wait.
    const bool theirs = unit.place == Place::kInactive && !IsWaiting(unit.unit->phase);
    const bool waits = !theirs && unit.place != Place::kAdmitted && unit.place != Place::kDraining;
    if (!waits) continue;
    if (unit.why == nullptr) {
      Violate(absl::StrCat(unit.unit->key.ToString(), " waits for no reason"));
    } else if (!absl::StartsWith(unit.unit->message, RefusalPrefix(*unit.why))) {
      Violate(absl::StrCat(unit.unit->key.ToString(), " was not told: ", RefusalSentence(*unit.why)));
    }
  }
}

void World::CheckBooks(Core& fresh) {
  const auto want = fresh.TakeSnapshot(clock_.TimeNow());
  const auto have = process_->core().TakeSnapshot(clock_.TimeNow());
  for (const auto& queue : have->queues) {
    if (queue->assumed != 0)
      Violate(absl::StrCat("queue ", queue->queue.key.name, ": an assumption was never answered"));
  }
  if (have->queues.size() != want->queues.size()) Violate("the queues differ from those on the server");
  if (have->quotas.size() != want->quotas.size()) return Violate("the quotas differ from those on the server");
  for (size_t i = 0; i < want->quotas.size(); ++i) {
    if (!Resources::EqualAmounts(have->quotas[i]->used, want->quotas[i]->used)) {
      Violate(absl::StrCat("quota ", want->quotas[i]->quota.key.name, ": books ", have->quotas[i]->used.DebugString(),
                           ", after a restart ", want->quotas[i]->used.DebugString()));
    }
  }
}

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) { return World(options).Run(); }

}  // namespace kq::scheduler
