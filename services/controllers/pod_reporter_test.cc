#include "services/controllers/pod_reporter.h"

#include <catch2/catch.hpp>

namespace kq::controllers {
namespace {

QueueUnit Unit(Phase phase, int64_t count, std::vector<Admission> admissions) {
  QueueUnit unit;
  unit.phase = phase;
  unit.pod_sets = {PodSet{.name = "j", .count = count, .per_pod = {{"cpu", 1000}}}};
  unit.admissions = std::move(admissions);
  return unit;
}

Admission Named(const char* name, int64_t replicas, int64_t running) {
  Admission admission;
  admission.name = name;
  admission.replicas = replicas;
  admission.running = running;
  return admission;
}
Admission Of(int64_t replicas, int64_t running) {
  Admission admission = Named("j", replicas, running);
  if (replicas > 0) admission.resources = {{"cpu", 1000 * replicas}};
  return admission;
}

const ObjectKey kJob{"ns", "j"};
using Urgency = ReportPacer::Urgency;

}  // namespace

TEST_CASE("what the pods say about the admissions") {
  struct Case {
    const char* name;
    Phase phase;
    int64_t count;
    std::vector<Admission> admissions;
    PodCounts pods;
    std::vector<Admission> want;
  };
  const auto c = GENERATE(values<Case>({
      {"no pods yet", Phase::kDequeued, 3, {Of(3, 0)}, {}, {Of(3, 0)}},
      {"pods with a node run", Phase::kDequeued, 3, {Of(3, 0)}, {.running = 1, .pending = 2, .bound = 2}, {Of(3, 2)}},
      {"more pods than admitted are charged",
       Phase::kRunning,
       5,
       {Of(3, 3)},
       {.running = 5, .pending = 0, .bound = 5},
       {Of(5, 5)}},
      {"more pods without a node are not",
       Phase::kRunning,
       5,
       {Of(3, 3)},
       {.running = 3, .pending = 2, .bound = 3},
       {Of(3, 3)}},
      {"a pod set that shrinks is free where it has no pods",
       Phase::kRunning,
       1,
       {Of(3, 3)},
       {.running = 1, .pending = 0, .bound = 1},
       {Of(1, 1)}},
      {"a pod set that shrinks is charged while pods live",
       Phase::kRunning,
       1,
       {Of(3, 3)},
       {.running = 2, .pending = 0, .bound = 2},
       {Of(2, 2)}},
      {"pods that ended keep their place as long as the pod set wants them",
       Phase::kRunning,
       3,
       {Of(3, 3)},
       {.running = 2, .pending = 0, .bound = 2},
       {Of(3, 2)}},
      {"a unit of an older version gets admissions",
       Phase::kRunning,
       3,
       {},
       {.running = 2, .pending = 0, .bound = 2},
       {Of(3, 2)}},
      {"what an older version did not say is reserved is said",
       Phase::kRunning,
       2,
       {Named("j", 2, 2)},
       {.running = 2, .pending = 0, .bound = 2},
       {Of(2, 2)}},
      {"a waiting unit gets none", Phase::kEnqueued, 3, {}, {}, {}},
      {"another's admissions stay",
       Phase::kRunning,
       1,
       {Named("x", 2, 0), Of(1, 0)},
       {.running = 1, .pending = 0, .bound = 1},
       {Named("x", 2, 0), Of(1, 1)}},
  }));
  CAPTURE(c.name);
  const PodReport report = ReportFor(Unit(c.phase, c.count, c.admissions), c.pods);
  CHECK(report.admissions == c.want);
  CHECK(report.running == c.pods.running);
  CHECK(report.pending == c.pods.pending);
}

TEST_CASE("a report that was written changes nothing more") {
  QueueUnit unit = Unit(Phase::kRunning, 3, {});
  const PodCounts pods{.running = 2, .pending = 1, .bound = 3};
  const PodReport report = ReportFor(unit, pods);
  CHECK(Differs(report, unit));
  CHECK(ChangesCharge(report, unit));
  unit.admissions = report.admissions;
  CHECK(Differs(report, unit));  // podState
  CHECK_FALSE(ChangesCharge(report, unit));
  unit.pods_running = report.running;
  unit.pods_pending = report.pending;
  CHECK_FALSE(Differs(report, unit));
  CHECK(ReportFor(unit, pods) == report);
}

TEST_CASE("pods beyond the admission are told of where the job grew, not where one replaces another") {
  const PodCounts three{.running = 3, .pending = 0, .bound = 3};
  const auto goes_beyond = [&](int64_t count, std::vector<Admission> admissions) {
    const QueueUnit unit = Unit(Phase::kRunning, count, std::move(admissions));
    return GoesBeyond(ReportFor(unit, three), unit);
  };
  CHECK(goes_beyond(3, {Of(2, 2)}));
  CHECK(goes_beyond(10, {Of(0, 0)}));
  CHECK_FALSE(goes_beyond(10, {Of(3, 2)}));  // the rest waits
  CHECK_FALSE(goes_beyond(2, {Of(2, 2)}));   // one goes, another came
  CHECK_FALSE(goes_beyond(3, {}));           // of an older version
}

TEST_CASE("reports wait for each other, and mere counts longer") {
  const absl::Time start = absl::UnixEpoch();
  const auto at = [&](double seconds) { return start + absl::Seconds(seconds); };
  ReportPacer pacer({absl::Seconds(1), absl::Seconds(10)});
  CHECK(pacer.Wait(kJob, Urgency::kCounts, at(0)) == absl::Seconds(10));
  // The phase changes too: an interval after the first change.
  CHECK(pacer.Wait(kJob, Urgency::kCharge, at(0.4)) == absl::Milliseconds(600));
  CHECK(pacer.Wait(kJob, Urgency::kCharge, at(1)) == absl::ZeroDuration());
  pacer.Settled(kJob);
  CHECK(pacer.Wait(kJob, Urgency::kCounts, at(2)) == absl::Seconds(10));
  CHECK(pacer.Wait(kJob, Urgency::kCounts, at(12)) == absl::ZeroDuration());
  // A change that is taken back does not hurry the next one.
  pacer.Settled(kJob);
  CHECK(pacer.Wait(kJob, Urgency::kCharge, at(13)) == absl::Seconds(1));
}

TEST_CASE("without an interval a report is written at once") {
  ReportPacer pacer({absl::ZeroDuration(), absl::ZeroDuration()});
  CHECK(pacer.Wait(kJob, Urgency::kCounts, absl::UnixEpoch()) == absl::ZeroDuration());
}

}  // namespace kq::controllers
