#include "services/scheduler/runtime/scheduler_metrics.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

struct World {
  World() : metrics(&registry, &publisher, [this] { return leads; }) {}

  // The value of a series ("name{label=\"x\"}"); empty if there is none.
  std::string Value(const std::string& series) {
    const std::string text = "\n" + registry.Text();
    const size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "";
    const size_t begin = at + series.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  void Publish(Snapshot snapshot) {
    snapshot.epoch = "1";
    snapshot.revision = ++revision;
    publisher.Publish(std::make_shared<const Snapshot>(std::move(snapshot)));
  }
  void Turn(int64_t asked, absl::Duration cycle, const std::vector<Core::AskCount>& asks) {
    scheduler::Turn turn;
    turn.events = std::make_shared<const std::vector<Event>>();
    turn.cycled = true;
    turn.asked = asked;
    TurnTimes times;
    times.cycle = cycle;
    metrics.OnTurn(turn, times, asks);
  }

  MetricRegistry registry;
  SnapshotPublisher publisher;
  bool leads = true;
  uint64_t revision = 0;
  SchedulerMetrics metrics;
};

// A queue with three waiting units and a quota with one admitted one.
Snapshot Busy() {
  Snapshot snapshot;
  auto queue = std::make_shared<QueueSnapshot>();
  queue->queue = QueueValue("team-a", 1);
  queue->ready = 1;
  queue->parked = 2;
  queue->resting = 4;
  for (const Place place : {Place::kReady, Place::kParked, Place::kParked}) {
    UnitSnapshot waiting;
    waiting.unit = std::make_shared<QueueUnit>(UnitValue(absl::StrCat("w", queue->waiting.size()), 1, 1000));
    waiting.place = place;
    queue->waiting.push_back(waiting);
  }
  snapshot.queues = {queue};

  auto quota = std::make_shared<QuotaSnapshot>();
  quota->quota = QuotaValue("team-a", 2, 4000);
  quota->used = {{"cpu", 4500}};
  auto unit = std::make_shared<QueueUnit>(UnitValue("a", 3, 2500));
  unit->phase = Phase::kDequeued;
  UnitSnapshot admitted;
  admitted.unit = unit;
  admitted.place = Place::kAdmitted;
  UnitSnapshot assumed;
  assumed.unit = std::make_shared<QueueUnit>(UnitValue("b", 4, 2000));
  assumed.place = Place::kAssumed;
  quota->charged = {admitted, assumed};
  snapshot.quotas = {quota};
  snapshot.unplaced = std::make_shared<std::vector<UnitSnapshot>>();
  snapshot.units_by_type = std::make_shared<std::map<std::pair<std::string, std::string>, int64_t>>(
      std::map<std::pair<std::string, std::string>, int64_t>{{{"default", "Job"}, 9}});
  return snapshot;
}

TEST_CASE("before anything happened only metrics without labels are there") {
  World world;
  CHECK(world.Value("job_scheduling_algorithm_latency_count") == "0");
  CHECK(world.Value("job_scheduling_e2e_latency_count") == "0");
  const std::string text = world.registry.Text();
  for (const char* absent : {"job_schedule_attempts", "dequeued_quota_usage", "queueunits_", "rest_client"}) {
    CAPTURE(absent);
    CHECK(text.find(absent) == std::string::npos);
  }
}

TEST_CASE("a queue whose trouble keeps nobody out does not count as one that admits nothing") {
  World world;
  for (const bool admits_nothing : {false, true}) {
    QueueSnapshot queue;
    queue.queue.key = {"koord-queue", "team-a"};
    queue.trouble = "something";
    queue.admits_nothing = admits_nothing;
    Snapshot snapshot = Busy();
    snapshot.queues = {std::make_shared<QueueSnapshot>(queue)};
    world.Publish(snapshot);
    CHECK(world.Value(R"(koord_queue_queue_trouble{queue="team-a"})") == (admits_nothing ? "1" : "0"));
  }
}

TEST_CASE("the gauges of the contract come from the newest picture") {
  World world;
  world.Publish(Busy());
  CHECK(world.Value(R"(queueunits_in_active_queue{queue="team-a"})") == "3");
  CHECK(world.Value(R"(queueunits_in_backoff_queue{queue="team-a"})") == "4");
  CHECK(world.Value(R"(dequeued_quota_usage_by_quota{quota="team-a",resource="cpu"})") == "4500");
  CHECK(world.Value(R"(dequeued_quota_usage_by_namespace{namespace="default",resource="cpu"})") == "4.5");
  CHECK(world.Value(R"(queueunits_by_job_type{namespace="default",type="Job"})") == "9");
  CHECK(world.Value(R"(koord_queue_quota_over_max{quota="team-a",resource="cpu"})") == "0.5");
  CHECK(world.Value(R"(koord_queue_units{place="admitted"})") == "1");
  CHECK(world.Value(R"(koord_queue_units{place="assumed"})") == "1");
  CHECK(world.Value(R"(koord_queue_units{place="parked"})") == "2");
}

TEST_CASE("who holds quota counts once, also while it waits for more or its quota is gone") {
  World world;
  UnitSnapshot grows = Busy().quotas[0]->charged[0];
  grows.place = Place::kParked;
  auto unit = std::make_shared<QueueUnit>(*grows.unit);
  unit->pod_sets = {{"worker", 2, {{"cpu", 1000}}}};
  unit->admissions = {{.name = "worker", .replicas = 1, .resources = {}, .reclaim_replicas = {}}};
  grows.unit = unit;
  Snapshot snapshot = Busy();
  auto queue = std::make_shared<QueueSnapshot>(*snapshot.queues[0]);
  queue->waiting = {grows};
  auto quota = std::make_shared<QuotaSnapshot>(*snapshot.quotas[0]);
  quota->charged.push_back(grows);
  snapshot.queues = {queue};
  snapshot.quotas = {quota};
  world.Publish(snapshot);
  CHECK(world.Value(R"(koord_queue_units{place="parked"})") == "1");
  CHECK(world.Value(R"(koord_queue_units{place="admitted"})") == "1");
  CHECK(world.Value(R"(dequeued_quota_usage_by_namespace{namespace="default",resource="cpu"})") == "5.5");

  snapshot.unplaced = std::make_shared<std::vector<UnitSnapshot>>(
      std::vector<UnitSnapshot>{quota->charged.begin(), quota->charged.begin() + 2});
  snapshot.quotas.clear();  // deleted; who holds it is unplaced, or waits
  world.Publish(snapshot);
  CHECK(world.Value(R"(koord_queue_units{place="parked"})") == "1");
  CHECK(world.Value(R"(koord_queue_units{place="admitted"})") == "1");
  CHECK(world.Value(R"(dequeued_quota_usage_by_namespace{namespace="default",resource="cpu"})") == "5.5");
}

TEST_CASE("series of what is gone vanish") {
  World world;
  world.Publish(Busy());
  world.Turn(1, absl::Milliseconds(1), {{"team-a", true, 1}});
  world.Publish(Snapshot());
  world.metrics.OnEvent(QueueRemoved{{"koord-queue", "team-a"}, 9});
  const std::string text = world.registry.Text();
  CHECK(text.find("team-a") == std::string::npos);
  CHECK(text.find("namespace=\"default\"") == std::string::npos);
}

TEST_CASE("a replica that does not lead, or does so no more, shows nothing about queues") {
  World world;
  world.Publish(Busy());
  world.Turn(1, absl::Milliseconds(1), {{"team-a", true, 1}});
  world.metrics.OnEvent(Listed{ListedKind::kUnits});
  world.metrics.OnEvent(UnitUpserted{UnitValue("a", 2, 1000)});
  CHECK(world.Value(R"(job_schedule_attempts{queue="team-a",result="scheduled"})") == "1");
  world.leads = false;
  CHECK(world.registry.Text().find("team-a") == std::string::npos);
  CHECK(world.registry.Text().find("coming_rate") == std::string::npos);
  CHECK(world.Value("job_scheduling_algorithm_latency_count") == "1");
}

TEST_CASE("attempts are counted by queue and result, latency once for each unit asked") {
  World world;
  world.Turn(4, absl::Milliseconds(8), {{"team-a", true, 1}, {"team-a", false, 2}, {"team-b", false, 1}});
  CHECK(world.Value(R"(job_schedule_attempts{queue="team-a",result="scheduled"})") == "1");
  CHECK(world.Value(R"(job_schedule_attempts{queue="team-a",result="unschedulable"})") == "2");
  CHECK(world.Value(R"(job_schedule_attempts{queue="team-b",result="unschedulable"})") == "1");
  CHECK(world.Value("job_scheduling_algorithm_latency_count") == "4");
  CHECK(world.Value("job_scheduling_algorithm_latency_sum") == "8");
  CHECK(world.Value(R"(job_scheduling_algorithm_latency_bucket{le="1.28"})") == "0");
  CHECK(world.Value(R"(job_scheduling_algorithm_latency_bucket{le="2.56"})") == "4");
  CHECK(world.Value(R"(koord_queue_turn_phase_seconds_count{phase="cycle"})") == "1");
  world.Turn(0, absl::Milliseconds(8), {});
  CHECK(world.Value("job_scheduling_algorithm_latency_count") == "4");
}

TEST_CASE("the buckets are those of the original") {
  World world;
  const std::string text = world.registry.Text();
  for (const char* bucket :
       {R"(job_scheduling_algorithm_latency_bucket{le="0.01"})",
        R"(job_scheduling_algorithm_latency_bucket{le="163.84"})", R"(job_scheduling_e2e_latency_bucket{le="1"})",
        R"(job_scheduling_e2e_latency_bucket{le="134217728"})"}) {
    CAPTURE(bucket);
    CHECK(text.find(bucket) != std::string::npos);
  }
}

TEST_CASE("the time to admission is how long the unit waited, in milliseconds") {
  World world;
  world.metrics.OnAdmitted(kStart, kStart + absl::Milliseconds(300));
  CHECK(world.Value("job_scheduling_e2e_latency_sum") == "300");
  world.metrics.OnAdmitted(kStart + absl::Seconds(10), kStart + absl::Milliseconds(10100));
  CHECK(world.Value("job_scheduling_e2e_latency_sum") == "400");
  CHECK(world.Value("job_scheduling_e2e_latency_count") == "2");
}

TEST_CASE("units that come and change their phase are counted, those of the first list are not") {
  World world;
  QueueUnit old = UnitValue("old", 1, 1000);
  old.consumer.kind = "Job";
  world.metrics.OnEvent(UnitUpserted{old});
  world.metrics.OnEvent(Listed{ListedKind::kUnits});
  QueueUnit unit = UnitValue("new", 2, 1000);
  unit.consumer.kind = "Job";
  unit.phase = Phase::kUnset;
  world.metrics.OnEvent(UnitUpserted{unit});
  world.metrics.OnEvent(UnitUpserted{unit});
  unit.phase = Phase::kDequeued;
  world.metrics.OnEvent(UnitUpserted{unit});
  old.phase = Phase::kSucceed;
  world.metrics.OnEvent(UnitUpserted{old});
  const auto coming = [&world](const std::string& status) {
    return world.Value(R"(queueunits_coming_rate_by_job_type{namespace="default",status=")" + status +
                       R"(",type="Job"})");
  };
  CHECK(coming("Enqueued") == "1");
  CHECK(coming("Dequeued") == "1");
  CHECK(coming("Succeed") == "1");
  world.leads = false;
  unit.phase = Phase::kRunning;
  world.metrics.OnEvent(UnitUpserted{unit});
  CHECK(coming("Running").empty());
}

TEST_CASE("who waits is shown by what they ask for, why, and since when") {
  World world;
  Snapshot snapshot = Busy();
  auto queue = std::make_shared<QueueSnapshot>(*snapshot.queues[0]);
  queue->waiting.clear();
  const auto waits = [&](const char* name, absl::Time since, Refusal refusal) {
    UnitSnapshot one;
    one.unit = std::make_shared<QueueUnit>(UnitValue(name, 5, 1500));
    one.since = since;
    one.place = Place::kParked;
    if (refusal != Refusal::kNone) {
      auto why = std::make_shared<RefusalDetail>();
      why->refusal = refusal;
      one.why = why;
    }
    queue->waiting.push_back(one);
  };
  waits("late", kStart + absl::Seconds(60), Refusal::kOverMax);
  waits("early", kStart, Refusal::kOverMax);
  waits("new", kStart + absl::Seconds(90), Refusal::kNone);
  snapshot.queues = {queue};
  world.Publish(snapshot);
  CHECK(world.Value(R"(koord_queue_queue_waiting_resources{queue="team-a",resource="cpu"})") == "4.5");
  CHECK(world.Value(R"(koord_queue_queue_waiting_units{queue="team-a",reason="OverMax"})") == "2");
  CHECK(world.Value(R"(koord_queue_queue_waiting_units{queue="team-a",reason="NotAsked"})") == "1");
  CHECK(world.Value(R"(koord_queue_queue_waiting_since_timestamp_seconds{queue="team-a"})") == "1700000000");
  snapshot.queues = {std::make_shared<QueueSnapshot>()};
  world.Publish(snapshot);
  CHECK(world.registry.Text().find("koord_queue_queue_waiting") == std::string::npos);
}

TEST_CASE("what a quota may use is shown in cores and bytes; of two of one name the one in force counts") {
  World world;
  Snapshot snapshot;
  auto in_force = std::make_shared<QuotaSnapshot>();
  in_force->quota = QuotaValue("team-a", 2, 4000);
  in_force->quota.min = {{"cpu", 500}, {"memory", 1024}};
  auto other = std::make_shared<QuotaSnapshot>();
  other->quota = QuotaValue("team-a", 3, 9000);
  other->quota.max.Set("nvidia.com/gpu", 8);
  other->trouble = "an older quota has this name";
  other->shadowed_by = ObjectKey{"one", "team-a"};
  for (const auto& order : {std::vector{in_force, other}, std::vector{other, in_force}}) {
    snapshot.quotas = {order[0], order[1]};
    world.Publish(snapshot);
    CHECK(world.Value(R"(koord_queue_quota_max{quota="team-a",resource="cpu"})") == "4");
    CHECK(world.Value(R"(koord_queue_quota_min{quota="team-a",resource="cpu"})") == "0.5");
    CHECK(world.Value(R"(koord_queue_quota_min{quota="team-a",resource="memory"})") == "1024");
    CHECK(world.Value(R"(koord_queue_quota_trouble{quota="team-a"})") == "0");
    CHECK(world.Value("koord_queue_quotas_shadowed") == "1");
    CHECK(world.registry.Text().find("nvidia.com/gpu") == std::string::npos);
  }
}

TEST_CASE("the counters of a namespace outlive its last unit by an hour, so that they can be rated") {
  World world;
  world.metrics.OnEvent(Listed{ListedKind::kUnits});
  QueueUnit unit = UnitValue("a", 2, 1000);
  const auto turn_at = [&world](absl::Time now) {
    scheduler::Turn turn;
    turn.now = now;
    turn.events = std::make_shared<const std::vector<Event>>();
    world.metrics.OnTurn(turn, TurnTimes(), {});
    return world.registry.Text().find("queueunits_coming_rate_by_job_type{") != std::string::npos;
  };
  world.metrics.OnEvent(UnitUpserted{unit});
  CHECK(turn_at(kStart));
  CHECK(turn_at(kStart + absl::Hours(5)));
  world.metrics.OnEvent(UnitRemoved{unit.key, "of somebody else", 9});
  world.metrics.OnEvent(UnitRemoved{unit.key, unit.uid, 9});
  CHECK(turn_at(kStart + absl::Hours(5) + absl::Minutes(59)));
  CHECK_FALSE(turn_at(kStart + absl::Hours(6)));
  world.metrics.OnEvent(UnitUpserted{unit});
  CHECK(turn_at(kStart + absl::Hours(7)));
}

TEST_CASE("field report 49: every resource that a quota names or holds has its series") {
  World world;
  Snapshot snapshot = Busy();
  auto quota = std::make_shared<QuotaSnapshot>(*snapshot.quotas[0]);
  quota->quota.max = {{"cpu", 4000}, {"memory", 2048}, {"nvidia.com/gpu", 8}, {"example.com/fpga", 1}};
  quota->used = {{"cpu", 4500}, {"memory", 1024}, {"nvidia.com/gpu", 2}};
  snapshot.quotas = {quota};
  world.Publish(snapshot);
  const auto used = [&world](const std::string& resource) {
    return world.Value(R"(dequeued_quota_usage_by_quota{quota="team-a",resource=")" + resource + "\"}");
  };
  CHECK(used("cpu") == "4500");
  CHECK(used("memory") == "1024");
  CHECK(used("nvidia.com/gpu") == "2");
  CHECK(used("example.com/fpga") == "0");
}

}  // namespace
}  // namespace kq::scheduler
