#include "libs/api/queue_unit.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace kq {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kGi = int64_t{1} << 30;

Admission Admit(absl::string_view name, int64_t replicas, Resources reported = {}) {
  Admission admission;
  admission.name = std::string(name);
  admission.replicas = replicas;
  admission.resources = std::move(reported);
  return admission;
}

// worker x2 with 1 cpu and 1 Gi each, ps x1 with 2 cpu and 4 Gi.
QueueUnit WorkersAndServer() {
  QueueUnit unit;
  unit.resource = {{"cpu", 9000}};
  unit.pod_sets = {{"worker", 2, {{"cpu", 1000}, {"memory", kGi}}}, {"ps", 1, {{"cpu", 2000}, {"memory", 4 * kGi}}}};
  return unit;
}

QueueUnit WithoutPodSets() {
  QueueUnit unit;
  unit.resource = {{"cpu", 4000}};
  return unit;
}

const std::vector<Phase> kAllPhases = {Phase::kUnset,       Phase::kEnqueued,       Phase::kReserved,
                                       Phase::kDequeued,    Phase::kRunning,        Phase::kSucceed,
                                       Phase::kFailed,      Phase::kSchedReady,     Phase::kSchedSucceed,
                                       Phase::kSchedFailed, Phase::kTimeoutBackoff, Phase::kPreempted};

TEST_CASE("every phase has a name of its own and is found by it", "[queue_unit]") {
  std::set<std::string> names;
  for (const Phase phase : kAllPhases) {
    names.insert(std::string(PhaseName(phase)));
    CHECK(PhaseFromName(PhaseName(phase)) == phase);
  }
  CHECK(names.size() == kAllPhases.size());
  CHECK_FALSE(PhaseFromName("enqueued").has_value());
}

TEST_CASE("a phase waits, holds quota, is finished, or none of these", "[queue_unit]") {
  const std::set<Phase> waiting = {Phase::kUnset, Phase::kEnqueued, Phase::kPreempted};
  const std::set<Phase> holding = {Phase::kReserved, Phase::kDequeued, Phase::kRunning, Phase::kSchedReady,
                                   Phase::kSchedSucceed};
  const std::set<Phase> finished = {Phase::kSucceed, Phase::kFailed};
  for (const Phase phase : kAllPhases) {
    CAPTURE(PhaseName(phase));
    CHECK(IsWaiting(phase) == (waiting.count(phase) == 1));
    CHECK(HoldsQuota(phase) == (holding.count(phase) == 1));
    CHECK(IsFinished(phase) == (finished.count(phase) == 1));
  }
}

struct AmountsCase {
  std::string name;
  QueueUnit unit;
  Resources need;
  Resources held;
};

AmountsCase Case(std::string name, QueueUnit unit, Phase phase, std::vector<Admission> admissions,
                 std::pair<Resources, Resources> need_and_held) {
  unit.phase = phase;
  unit.admissions = std::move(admissions);
  return {std::move(name), std::move(unit), std::move(need_and_held.first), std::move(need_and_held.second)};
}

std::vector<AmountsCase> AmountsCases() {
  const Resources none;
  const Resources whole = {{"cpu", 4000}};
  const Resources all = {{"cpu", 4000}, {"memory", 6 * kGi}};
  const QueueUnit sets = WorkersAndServer();
  const QueueUnit plain = WithoutPodSets();
  QueueUnit request_only;
  request_only.request = whole;
  QueueUnit both = plain;
  both.request = {{"cpu", 1}};
  return {
      Case("a new unit needs all of its pod sets", sets, Phase::kUnset, {}, {all, none}),
      Case("so does an enqueued one", sets, Phase::kEnqueued, {}, {all, none}),
      Case("and one of the historic phase", sets, Phase::kPreempted, {}, {all, none}),
      Case("a dequeued unit holds its admissions", sets, Phase::kDequeued, {Admit("worker", 2), Admit("ps", 1)},
           {none, all}),
      Case("a part admitted leaves the rest", sets, Phase::kDequeued, {Admit("worker", 1)},
           {{{"cpu", 3000}, {"memory", 5 * kGi}}, {{"cpu", 1000}, {"memory", kGi}}}),
      Case("more admitted than the count needs nothing", sets, Phase::kRunning, {Admit("worker", 5), Admit("ps", 1)},
           {none, {{"cpu", 7000}, {"memory", 9 * kGi}}}),
      Case("an admission of a missing pod set counts as reported", sets, Phase::kRunning,
           {Admit("gone", 3, {{"cpu", 500}})}, {all, {{"cpu", 500}}}),
      Case("reported resources count where they are larger", sets, Phase::kRunning,
           {Admit("worker", 2, {{"cpu", 3000}, {"memory", 1}, {"gpu", 8}}), Admit("ps", 1)},
           {none, {{"cpu", 5000}, {"gpu", 8}, {"memory", 6 * kGi}}}),
      Case("no admissions in an admitted phase: spec.resource, not the pod sets", sets, Phase::kDequeued, {},
           {none, {{"cpu", 9000}}}),
      Case("a finished unit holds and needs nothing", sets, Phase::kSucceed, {Admit("worker", 2), Admit("ps", 1)},
           {none, none}),
      Case("nor does a failed one", sets, Phase::kFailed, {}, {none, none}),
      Case("a unit in backoff holds what it was not yet relieved of", sets, Phase::kTimeoutBackoff,
           {Admit("worker", 2), Admit("ps", 1)}, {none, all}),
      Case("so does an enqueued one with admissions", sets, Phase::kEnqueued, {Admit("ps", 1)},
           {{{"cpu", 2000}, {"memory", 2 * kGi}}, {{"cpu", 2000}, {"memory", 4 * kGi}}}),
      Case("admissions lowered to 0 hold nothing and are needed again", sets, Phase::kRunning,
           {Admit("worker", 0), Admit("ps", 0)}, {all, {}}),
      Case("negative replicas count as 0", sets, Phase::kRunning, {Admit("worker", -3)}, {all, {}}),
      Case("a unit without pod sets needs spec.resource", plain, Phase::kUnset, {}, {whole, none}),
      Case("and holds it once admitted", plain, Phase::kDequeued, {Admit(kDefaultPodSet, 1)}, {none, whole}),
      Case("once, whatever the replicas say", plain, Phase::kDequeued, {Admit(kDefaultPodSet, 3)}, {none, whole}),
      Case("or what was reported if that is more", plain, Phase::kRunning,
           {Admit(kDefaultPodSet, 1, {{"cpu", 4500}, {"memory", 7}})}, {none, {{"cpu", 4500}, {"memory", 7}}}),
      Case("also by its phase alone", plain, Phase::kRunning, {}, {none, whole}),
      Case("lowered to 0 it waits again", plain, Phase::kDequeued, {Admit(kDefaultPodSet, 0)}, {whole, none}),
      Case("spec.request counts where spec.resource is empty", request_only, Phase::kEnqueued, {}, {whole, none}),
      Case("also when held", request_only, Phase::kDequeued, {Admit(kDefaultPodSet, 1)}, {none, whole}),
      Case("spec.resource wins over spec.request", both, Phase::kRunning, {}, {none, whole}),
      Case("a unit with pod sets admitted as a whole", sets, Phase::kDequeued, {Admit(kDefaultPodSet, 1)},
           {none, {{"cpu", 9000}}}),
      Case("a unit that asks for nothing", QueueUnit(), Phase::kUnset, {}, {none, none}),
  };
}

TEST_CASE("what a unit needs and holds", "[queue_unit]") {
  for (const AmountsCase& c : AmountsCases()) {
    CAPTURE(c.name);
    CHECK(Resources::EqualAmounts(Need(c.unit), c.need));
    CHECK(Resources::EqualAmounts(Held(c.unit), c.held));
    CHECK_FALSE(Need(c.unit).AnyNegative());
  }
}

TEST_CASE("full admissions leave nothing to ask for and add exactly the need", "[queue_unit]") {
  for (const AmountsCase& c : AmountsCases()) {
    CAPTURE(c.name);
    QueueUnit granted = c.unit;
    granted.admissions = FullAdmissions(c.unit);
    if (IsWaiting(granted.phase)) granted.phase = Phase::kDequeued;
    CHECK(Need(granted).Nonzero().Empty());
    // Reported amounts are part of what an admission holds, so the sum is at most
    // need + held where something was reported, and equal to it elsewhere.
    bool reported = false;
    for (const Admission& admission : c.unit.admissions) reported |= !admission.resources.Empty();
    if (!reported) CHECK(Resources::EqualAmounts(Held(granted), c.need + c.held));
    CHECK(Held(granted).FitsWithin(c.need + c.held));
  }
}

TEST_CASE("full admissions keep what is there and follow the pod sets", "[queue_unit]") {
  QueueUnit unit = WorkersAndServer();
  Admission running = Admit("ps", 0, {{"cpu", 7}});
  running.running = 3;
  running.reclaim_replicas = 1;
  unit.admissions = {running, Admit("gone", 2)};

  Admission raised = running;
  raised.replicas = 1;
  raised.resources = {{"cpu", 2000}, {"memory", 4 * kGi}};
  CHECK(FullAdmissions(unit) ==
        std::vector<Admission>{raised, Admit("gone", 2), Admit("worker", 2, {{"cpu", 2000}, {"memory", 2 * kGi}})});
}

TEST_CASE("a pod set of count 0 is admitted with 0 replicas", "[queue_unit]") {
  QueueUnit unit;
  unit.pod_sets = {{"main", 0, {{"cpu", 1}}}};
  CHECK(FullAdmissions(unit) == std::vector<Admission>{Admit("main", 0)});
}

TEST_CASE("what an admission says to be reserved is what it holds, and never less than was reported", "[queue_unit]") {
  QueueUnit unit;
  unit.phase = Phase::kDequeued;
  unit.pod_sets = {{"main", 4, {{"cpu", 1000}}}};
  unit.admissions = {Admit("main", 1, {{"cpu", 9000}})};
  unit.admissions = FullAdmissions(unit);
  CHECK(unit.admissions == std::vector<Admission>{Admit("main", 4, {{"cpu", 9000}})});
  CHECK(Held(unit) == Resources{{"cpu", 9000}});
  CHECK(ReservedFor(unit.pod_sets[0], 3) == Resources{{"cpu", 3000}});
  CHECK(ReservedFor(unit.pod_sets[0], -1).Empty());
}

TEST_CASE("a unit without pod sets is admitted under the default name", "[queue_unit]") {
  CHECK(FullAdmissions(WithoutPodSets()) == std::vector<Admission>{Admit("koord-queue/default-requirement", 1)});
}

TEST_CASE("amounts saturate instead of overflowing", "[queue_unit]") {
  QueueUnit unit;
  unit.pod_sets = {{"a", kMax, {{"cpu", kMax}}}, {"b", 2, {{"cpu", kMax}}}};
  CHECK(Need(unit) == Resources{{"cpu", kMax}});
  unit.admissions = FullAdmissions(unit);
  CHECK(Held(unit) == Resources{{"cpu", kMax}});
  CHECK(Need(unit).Nonzero().Empty());
  unit.admissions = {Admit("a", kMax), Admit("a", kMax), Admit("b", std::numeric_limits<int64_t>::min())};
  CHECK(Need(unit) == Resources{{"cpu", kMax}});
}

struct Brief {
  std::string type, status, reason;
  bool operator==(const Brief&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Brief& brief) {
  return out << brief.type << "=" << brief.status << "/" << brief.reason;
}

std::vector<Brief> Briefs(const std::vector<Condition>& conditions) {
  std::vector<Brief> out;
  for (const Condition& c : conditions) out.push_back({c.type, c.status, c.reason});
  return out;
}

const absl::Time kStart = absl::FromUnixSeconds(1000);
const absl::Time kLater = absl::FromUnixSeconds(2000);

TEST_CASE("the conditions of each phase", "[queue_unit][conditions]") {
  const std::vector<Brief> pending = {{"QuotaReserved", "False", "Pending"}, {"Admitted", "False", "Pending"}};
  const std::vector<Brief> admitted = {{"QuotaReserved", "True", "QuotaReserved"}, {"Admitted", "True", "Admitted"}};
  struct Row {
    Phase phase;
    std::vector<Brief> want;
  };
  const std::vector<Row> rows = {
      {Phase::kUnset, pending},
      {Phase::kEnqueued, pending},
      {Phase::kPreempted, pending},
      {Phase::kReserved,
       {{"QuotaReserved", "True", "QuotaReserved"}, {"Admitted", "False", "WaitingForAdmissionChecks"}}},
      {Phase::kDequeued, admitted},
      {Phase::kSchedReady, admitted},
      {Phase::kSchedSucceed, admitted},
      {Phase::kRunning, {admitted[0], admitted[1], {"PodsReady", "True", "PodsRunning"}}},
      {Phase::kSucceed, {{"Finished", "True", "Succeeded"}}},
      {Phase::kFailed, {{"Finished", "True", "Failed"}}},
      {Phase::kSchedFailed, {{"Admitted", "False", "SchedulingFailed"}}},
      {Phase::kTimeoutBackoff,
       {{"QuotaReserved", "False", "BackoffTimeout"},
        {"Admitted", "False", "BackoffTimeout"},
        {"PodsReady", "False", "BackoffTimeout"},
        {"Evicted", "True", "BackoffTimeout"}}},
  };
  CHECK(rows.size() == kAllPhases.size());
  for (const Row& row : rows) {
    CAPTURE(PhaseName(row.phase));
    const std::vector<Condition> got = ConditionsFor(row.phase, {}, "why", kStart);
    CHECK(Briefs(got) == row.want);
    for (const Condition& condition : got) CHECK(condition.last_transition == kStart);
  }
}

TEST_CASE("the texts of conditions", "[queue_unit][conditions]") {
  CHECK(ConditionsFor(Phase::kEnqueued, {}, "numbers", kStart)[0].message == "The queue unit is waiting in its queue");
  CHECK(ConditionsFor(Phase::kTimeoutBackoff, {}, "too slow", kStart)[3].message == "too slow");
  CHECK(ConditionsFor(Phase::kFailed, {}, "out of memory", kStart)[0].message == "out of memory");
  CHECK(ConditionsFor(Phase::kSchedFailed, {}, "no node", kStart)[0].message == "no node");
}

TEST_CASE("a message that the API server would refuse is cut between characters", "[queue_unit][conditions]") {
  std::string umlauts;
  for (int i = 0; i < 40000; ++i) umlauts += "ä";
  const std::string message = ConditionsFor(Phase::kFailed, {}, "x" + umlauts, kStart)[0].message;
  CHECK(message.size() < 4200);
  CHECK_THAT(message, Catch::EndsWith("ä..."));
}

TEST_CASE("requeued after an eviction: what was there turns false", "[queue_unit][conditions]") {
  const auto evicted = ConditionsFor(Phase::kTimeoutBackoff, {}, "too slow", kStart);
  CHECK(Briefs(ConditionsFor(Phase::kEnqueued, evicted, "", kLater)) ==
        std::vector<Brief>{{"QuotaReserved", "False", "Pending"},
                           {"Admitted", "False", "Pending"},
                           {"PodsReady", "False", "Pending"},
                           {"Evicted", "False", "Requeued"}});
}

TEST_CASE("the transition time moves only when the status flips", "[queue_unit][conditions]") {
  for (const Phase phase : kAllPhases) {
    CAPTURE(PhaseName(phase));
    const auto first = ConditionsFor(phase, {}, "why", kStart);
    CHECK(ConditionsFor(phase, first, "why", kLater) == first);
  }
  const auto waiting = ConditionsFor(Phase::kEnqueued, {}, "", kStart);
  const auto admitted = ConditionsFor(Phase::kDequeued, waiting, "", kLater);
  CHECK(admitted[0].last_transition == kLater);
  const auto running = ConditionsFor(Phase::kRunning, admitted, "", kLater + absl::Seconds(1));
  CHECK(running[0].last_transition == kLater);
  CHECK(running[2].last_transition == kLater + absl::Seconds(1));
}

TEST_CASE("an eviction ends the admission for the same reason", "[queue_unit][conditions]") {
  const auto running = ConditionsFor(Phase::kRunning, {}, "", kStart);
  CHECK(Briefs(EvictedConditions("Deactivated", running, "switched off", kLater)) ==
        std::vector<Brief>{{"QuotaReserved", "True", "QuotaReserved"},
                           {"Admitted", "False", "Deactivated"},
                           {"PodsReady", "True", "PodsRunning"},
                           {"Evicted", "True", "Deactivated"}});
}

TEST_CASE("conditions of others are kept while all fit, and ours win when not", "[queue_unit][conditions]") {
  Condition foreign;
  foreign.status = "Unknown";
  foreign.observed_generation = 7;
  std::vector<Condition> existing;
  for (int i = 0; i < 6; ++i) {
    foreign.type = "Theirs" + std::to_string(i);
    existing.push_back(foreign);
  }
  const auto fits = ConditionsFor(Phase::kEnqueued, existing, "", kStart);
  CHECK(fits.size() == kMaxConditions);
  CHECK(fits[5] == existing[5]);

  const auto full = ConditionsFor(Phase::kTimeoutBackoff, existing, "", kStart);
  CHECK(full.size() == kMaxConditions);
  CHECK(full[3] == existing[3]);
  CHECK(full[4].type == "QuotaReserved");
  CHECK(full[7].type == "Evicted");
}

}  // namespace
}  // namespace kq
