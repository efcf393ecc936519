#include "services/controllers/plan.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace kq::controllers {
namespace {

constexpr Phase kAllPhases[] = {Phase::kUnset,        Phase::kEnqueued,    Phase::kReserved,       Phase::kDequeued,
                                Phase::kRunning,      Phase::kSucceed,     Phase::kFailed,         Phase::kSchedReady,
                                Phase::kSchedSucceed, Phase::kSchedFailed, Phase::kTimeoutBackoff, Phase::kPreempted};

std::vector<JobState> AllJobStates() {
  std::vector<JobState> states;
  for (int i = 0; i < kJobStates; ++i) states.push_back(static_cast<JobState>(i));
  return states;
}

std::string PhaseText(Phase phase) { return phase == Phase::kUnset ? "(unset)" : std::string(PhaseName(phase)); }
std::string Text(absl::string_view text) { return std::string(text); }

// The whole life cycle, as it is to be read by people. "-" is no step.
constexpr absl::string_view kTable = R"(
phase          Absent  Deleting Waiting Stopping Holding Held Pending Running Succeeded Failed
(unset)        Collect -        -       -        -       -    Adopt   Adopt   Succeed   Fail
Enqueued       Collect -        -       -        -       -    Adopt   Adopt   Succeed   Fail
Reserved       Collect -        -       -        Hold    Hold Adopt   Adopt   Succeed   Fail
Dequeued       Collect -        Resume  -        Hold    Hold -       Run     Succeed   Fail
SchedReady     Collect -        Resume  -        Hold    Hold -       Run     Succeed   Fail
SchedSucceed   Collect -        Resume  -        Hold    Hold -       Run     Succeed   Fail
Running        Collect -        Requeue -        Hold    Hold -       -       Succeed   Fail
SchedFailed    Collect -        Requeue -        Hold    Hold Adopt   Adopt   Succeed   Fail
TimeoutBackoff Collect -        Requeue -        Hold    Hold Suspend Suspend Succeed   Fail
Preempted      Collect -        Requeue -        Hold    Hold Suspend Suspend Succeed   Fail
Succeed        Collect -        Requeue -        Hold    Hold Adopt   Adopt   -         Fail
Failed         Collect -        Requeue -        Hold    Hold Adopt   Adopt   Succeed   -
)";

// (phase, job state) -> step, by name.
std::map<std::pair<std::string, std::string>, std::string> ParsedTable() {
  std::map<std::pair<std::string, std::string>, std::string> out;
  std::vector<std::string> head;
  for (absl::string_view line : absl::StrSplit(kTable, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (head.empty()) {
      head = cells;
      continue;
    }
    REQUIRE(cells.size() == head.size());
    for (size_t i = 1; i < cells.size(); ++i) {
      const bool is_new = out.emplace(std::pair(cells[0], head[i]), cells[i] == "-" ? "None" : cells[i]).second;
      REQUIRE(is_new);
    }
  }
  return out;
}

Observation Seen(JobState job, Phase phase) {
  Observation seen;
  seen.job = job;
  seen.managed = true;
  seen.marked =
      job == JobState::kHolding || job == JobState::kHeld || job == JobState::kPending || job == JobState::kRunning;
  seen.claim = Claim::kOurs;
  seen.phase = phase;
  seen.covered = true;
  return seen;
}

}  // namespace

TEST_CASE("every phase and every job state has its step, and no pair is missing") {
  const auto table = ParsedTable();
  std::set<std::pair<std::string, std::string>> asked;
  for (const Phase phase : kAllPhases) {
    for (const JobState job : AllJobStates()) {
      const std::pair key(PhaseText(phase), Text(JobStateName(job)));
      CAPTURE(key.first, key.second);
      REQUIRE(table.count(key) == 1);
      CHECK(StepName(LifeCycleStep(phase, job)) == table.at(key));
      asked.insert(key);
    }
  }
  CHECK(asked.size() == table.size());
  CHECK(table.size() == std::size(kAllPhases) * kJobStates);
}

TEST_CASE("a unit that follows its job in everything takes the step of the table") {
  for (const Phase phase : kAllPhases) {
    for (const JobState job : AllJobStates()) {
      CAPTURE(PhaseText(phase), Text(JobStateName(job)));
      CHECK(PlanNextStep(Seen(job, phase)) == LifeCycleStep(phase, job));
    }
  }
}

TEST_CASE("the step for a job without a unit of its own") {
  struct Case {
    const char* name;
    JobState job;
    Claim claim;
    bool managed;
    bool priced;
    Step want;
  };
  const auto c = GENERATE(values<Case>({
      {"a waiting job is queued", JobState::kWaiting, Claim::kNone, true, true, Step::kCreateUnit},
      {"a job that nobody wants queued is left alone", JobState::kWaiting, Claim::kNone, false, true, Step::kNone},
      {"a job without a price is told so", JobState::kWaiting, Claim::kNone, true, false, Step::kReportInvalid},
      {"a name that is taken is told", JobState::kWaiting, Claim::kForeign, true, true, Step::kReportCollision},
      {"... but not to strangers", JobState::kWaiting, Claim::kForeign, false, true, Step::kNone},
      {"the unit of the job before makes room", JobState::kWaiting, Claim::kEarlier, true, true, Step::kDeleteEarlier},
      {"... but not for a job without a price", JobState::kWaiting, Claim::kEarlier, true, false, Step::kReportInvalid},
      {"the unit of the job before goes anyway", JobState::kRunning, Claim::kEarlier, false, true, Step::kCollect},
      {"a unit lost while the job runs is made again", JobState::kRunning, Claim::kNone, true, true, Step::kCreateUnit},
      {"a unit lost while the job is held is made again", JobState::kHeld, Claim::kNone, true, true, Step::kCreateUnit},
      {"a job that is over needs no unit", JobState::kSucceeded, Claim::kNone, true, true, Step::kNone},
      {"a job that goes needs no unit", JobState::kDeleting, Claim::kNone, true, true, Step::kNone},
      {"nothing is there", JobState::kAbsent, Claim::kNone, false, true, Step::kNone},
      {"a stranger's unit without a job is left alone", JobState::kAbsent, Claim::kForeign, false, true, Step::kNone},
  }));
  CAPTURE(c.name);
  Observation seen;
  seen.job = c.job;
  seen.claim = c.claim;
  seen.managed = c.managed;
  seen.priced = c.priced;
  CHECK(PlanNextStep(seen) == c.want);
}

TEST_CASE("what else counts beside phase and job state") {
  struct Case {
    const char* name;
    JobState job;
    Phase phase;
    void (*change)(Observation*);
    Step want;
  };
  const auto c = GENERATE(values<Case>({
      {"a partial admission does not release the job", JobState::kWaiting, Phase::kDequeued,
       [](Observation* o) { o->covered = false; }, Step::kNone},
      {"what was admitted for less goes back to its queue", JobState::kWaiting, Phase::kDequeued,
       [](Observation* o) { o->outgrown = true; }, Step::kRequeue},
      {"... also when not all of it was admitted", JobState::kWaiting, Phase::kDequeued,
       [](Observation* o) { o->outgrown = !(o->covered = false); }, Step::kRequeue},
      {"... once its unit says what it asks for", JobState::kWaiting, Phase::kDequeued,
       [](Observation* o) { o->outgrown = !(o->spec_current = false); }, Step::kSyncSpec},
      {"a job that runs is not stopped for what it asks for", JobState::kRunning, Phase::kRunning,
       [](Observation* o) { o->outgrown = true; }, Step::kNone},
      {"the unit follows the job before the job is released", JobState::kWaiting, Phase::kDequeued,
       [](Observation* o) { o->spec_current = false; }, Step::kSyncSpec},
      {"a held unit is made inactive before it is requeued", JobState::kHeld, Phase::kDequeued,
       [](Observation* o) { o->spec_current = false; }, Step::kSyncSpec},
      {"the end of a job comes before its spec", JobState::kSucceeded, Phase::kRunning,
       [](Observation* o) { o->spec_current = false; }, Step::kSucceed},
      {"the spec of a finished job is of no interest", JobState::kSucceeded, Phase::kSucceed,
       [](Observation* o) { o->spec_current = false; }, Step::kNone},
      {"a job that runs unasked is charged before its spec is written", JobState::kRunning, Phase::kEnqueued,
       [](Observation* o) { o->spec_current = false; }, Step::kAdopt},
      {"a job that lost its price is not released", JobState::kWaiting, Phase::kDequeued,
       [](Observation* o) { o->priced = false; }, Step::kReportInvalid},
      {"a job that lost its price while it runs goes on", JobState::kRunning, Phase::kDequeued,
       [](Observation* o) { o->priced = o->spec_current = false; }, Step::kRun},
      {"a job that goes is not written about", JobState::kDeleting, Phase::kRunning,
       [](Observation* o) { o->spec_current = false; }, Step::kNone},
      {"an evicted unit waits for its backoff", JobState::kWaiting, Phase::kTimeoutBackoff,
       [](Observation* o) { o->backoff_over = false; }, Step::kNone},
      {"pods are gone, so the quota of an evicted unit is free", JobState::kWaiting, Phase::kEnqueued,
       [](Observation* o) { o->has_admissions = true; }, Step::kClearAdmissions},
      {"pods are gone, so the quota of a held unit is free", JobState::kHeld, Phase::kEnqueued,
       [](Observation* o) { o->has_admissions = true; }, Step::kClearAdmissions},
      {"pods are left, so the quota of a held unit is not free", JobState::kHolding, Phase::kEnqueued,
       [](Observation* o) { o->has_admissions = true; }, Step::kNone},
      {"admissions of a finished unit go", JobState::kSucceeded, Phase::kSucceed,
       [](Observation* o) { o->has_admissions = true; }, Step::kClearAdmissions},
      {"a job that was released by its user is marked", JobState::kPending, Phase::kDequeued,
       [](Observation* o) { o->marked = false; }, Step::kMarkReleased},
      {"... also when its pods run already", JobState::kRunning, Phase::kDequeued,
       [](Observation* o) { o->marked = false; }, Step::kMarkReleased},
      {"counts follow the pods", JobState::kRunning, Phase::kRunning, [](Observation* o) { o->counts_current = false; },
       Step::kReportPods},
      {"counts follow the pods before one of them runs", JobState::kPending, Phase::kDequeued,
       [](Observation* o) { o->counts_current = false; }, Step::kReportPods},
      {"the counts come with the phase", JobState::kRunning, Phase::kDequeued,
       [](Observation* o) { o->counts_current = false; }, Step::kRun},
      {"counts of a waiting unit are of no interest", JobState::kWaiting, Phase::kEnqueued,
       [](Observation* o) { o->counts_current = false; }, Step::kNone},
  }));
  CAPTURE(c.name);
  Observation seen = Seen(c.job, c.phase);
  c.change(&seen);
  CHECK(PlanNextStep(seen) == c.want);
}

TEST_CASE("a job is un-suspended for an admission of its own unit only") {
  // Every observation there is.
  int resumed = 0;
  for (const Phase phase : kAllPhases) {
    for (const JobState job : AllJobStates()) {
      for (int bits = 0; bits < 1024; ++bits) {
        Observation seen;
        seen.job = job;
        seen.phase = phase;
        seen.managed = (bits & 1) != 0;
        seen.priced = (bits & 2) != 0;
        seen.marked = (bits & 4) != 0;
        seen.has_admissions = (bits & 8) != 0;
        seen.covered = (bits & 16) != 0;
        seen.spec_current = (bits & 32) != 0;
        seen.counts_current = (bits & 64) != 0;
        seen.outgrown = (bits & 128) != 0;
        seen.claim = static_cast<Claim>(bits >> 8);
        if (PlanNextStep(seen) != Step::kResume) continue;
        ++resumed;
        REQUIRE(seen.claim == Claim::kOurs);
        REQUIRE(seen.covered);
        REQUIRE_FALSE(seen.outgrown);
        REQUIRE(seen.spec_current);
        REQUIRE(job == JobState::kWaiting);
        REQUIRE((phase == Phase::kDequeued || phase == Phase::kSchedReady || phase == Phase::kSchedSucceed));
      }
    }
  }
  CHECK(resumed > 0);
}

TEST_CASE("names are words of their own") {
  std::set<absl::string_view> states, steps;
  for (const JobState job : AllJobStates()) states.insert(JobStateName(job));
  for (int i = 0; i < kSteps; ++i) steps.insert(StepName(static_cast<Step>(i)));
  CHECK(states.size() == kJobStates);
  CHECK(steps.size() == kSteps);
}

TEST_CASE("what takes something away looks at the job again, and only reports are delayed") {
  for (int i = 0; i < kSteps; ++i) {
    const Step step = static_cast<Step>(i);
    CAPTURE(Text(StepName(step)));
    for (const JobState job : AllJobStates()) CHECK_FALSE((NeedsFreshJob(step) && MayBeDelayed(step, job)));
  }
  CHECK(MayBeDelayed(Step::kSyncSpec, JobState::kRunning));
  CHECK_FALSE(MayBeDelayed(Step::kSyncSpec, JobState::kWaiting));
  CHECK_FALSE(MayBeDelayed(Step::kSucceed, JobState::kSucceeded));
}

}  // namespace kq::controllers
