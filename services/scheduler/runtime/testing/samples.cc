#include "services/scheduler/runtime/testing/samples.h"

#include <optional>

namespace kq::scheduler {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

std::vector<Admission> SampleAdmissions() {
  Admission admission{"main", 2, {{"cpu", 2000}}, 1, 1};
  Admission other{"workers", 3, {}, 0, std::nullopt};
  return {admission, other};
}

std::vector<Condition> SampleConditions() {
  return {{"Admitted", "True", "Admitted", "it runs", kStart + absl::Seconds(4), 7},
          {"PodsReady", "False", "Waiting", "", absl::InfinitePast(), std::nullopt}};
}

RefusalDetail SampleRefusal() {
  RefusalDetail why;
  why.refusal = Refusal::kOverMax;
  why.quota = "team-a";
  why.resource = "cpu";
  why.requested = 4000;
  why.used = 3000;
  why.limit = 5000;
  why.reserved = 1;
  why.short_by = 2000;
  why.text = "told by hand";
  return why;
}

}  // namespace

QueueUnit SampleUnit(const std::string& name) {
  QueueUnit unit;
  unit.key = {"default", name};
  unit.uid = "uid-" + name;
  unit.version = 12;
  unit.created = kStart;
  unit.quota = "team-a";
  unit.consumer = {"batch/v1", "Job", {"default", "job-" + name}, "job-uid"};
  unit.priority = -5;
  unit.priority_class = "high";
  unit.queue = "team-a";
  unit.resource = {{"cpu", 4000}, {"memory", 8LL << 30}};
  unit.request = {{"cpu", 3999}};
  unit.request_text = {{"cpu", "4"}, {"memory", "8Gi"}};
  unit.resource_text = {{"cpu", "4000m"}, {"memory", "8Gi"}};
  unit.pod_sets = {{"main", 2, {{"cpu", 1000}}}, {"workers", 1, {{"memory", 5}}}};
  unit.active = false;
  unit.phase = Phase::kDequeued;
  unit.attempts = 3;
  unit.message = "a \"quoted\"\nline, ä";
  unit.last_update = kStart + absl::Nanoseconds(1);
  unit.last_allocate = kStart + absl::Seconds(2);
  unit.pods_running = 1;
  unit.pods_pending = 2;
  unit.admissions = SampleAdmissions();
  unit.conditions = SampleConditions();
  unit.invalid = "spec.resource.cpu: no quantity";
  return unit;
}

Queue SampleQueue(const std::string& name) {
  Queue queue;
  queue.key = {std::string(kQueueNamespace), name};
  queue.uid = "uid-" + name;
  queue.version = 7;
  queue.created = kStart;
  queue.policy = "Block";
  queue.priority = 1000;
  queue.priority_class = "low";
  queue.admission_checks = {"a", "b"};
  queue.created_by_us = true;
  queue.carried_policy = "Block";
  queue.items_refresh_interval = "30s";
  queue.items_hidden = true;
  queue.wait_for_pods_running = "true";
  queue.max_depth = "5";
  queue.invalid = "spec.priority: expected an integer";
  return queue;
}

Quota SampleQuota(const std::string& name) {
  Quota quota;
  quota.key = {"kube-system", name};
  quota.uid = "uid-" + name;
  quota.version = 8;
  quota.created = kStart;
  quota.parent = std::string(kRootQuota);
  quota.min = {{"cpu", 1000}};
  quota.max = {{"cpu", 4000}, {"memory", 0}};
  quota.lends = false;
  quota.odd_lends = "No";
  quota.queue_policy = "Priority";
  quota.queue_annotations = {{"koord-queue/max-depth", "5"}};
  quota.min_text = {{"cpu", "1"}};
  quota.max_text = {{"cpu", "4"}, {"memory", "0"}};
  quota.unknown_fields = "spec.mx";
  quota.invalid = "spec.max.memory: negative";
  return quota;
}

std::vector<Event> SampleEvents() {
  return {UnitUpserted{SampleUnit("a")},
          UnitRemoved{{"default", "a"}, "uid-a", 13},
          QueueUpserted{SampleQueue("q")},
          QueueRemoved{{"koord-queue", "q"}, 14},
          QuotaUpserted{SampleQuota("q")},
          QuotaRemoved{{"kube-system", "q"}, 15},
          Listed{ListedKind::kUnits},
          Listed{ListedKind::kQueues},
          Listed{ListedKind::kQuotas},
          LeadershipTaken{"1700000000"},
          WriteFinished{{"default", "a"}, "uid-a", 12, SampleUnit("a")},
          WriteFinished{{"default", "a"}, "uid-a", 12, absl::AbortedError("conflict")},
          TellFinished{{"default", "a"}, "uid-a", 12, true},
          TellFinished{{"default", "a"}, "uid-a", 12, false},
          QueueWriteFinished{"q", absl::OkStatus()},
          QueueWriteFinished{"q", absl::NotFoundError("namespace")}};
}

std::vector<Decision> SampleDecisions() {
  return {Dequeue{{"default", "a"}, "uid-a", 12, SampleAdmissions(), SampleConditions(), 4, kStart},
          Requeue{{"default", "b"}, "uid-b", 13, SampleRefusal(), SampleConditions(), 5, kStart, true},
          CreateQueue{SampleQueue("q"), {{"koord-queue/max-depth", "5"}}, "parent"},
          UpdateQueue{{"koord-queue", "q"}, "uid-q", 7, "Block", "Block"},
          DeleteQueue{{"koord-queue", "q"}, "uid-q", 7},
          Notify{Notify::Kind::kUnit, {"default", "a"}, "uid-a", true, "QueueNotFound", "queue q not found"}};
}

}  // namespace kq::scheduler
