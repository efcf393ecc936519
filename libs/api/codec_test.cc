#include "libs/api/codec.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace kq {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kMi = int64_t{1} << 20;
constexpr int64_t kGi = int64_t{1} << 30;

Json Parsed(absl::string_view text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  INFO(text);
  REQUIRE(json.ok());
  return *json;
}

// Single quotes read better in a test.
Json Quoted(absl::string_view text) { return Parsed(absl::StrReplaceAll(text, {{"'", "\""}})); }

QueueUnit Unit(absl::string_view text) {
  absl::StatusOr<QueueUnit> unit = ParseQueueUnit(Quoted(text));
  REQUIRE(unit.ok());
  return *std::move(unit);
}

QueueUnit UnitWithSpec(absl::string_view spec) {
  return Unit(absl::StrCat("{'metadata': {'name': 'a', 'namespace': 'ns'}, 'spec': ", spec, "}"));
}

QueueUnit UnitWithStatus(absl::string_view status) {
  return Unit(absl::StrCat("{'metadata': {'name': 'a', 'namespace': 'ns'}, 'status': ", status, "}"));
}

Quota ParsedQuota(absl::string_view metadata, absl::string_view spec = "{}") {
  absl::StatusOr<Quota> quota = ParseQuota(Quoted(absl::StrCat("{'metadata': ", metadata, ", 'spec': ", spec, "}")));
  REQUIRE(quota.ok());
  return *std::move(quota);
}

constexpr absl::string_view kWholeUnit = R"({
  'apiVersion': 'scheduling.x-k8s.io/v1alpha1', 'kind': 'QueueUnit',
  'metadata': {'name': 'j1', 'namespace': 'team', 'uid': 'u-1', 'resourceVersion': '18446744073709551615',
    'creationTimestamp': '2026-11-29T10:00:00Z',
    'labels': {'quota.scheduling.koordinator.sh/name': 'team-a', 'alibabacloud.com/quota-name': 'old', 'empty': ''}},
  'spec': {
    'consumerRef': {'apiVersion': 'batch/v1', 'kind': 'Job', 'namespace': 'team', 'name': 'j', 'uid': 'u-0'},
    'priority': -7, 'priorityClassName': 'high', 'queue': 'team-a', 'active': false,
    'resource': {'memory': '8Gi', 'cpu': '4'}, 'request': {'cpu': '4000m'},
    'podSet': [{'name': 'worker', 'count': 3, 'minCount': 1, 'topologyRequest': {},
      'template': {'spec': {'containers': [{'name': 'c', 'resources': {'requests': {'cpu': '500m'}}}]}}}]},
  'status': {
    'phase': 'Running', 'attempts': 5, 'message': 'fine', 'lastUpdateTime': '2026-11-29T10:00:01Z',
    'lastAllocateTime': '2026-11-29T10:00:02Z', 'podState': {'running': 2, 'pending': 1},
    'admissions': [{'name': 'worker', 'replicas': 3, 'running': 2, 'resources': {'cpu': 2},
                    'reclaimState': {'replicas': 1}}],
    'conditions': [{'type': 'Admitted', 'status': 'True', 'reason': 'Admitted', 'message': 'm',
                    'observedGeneration': 9, 'lastTransitionTime': '2026-11-29T10:00:03Z'}],
    'requeueState': {'count': 1}, 'fromTheFuture': [1]}})";

TEST_CASE("every field of a QueueUnit is read", "[codec]") {
  const QueueUnit unit = Unit(kWholeUnit);
  const absl::Time ten = absl::FromCivil(absl::CivilSecond(2026, 11, 29, 10, 0, 0), absl::UTCTimeZone());
  CHECK(unit.invalid == "");
  CHECK(unit.key == ObjectKey{"team", "j1"});
  CHECK(unit.uid == "u-1");
  CHECK(unit.version == std::numeric_limits<uint64_t>::max());
  CHECK(unit.created == ten);
  CHECK(unit.quota == "team-a");
  CHECK(unit.consumer == ConsumerRef{"batch/v1", "Job", {"team", "j"}, "u-0"});
  CHECK(unit.priority == -7);
  CHECK(unit.priority_class == "high");
  CHECK(unit.queue == "team-a");
  CHECK_FALSE(unit.active);
  CHECK(unit.resource == Resources{{"cpu", 4000}, {"memory", 8 * kGi}});
  CHECK(unit.resource_text == Texts{{"cpu", "4"}, {"memory", "8Gi"}});
  CHECK(unit.request == Resources{{"cpu", 4000}});
  CHECK(unit.request_text == Texts{{"cpu", "4000m"}});
  CHECK(unit.pod_sets == std::vector<PodSet>{{"worker", 3, {{"cpu", 500}}}});
  CHECK(unit.phase == Phase::kRunning);
  CHECK(unit.attempts == 5);
  CHECK(unit.message == "fine");
  CHECK(unit.last_update == ten + absl::Seconds(1));
  CHECK(unit.last_allocate == ten + absl::Seconds(2));
  CHECK(unit.pods_running == 2);
  CHECK(unit.pods_pending == 1);
  CHECK(unit.admissions == std::vector<Admission>{{"worker", 3, {{"cpu", 2000}}, 2, 1}});
  CHECK(unit.conditions == std::vector<Condition>{{"Admitted", "True", "Admitted", "m", ten + absl::Seconds(3), 9}});
}

TEST_CASE("what is absent or null has its default", "[codec]") {
  const QueueUnit bare = Unit("{'metadata': {'name': 'a'}}");
  const QueueUnit nulls = Unit(R"({'metadata': {'name': 'a', 'labels': null, 'creationTimestamp': null},
      'spec': {'consumerRef': null, 'priority': null, 'podSet': null, 'resource': null, 'active': null},
      'status': {'phase': null, 'lastUpdateTime': null, 'admissions': null, 'podState': null}})");
  CHECK(bare == nulls);
  CHECK_FALSE(UnitWithStatus("{'conditions': [{'type': 'A'}]}").conditions[0].observed_generation.has_value());
  CHECK(bare.invalid == "");
  CHECK(bare.active);
  CHECK(bare.phase == Phase::kUnset);
  CHECK(bare.consumer == ConsumerRef());
  CHECK(bare.created == absl::InfinitePast());
}

TEST_CASE("a pod set has the name and the count of its defaults", "[codec]") {
  CHECK(UnitWithSpec("{'podSet': [{}]}").pod_sets == std::vector<PodSet>{{"main", 1, {}}});
}

TEST_CASE("a consumer without a namespace is beside its unit", "[codec]") {
  CHECK(UnitWithSpec("{'consumerRef': {'kind': 'Job', 'name': 'j'}}").consumer.key == ObjectKey{"ns", "j"});
}

TEST_CASE("the quota of a unit", "[codec]") {
  const auto quota = [](absl::string_view labels) {
    return Unit(absl::StrCat("{'metadata': {'name': 'a', 'labels': ", labels, "}}")).quota;
  };
  CHECK(quota("{}") == "");
  CHECK(quota("{'alibabacloud.com/quota-name': 'old'}") == "old");
  CHECK(quota("{'quota.scheduling.koordinator.sh/name': '', 'alibabacloud.com/quota-name': 'old'}") == "old");
  CHECK(quota("{'quota.scheduling.koordinator.sh/name': 'new', 'alibabacloud.com/quota-name': ''}") == "new");
  CHECK(quota("{'quota.scheduling.koordinator.sh/name': ''}") == "");
}

TEST_CASE("only an object without a name is an error", "[codec]") {
  CHECK_FALSE(ParseQueueUnit(Quoted("[]")).ok());
  CHECK_FALSE(ParseQueueUnit(Quoted("{}")).ok());
  CHECK_FALSE(ParseQueueUnit(Quoted("{'metadata': {'name': 7}}")).ok());
  CHECK_FALSE(ParseQueue(Quoted("{'metadata': {}}")).ok());
  CHECK_FALSE(ParseQuota(Quoted("{'metadata': null}")).ok());
  CHECK(ParseQueueUnit(Quoted("{'metadata': {'name': 'a'}, 'spec': 3, 'status': []}")).ok());
}

struct Broken {
  std::string json;
  std::string told;  // the beginning of `invalid`
};

TEST_CASE("a broken spec is told with its field path", "[codec]") {
  const std::vector<Broken> cases = {
      {"3", "spec: expected an object"},
      {"{'resource': {'cpu': '-1'}}", "spec.resource.cpu: -1 is negative"},
      {"{'resource': {'cpu': 'four'}}", "spec.resource.cpu: "},
      {"{'resource': {'memory': '100000000Ei'}}", "spec.resource.memory: "},
      {"{'resource': {'cpu': true}}", "spec.resource.cpu: expected a quantity"},
      {"{'request': []}", "spec.request: expected an object"},
      {"{'resource': {'gpu': '1', 'requests.gpu': '2'}}", "spec.resource.requests.gpu: differs"},
      {"{'priority': 2147483648}", "spec.priority: 2147483648 is not between"},
      {"{'priority': 'high'}", "spec.priority: expected an integer"},
      {"{'priorityClassName': 1}", "spec.priorityClassName: expected a string"},
      {"{'active': 'yes'}", "spec.active: expected a boolean"},
      {"{'consumerRef': 'j'}", "spec.consumerRef: expected an object"},
      {"{'podSet': {}}", "spec.podSet: expected a list"},
      {"{'podSet': ['worker']}", "spec.podSet[0]: expected an object"},
      {"{'podSet': [{'count': -1}]}", "spec.podSet[0].count: -1 is not between 0"},
      {"{'podSet': [{'count': 2147483648}]}", "spec.podSet[0].count: 2147483648 is not between"},
      {"{'podSet': [{'name': 'a'}, {'name': 'a'}]}", "spec.podSet[1].name: a second pod set \"a\""},
      {"{'podSet': [{}, {}]}", "spec.podSet[1].name: a second pod set \"main\""},
      {"{'podSet': [{'template': {'spec': {'containers': [{'resources': {'requests': {'cpu': '1x'}}}]}}}]}",
       "spec.podSet[0].template.spec.containers[0].resources.requests.cpu: "},
  };
  for (const Broken& c : cases) {
    CAPTURE(c.json);
    CHECK_THAT(UnitWithSpec(c.json).invalid, Catch::StartsWith(c.told));
  }
}

TEST_CASE("a broken status is told with its field path", "[codec]") {
  const std::vector<Broken> cases = {
      {"{'phase': 'Paused'}", "status.phase: unknown phase \"Paused\""},
      {"{'attempts': -1}", "status.attempts: -1 is not between"},
      {"{'attempts': 1.5}", "status.attempts: expected an integer"},
      {"{'lastUpdateTime': 'noon'}", "status.lastUpdateTime: "},
      {"{'podState': {'running': '1'}}", "status.podState.running: expected an integer"},
      {"{'admissions': [{'replicas': 1}]}", "status.admissions[0].name: is missing"},
      {"{'admissions': [{'name': 'a'}, {'name': 'a'}]}", "status.admissions[1].name: a second \"a\""},
      {"{'admissions': [{'name': 'a', 'replicas': -1}]}", "status.admissions[0].replicas: -1 is not between"},
      {"{'admissions': [{'name': 'a', 'resources': {'cpu': '-1'}}]}", "status.admissions[0].resources.cpu: "},
      {"{'admissions': [{'name': 'a', 'reclaimState': {'replicas': -1}}]}",
       "status.admissions[0].reclaimState.replicas: "},
      {"{'conditions': [{'status': 'True'}]}", "status.conditions[0].type: is missing"},
  };
  for (const Broken& c : cases) {
    CAPTURE(c.json);
    CHECK_THAT(UnitWithStatus(c.json).invalid, Catch::StartsWith(c.told));
  }
}

// "[{'name': 'n0'}, {'name': 'n1'}, ...]"
std::string Named(int count, absl::string_view key) {
  std::string list;
  for (int i = 0; i < count; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", "{'", key, "': 'n", i, "'}");
  return absl::StrCat("[", list, "]");
}

TEST_CASE("lists beyond their limits are told and cut", "[codec]") {
  CHECK(UnitWithSpec(absl::StrCat("{'podSet': ", Named(8, "name"), "}")).invalid == "");
  const QueueUnit nine = UnitWithSpec(absl::StrCat("{'podSet': ", Named(9, "name"), "}"));
  CHECK(nine.invalid == "spec.podSet: 9 entries, at most 8 are allowed");
  CHECK(nine.pod_sets.size() == 8);

  CHECK(UnitWithStatus(absl::StrCat("{'admissions': ", Named(32, "name"), "}")).invalid == "");
  const QueueUnit many = UnitWithStatus(absl::StrCat("{'admissions': ", Named(33, "name"), "}"));
  CHECK(many.invalid == "status.admissions: 33 entries, at most 32 are allowed");
  CHECK(many.admissions.size() == 32);

  CHECK(UnitWithStatus(absl::StrCat("{'conditions': ", Named(8, "type"), "}")).invalid == "");
  CHECK(UnitWithStatus(absl::StrCat("{'conditions': ", Named(9, "type"), "}")).invalid ==
        "status.conditions: 9 entries, at most 8 are allowed");
}

TEST_CASE("a broken field takes nothing else with it", "[codec]") {
  const QueueUnit unit = Unit(R"({'metadata': {'name': 'a', 'uid': 'u', 'resourceVersion': 'x'},
      'spec': {'priority': 'high', 'resource': {'cpu': 'four', 'memory': '1Mi'}, 'podSet': [{'name': 'w', 'count': 2}]},
      'status': {'phase': 'Sleeping', 'admissions': [{'name': 'w', 'replicas': 2}]}})");
  CHECK(unit.uid == "u");
  CHECK(unit.resource == Resources{{"memory", kMi}});
  CHECK(unit.pod_sets.size() == 1);
  CHECK(unit.admissions.size() == 1);
  CHECK_THAT(unit.invalid, Catch::StartsWith("metadata.resourceVersion: is not a number; spec.priority: "));
  CHECK_THAT(unit.invalid, Catch::EndsWith("; status.phase: unknown phase \"Sleeping\""));
}

TEST_CASE("what is told has a limit and stays valid text", "[codec]") {
  std::string list;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", "'r", i, "': 'x'");
  const QueueUnit many = UnitWithSpec(absl::StrCat("{'resource': {", list, "}}"));
  CHECK_THAT(many.invalid, Catch::EndsWith("; and 12 more"));

  std::string umlauts;
  for (int i = 0; i < 400; ++i) absl::StrAppend(&umlauts, "ä");
  const std::string invalid = UnitWithStatus(absl::StrCat("{'phase': '", umlauts, "'}")).invalid;
  CHECK(invalid.size() < 300);
  CHECK_THAT(invalid, Catch::EndsWith("ä..."));
}

TEST_CASE("more resources than a list may have are told", "[codec]") {
  std::string list;
  for (int i = 0; i < 65; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", "'r", i, "': '1'");
  const QueueUnit unit = UnitWithSpec(absl::StrCat("{'resource': {", list, "}}"));
  CHECK(unit.invalid == "spec.resource: 65 resources, at most 64 are allowed");
  CHECK(unit.resource.Size() == 64);
}

TEST_CASE("resource names are canonical", "[codec]") {
  const Quota quota = ParsedQuota("{'name': 'q'}", "{'max': {'requests.nvidia.com/gpu': '8', 'requests.': '1'}}");
  CHECK(quota.invalid == "");
  CHECK(quota.max == Resources{{"nvidia.com/gpu", 8}, {"requests.", 1}});
  CHECK(quota.max_text == Texts{{"nvidia.com/gpu", "8"}, {"requests.", "1"}});
  CHECK(UnitWithSpec("{'resource': {'gpu': '2', 'requests.gpu': '2'}}").invalid == "");
}

TEST_CASE("numbers are quantities as well as texts", "[codec]") {
  const QueueUnit unit = UnitWithSpec("{'resource': {'cpu': 2, 'memory': 0.5, 'gpu': 1e3}}");
  CHECK(unit.invalid == "");
  CHECK(unit.resource == Resources{{"cpu", 2000}, {"gpu", 1000}, {"memory", 1}});
}

TEST_CASE("the queue of a Queue object", "[codec]") {
  const absl::StatusOr<Queue> queue = ParseQueue(Quoted(R"({
      'metadata': {'name': 'team-a', 'namespace': 'koord-queue', 'labels': {'create-by-koordqueue': 'true'},
                   'annotations': {'koord-queue/queue-policy': 'Block'}},
      'spec': {'queuePolicy': 'Round', 'priority': 1000, 'priorityClassName': 'p',
               'admissionChecks': [{'name': 'prov', 'labelSelector': {}}, {'name': 'other'}]}})"));
  REQUIRE(queue.ok());
  CHECK(queue->invalid == "");
  CHECK(queue->key == ObjectKey{"koord-queue", "team-a"});
  CHECK(queue->policy == "Round");
  CHECK(queue->priority == 1000);
  CHECK(queue->priority_class == "p");
  CHECK(queue->admission_checks == std::vector<std::string>{"prov", "other"});
  CHECK(queue->created_by_us);
  CHECK(queue->carried_policy == "Block");
  CHECK(queue->items_refresh_interval == "");
  CHECK_FALSE(queue->items_hidden);

  const absl::StatusOr<Queue> broken =
      ParseQueue(Quoted("{'metadata': {'name': 'q'}, 'spec': {'priority': 'x', 'admissionChecks': [{}]}}"));
  REQUIRE(broken.ok());
  CHECK_THAT(broken->invalid, Catch::Contains("spec.priority: ") && Catch::Contains("spec.admissionChecks[0].name: "));
  CHECK_FALSE(broken->created_by_us);
}

TEST_CASE("the annotations of a Queue that the log names are kept as written", "[codec]") {
  const absl::StatusOr<Queue> queue =
      ParseQueue(Quoted("{'metadata': {'name': 'q', 'annotations': {'koord-queue/wait-for-pods-running': 'true', "
                        "'koord-queue/max-depth': '5 or so'}}}"));
  REQUIRE(queue.ok());
  CHECK(queue->wait_for_pods_running == "true");
  CHECK(queue->max_depth == "5 or so");
  CHECK(queue->invalid == "");
  const absl::StatusOr<Queue> plain = ParseQueue(Quoted("{'metadata': {'name': 'q'}}"));
  REQUIRE(plain.ok());
  CHECK(plain->wait_for_pods_running == "");
  CHECK(plain->max_depth == "");
}

TEST_CASE("the annotations of a Queue that say how its items are shown", "[codec]") {
  const absl::StatusOr<Queue> queue =
      ParseQueue(Quoted("{'metadata': {'name': 'q', 'annotations': {'koord-queue/queue-items-refresh-interval': '30s', "
                        "'koord-queue/disable-show-queue-items': ''}}}"));
  REQUIRE(queue.ok());
  CHECK(queue->items_refresh_interval == "30s");
  CHECK(queue->items_hidden);
}

TEST_CASE("the parent of a quota", "[codec]") {
  const auto parent = [](absl::string_view name, absl::string_view labels) {
    return ParsedQuota(absl::StrCat("{'name': '", name, "', 'labels': ", labels, "}")).parent;
  };
  CHECK(parent("q", "null") == "koordinator-root-quota");
  CHECK(parent("q", "{'quota.scheduling.koordinator.sh/parent': ''}") == "koordinator-root-quota");
  CHECK(parent("q", "{'quota.scheduling.koordinator.sh/parent': 'x'}") == "x");
  CHECK(parent("koordinator-root-quota", "{}") == "");
  CHECK(parent("koordinator-root-quota", "{'quota.scheduling.koordinator.sh/parent': 'x'}") == "");
}

TEST_CASE("a quota lends unless its label says false", "[codec]") {
  const auto quota = [](absl::string_view value) {
    return ParsedQuota(absl::StrCat("{'name': 'q', 'labels': {'quota.scheduling.koordinator.sh/allow-lent-resource': '",
                                    value, "'}}"));
  };
  CHECK(ParsedQuota("{'name': 'q'}").lends);
  CHECK_FALSE(quota("false").lends);
  for (const char* value : {"true", "", "false"}) CHECK(quota(value).odd_lends.empty());
  CHECK(quota("true").lends);
  CHECK(quota("").lends);
  for (const char* value : {"False", "No", "0", "True"}) {
    CAPTURE(value);
    CHECK(quota(value).lends);
    CHECK(quota(value).odd_lends == value);
  }
}

TEST_CASE("the queue policy that a quota asks for", "[codec]") {
  const auto policy = [](absl::string_view labels) {
    return ParsedQuota(absl::StrCat("{'name': 'q', 'labels': ", labels, "}")).queue_policy;
  };
  CHECK(policy("{}") == "");
  CHECK(policy("{'koord-queue/queue-policy': 'Block'}") == "Block");
  CHECK(policy("{'kube-queue/queue-policy': 'Block'}") == "Block");
  CHECK(policy("{'kube-queue/queue-policy': 'Block', 'koord-queue/queue-policy': 'Priority'}") == "Priority");
  CHECK(policy("{'kube-queue/queue-policy': 'Block', 'koord-queue/queue-policy': ''}") == "Block");
}

TEST_CASE("the annotations that a quota hands to its queue", "[codec]") {
  const Quota quota = ParsedQuota(R"({'name': 'q', 'annotations': {'koord-queue/max-depth': '5', 'other': 'x',
      'koord-queue/queue-policy': 'Block', 'quota-koord-queue-enable': 'true', 'kube-queue/a': 'b',
      'koord-queue/a': ''}})");
  CHECK(quota.queue_annotations ==
        Texts{{"koord-queue/a", ""}, {"koord-queue/max-depth", "5"}, {"quota-koord-queue-enable", "true"}});
}

TEST_CASE("min and max of a quota, and what is wrong with them", "[codec]") {
  const Quota quota = ParsedQuota("{'name': 'q'}", "{'min': {'cpu': '1'}, 'max': {'cpu': '2500m', 'memory': '8Gi'}}");
  CHECK(quota.invalid == "");
  CHECK(quota.min == Resources{{"cpu", 1000}});
  CHECK(quota.max == Resources{{"cpu", 2500}, {"memory", 8 * kGi}});
  CHECK(quota.min_text == Texts{{"cpu", "1"}});
  CHECK(quota.max_text == Texts{{"cpu", "2500m"}, {"memory", "8Gi"}});
  CHECK_THAT(ParsedQuota("{'name': 'q'}", "{'max': {'cpu': '-5'}}").invalid, Catch::StartsWith("spec.max.cpu: "));
  CHECK(ParsedQuota("{'name': 'q'}").max.Empty());
}

TEST_CASE("fields of a quota's spec that nobody reads are named, and change nothing", "[codec]") {
  const Quota quota = ParsedQuota("{'name': 'q'}", "{'mx': {'cpu': '1'}, 'max': {'cpu': '2'}, 'Min': {'cpu': 'x'}}");
  CHECK(quota.unknown_fields == "spec.Min, spec.mx");
  CHECK(quota.invalid == "");
  CHECK(quota.max == Resources{{"cpu", 2000}});
  CHECK(ParsedQuota("{'name': 'q'}", "{'min': {}, 'max': {}}").unknown_fields == "");
  CHECK(ParsedQuota("{'name': 'q'}", "null").unknown_fields == "");
  CHECK(ParsedQuota("{'name': 'q'}", "{'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,'i':1,'j':1}").unknown_fields ==
        "spec.a, spec.b, spec.c, spec.d, spec.e, spec.f, spec.g, spec.h; and 2 more");
  const std::string name(1000, 'x');
  CHECK(ParsedQuota("{'name': 'q'}", absl::StrCat("{'", name, "': 1}")).unknown_fields == "spec." + name.substr(0, 64));
}

TEST_CASE("a status patch holds what is set and nothing else", "[codec]") {
  CHECK(JsonText(UnitStatusPatch({})) == R"({"status":{}})");

  UnitStatusChange change;
  change.phase = Phase::kDequeued;
  change.message = "";
  change.attempts = 3;
  change.last_update = absl::FromUnixSeconds(0);
  change.last_allocate = absl::InfinitePast();
  change.pods = {2, 1};
  CHECK(JsonText(UnitStatusPatch(change)) ==
        R"({"status":{"phase":"Dequeued","message":"","attempts":3,"lastUpdateTime":"1970-01-01T00:00:00Z",)"
        R"("lastAllocateTime":null,"podState":{"running":2,"pending":1}}})");
}

TEST_CASE("admissions and conditions are patched as whole lists", "[codec]") {
  UnitStatusChange change;
  change.admissions = {{"w", 2, {}, 1, 1}, {"ps", 1, {{"cpu", 500}, {"memory", kGi}}, 0, {}}};
  change.conditions = {{"Admitted", "True", "Admitted", "yes", absl::InfinitePast(), 4}};
  CHECK(JsonText(UnitStatusPatch(change)) ==
        R"({"status":{"admissions":[{"name":"w","replicas":2,"running":1,"reclaimState":{"replicas":1}},)"
        R"({"name":"ps","replicas":1,"resources":{"cpu":"500m","memory":"1Gi"},"running":0}],)"
        R"("conditions":[{"type":"Admitted","status":"True","observedGeneration":4,)"
        R"("lastTransitionTime":"1970-01-01T00:00:00Z","reason":"Admitted","message":"yes"}]}})");
  change = {};
  change.admissions.emplace();
  CHECK(JsonText(UnitStatusPatch(change)) == R"({"status":{"admissions":[]}})");
}

TEST_CASE("a patch of all that was read changes nothing when read again", "[codec]") {
  const QueueUnit unit = Unit(kWholeUnit);
  UnitStatusChange change;
  change.phase = unit.phase;
  change.message = unit.message;
  change.attempts = unit.attempts;
  change.last_update = unit.last_update;
  change.last_allocate = unit.last_allocate;
  change.admissions = unit.admissions;
  change.conditions = unit.conditions;
  change.pods = {unit.pods_running, unit.pods_pending};

  // As the API server merges it: the named fields are replaced.
  Json object = Quoted(kWholeUnit);
  JsonObject& status = object.at("status").as_object();
  const Json patch = UnitStatusPatch(change);
  for (const auto& field : patch.at("status").as_object()) status[field.key()] = field.value();
  const absl::StatusOr<QueueUnit> again = ParseQueueUnit(object);
  REQUIRE(again.ok());
  CHECK(*again == unit);
  CHECK(status.contains("requeueState"));
  CHECK(status.contains("fromTheFuture"));
}

TEST_CASE("a Queue as it is created for a quota, and read again", "[codec]") {
  Queue queue;
  queue.key = {"koord-queue", "team-a"};
  queue.policy = "Block";
  queue.priority = 1000;
  queue.created_by_us = true;
  queue.carried_policy = "Block";
  const Json json = QueueJson(queue, {{"koord-queue/max-depth", "5"}}, "root");
  CHECK(JsonText(json) ==
        R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"Queue","metadata":{"name":"team-a",)"
        R"("namespace":"koord-queue","labels":{"create-by-koordqueue":"true",)"
        R"("quota.scheduling.koordinator.sh/parent":"root"},"annotations":{"koord-queue/max-depth":"5",)"
        R"("koord-queue/queue-policy":"Block"}},"spec":{"queuePolicy":"Block","priority":1000}})");
  const absl::StatusOr<Queue> again = ParseQueue(json);
  REQUIRE(again.ok());
  queue.max_depth = "5";
  CHECK(*again == queue);

  queue.max_depth = "";
  queue.priority_class = "p";
  queue.admission_checks = {"a", "b"};
  queue.created_by_us = false;
  queue.carried_policy = "";
  const Json other = QueueJson(queue, {}, "");
  CHECK_FALSE(other.at("metadata").as_object().contains("labels"));
  CHECK(*ParseQueue(other) == queue);
}

TEST_CASE("a resource list is printed in canonical quantities and read again", "[codec]") {
  const Resources resources{{"cpu", 500}, {"memory", 8 * kGi}, {"nvidia.com/gpu", 3}};
  CHECK(JsonText(ResourceListJson(resources)) == R"({"cpu":"500m","memory":"8Gi","nvidia.com/gpu":"3"})");
  CHECK(*ParseResourceList(ResourceListJson(resources), "x") == resources);
  CHECK(ParseResourceList(Quoted("null"), "x")->Empty());
  CHECK(ParseResourceList(Quoted("[]"), "spec.max").status().message() == "spec.max: expected an object");
  CHECK_THAT(std::string(ParseResourceList(Quoted("{'cpu': 'x'}"), "spec.max").status().message()),
             Catch::StartsWith("spec.max.cpu: "));
}

}  // namespace
}  // namespace kq
