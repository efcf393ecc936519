#include "services/debug-api/views.h"

#include <google/protobuf/text_format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/debug-api/view_json.h"

namespace kq::debug_api {
namespace {

namespace v1 = queueing::v1;

template <typename Message>
std::shared_ptr<Message> FromText(const std::string& text) {
  auto message = std::make_shared<Message>();
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, message.get()));
  return message;
}

void AddQueue(Picture* picture, const std::string& text) {
  auto queue = FromText<v1::QueueSnapshot>(text);
  picture->queues[queue->name()] = queue;
}
void AddQuota(Picture* picture, const std::string& text) {
  auto quota = FromText<v1::QuotaSnapshot>(text);
  picture->quotas[absl::StrCat(quota->namespace_(), "/", quota->name())] = quota;
}

constexpr char kRuns[] = R"(namespace: "default" name: "runs" uid: "u1" quota: "team-a" queue: "team-a" priority: 7
    phase: "Dequeued" place: ADMITTED created { seconds: 1764451576 } charged { resource: "memory" amount: 8589934592 }
    charged { resource: "cpu" amount: 3000 })";
constexpr char kWaits[] = R"(namespace: "other" name: "waits" quota: "team-a" queue: "team-a" phase: "Enqueued"
    place: PARKED position: 1 attempts: 2 created { seconds: 1764451580 } since { seconds: 1764451581 }
    refusal { reason: OVER_MAX quota: "team-a" resource: "cpu" requested: 5000 used: 3000 limit: 4000 short_by: 4000
              sentence: "limited quotaName:team-a, limited resKey:cpu," }
    need { resource: "cpu" amount: 5000 })";

// team-a, a child of parent, with a unit that runs and one that waits.
Picture OneTeam() {
  Picture picture;
  AddQuota(&picture, R"(namespace: "kube-system" name: "parent" parent: "koordinator-root-quota"
      max_amounts { resource: "cpu" amount: 9000 } used { resource: "cpu" amount: 3000 }
      children_used { resource: "cpu" amount: 3000 } children: "team-a")");
  AddQuota(&picture, absl::StrCat(R"(namespace: "kube-system" name: "team-a" parent: "parent"
      max_amounts { resource: "cpu" amount: 4000 } min_amounts { resource: "cpu" amount: 2000 }
      used { resource: "memory" amount: 8589934592 } used { resource: "cpu" amount: 3000 }
      self_used { resource: "cpu" amount: 3000 } guaranteed_used { resource: "cpu" amount: 2000 }
      self_guaranteed_used { resource: "cpu" amount: 2000 } charged { )",
                                  kRuns, "}"));
  AddQueue(&picture,
           absl::StrCat(R"(name: "team-a" policy: "Priority" priority: 1000 parked: 1 waiting { )", kWaits, "}"));
  return picture;
}

TEST_CASE("before any quota is known all three documented views are empty objects", "[debug-api]") {
  CHECK(TabbedJsonText(ElasticQuotaView({})) == "{}\n");
  CHECK(TabbedJsonText(QueueView({}, 10)) == "{}\n");
  CHECK(TabbedJsonText(UserQuotaView({}, 10)) == "{}\n");
}

TEST_CASE("the books of a quota have the documented keys, in their order, indented with tabs", "[debug-api]") {
  CHECK(TabbedJsonText(ElasticQuotaView(OneTeam())) == R"({
	"parent": {
		"Count": 0,
		"Max": {
			"cpu": 9000
		},
		"Min": {},
		"Used": {
			"cpu": 3000
		},
		"SelfUsed": {},
		"ChildrenUsed": {
			"cpu": 3000
		},
		"GuaranteedUsed": {},
		"SelfGuaranteedUsed": {},
		"ChildrenGuaranteedUsed": {},
		"Items": {}
	},
	"team-a": {
		"Count": 1,
		"Max": {
			"cpu": 4000
		},
		"Min": {
			"cpu": 2000
		},
		"Used": {
			"cpu": 3000,
			"memory": 8589934592
		},
		"SelfUsed": {
			"cpu": 3000
		},
		"ChildrenUsed": {},
		"GuaranteedUsed": {
			"cpu": 2000
		},
		"SelfGuaranteedUsed": {
			"cpu": 2000
		},
		"ChildrenGuaranteedUsed": {},
		"Items": {
			"default/runs": {
				"Name": "runs",
				"Resource": {
					"cpu": 3000,
					"memory": 8589934592
				},
				"Priority": 7,
				"CreationTimestamp": "2025-11-29T21:26:16Z",
				"InReserveCache": true
			}
		}
	}
}
)");
}

TEST_CASE("quotas are shown by bare name; one out of force by its full name, with the trouble", "[debug-api]") {
  Picture picture;
  AddQuota(&picture, R"(namespace: "a" name: "q" used { resource: "cpu" amount: 1000 })");
  AddQuota(&picture, R"(namespace: "b" name: "q" shadowed_by: "a/q")");
  AddQuota(&picture, R"(namespace: "c" name: "another" trouble: "its parent is missing")");
  const Json view = ElasticQuotaView(picture);
  std::vector<std::string> names;
  for (const auto& member : view.as_object()) names.emplace_back(member.key());
  CHECK(names == std::vector<std::string>{"another", "b/q", "q"});
  CHECK(StringAt(view, {"another", "Trouble"}) == "its parent is missing");
  CHECK(Find(view, {"q", "Trouble"}) == nullptr);
  CHECK(*Find(view, {"q", "Used", "cpu"}) == 1000);
}

TEST_CASE("a queue shows its policy, its counts, and who waits in it and why", "[debug-api]") {
  CHECK(TabbedJsonText(QueueView(OneTeam(), 10)) == R"({
	"team-a": {
		"Policy": "Priority",
		"Priority": 1000,
		"Trouble": "",
		"Ready": 0,
		"Resting": 0,
		"Parked": 1,
		"Assumed": 0,
		"Waiting": [
			{
				"Position": 1,
				"Namespace": "other",
				"Name": "waits",
				"Quota": "team-a",
				"Priority": 0,
				"Place": "PARKED",
				"Reason": "OVER_MAX",
				"Message": "limited quotaName:team-a, limited resKey:cpu,",
				"Attempts": 2,
				"Need": {
					"cpu": 5000
				},
				"CreationTimestamp": "2025-11-29T21:26:20Z",
				"Since": "2025-11-29T21:26:21Z"
			}
		],
		"NotShown": 0
	}
}
)");
}

TEST_CASE("a user quota shows who uses it, by namespace and unit", "[debug-api]") {
  const Json view = UserQuotaView(OneTeam(), 10);
  CHECK(JsonText(*Find(view, {"team-a"})) ==
        R"({"Quota":"kube-system/team-a","Namespaces":{)"
        R"("default":{"Used":{"cpu":3000,"memory":8589934592},"Charged":1,"Waiting":0},)"
        R"("other":{"Used":{},"Charged":0,"Waiting":1}},"Used":{"cpu":3000},"Units":[)"
        R"({"Namespace":"default","Name":"runs","Phase":"Dequeued","Place":"ADMITTED","Position":0,)"
        R"("Charged":{"cpu":3000,"memory":8589934592},"Need":{}},)"
        R"({"Namespace":"other","Name":"waits","Phase":"Enqueued","Place":"PARKED","Position":1,)"
        R"("Charged":{},"Need":{"cpu":5000}}],"NotShown":0})");
  CHECK(JsonText(*Find(view, {"parent"})) ==
        R"({"Quota":"kube-system/parent","Namespaces":{},"Used":{},"Units":[],"NotShown":0})");
}

TEST_CASE("a unit of which a part was admitted is one of its quota's units once", "[debug-api]") {
  Picture picture = OneTeam();
  AddQueue(&picture, absl::StrCat(R"(name: "team-a" waiting { )", kRuns, " }"));
  CHECK(Find(UserQuotaView(picture, 10), {"team-a", "Units"})->as_array().size() == 1);
}

TEST_CASE("a long line is cut at the limit, and the rest is counted", "[debug-api]") {
  Picture picture;
  AddQuota(&picture, R"(namespace: "kube-system" name: "q")");
  std::string waiting = R"(name: "q" )";
  for (int i = 1; i <= 5; ++i) {
    absl::StrAppend(&waiting, R"(waiting { namespace: "n" name: "u)", i, R"(" quota: "q" position: )", i, "} ");
  }
  AddQueue(&picture, waiting);
  for (const Json& view : {QueueView(picture, 2), UserQuotaView(picture, 2)}) {
    const char* list = Find(view, {"q", "Waiting"}) != nullptr ? "Waiting" : "Units";
    const JsonArray& shown = Find(view, {"q", list})->as_array();
    REQUIRE(shown.size() == 2);
    CHECK(StringAt(shown[1], {"Name"}) == "u2");
    CHECK(*Find(view, {"q", "NotShown"}) == 3);
  }
}

TEST_CASE("a unit is found wherever it is", "[debug-api]") {
  Picture picture = OneTeam();
  picture.unplaced = std::make_shared<const std::vector<v1::UnitSnapshot>>(
      1, *FromText<v1::UnitSnapshot>(R"(namespace: "n" name: "lost")"));
  struct Case {
    std::string name, ns, unit;
    bool found;
    std::string queue;
  };
  const auto c = GENERATE(values<Case>({{"one that waits", "other", "waits", true, "team-a"},
                                        {"one that holds quota", "default", "runs", true, ""},
                                        {"one in no queue", "n", "lost", true, ""},
                                        {"one of another namespace", "default", "waits", false, ""},
                                        {"one that is not there", "n", "gone", false, ""}}));
  CAPTURE(c.name);
  const FoundUnit found = FindUnit(picture, c.ns, c.unit);
  CHECK((found.unit != nullptr) == c.found);
  CHECK((found.unit == nullptr || found.unit->name() == c.unit));
  CHECK(found.queue == c.queue);
}

TEST_CASE("a unit is shown with what the leader says of it", "[debug-api]") {
  LeaderAnswers answers;
  answers.explanation = *FromText<v1::Explanation>(R"(waits_for: "4 cpu to become free in team-a" ahead: 0
      queue_length: 1 levels { quota: "team-a" short_by { resource: "cpu" amount: 4000 } })");
  answers.decisions = *FromText<v1::DecisionsResponse>(R"(decisions { sequence: 5 kind: "Requeue" version: 9
      time { seconds: 1764451582 } refusal { sentence: "limited quotaName:team-a, limited resKey:cpu," } })");
  const auto unit = FromText<v1::UnitSnapshot>(kWaits);
  unit->clear_queue();
  const Json view = UnitView({unit.get(), "team-a"}, answers);
  CHECK(StringAt(view, {"Name"}) == "waits");
  CHECK(StringAt(view, {"Queue"}) == "team-a");
  CHECK(StringAt(view, {"Place"}) == "PARKED");
  CHECK(*Find(view, {"Refusal", "ShortBy"}) == 4000);
  CHECK(*Find(view, {"RetryAt"}) == nullptr);
  CHECK(JsonText(*Find(view, {"Explanation"})) ==
        R"({"WaitsFor":"4 cpu to become free in team-a","Ahead":0,"QueueLength":1,)"
        R"("Levels":[{"Quota":"team-a","Used":{},"Min":{},"Max":{},"ShortBy":{"cpu":4000}}]})");
  CHECK(JsonText(*Find(view, {"Decisions"})) ==
        R"([{"Sequence":5,"Time":"2025-11-29T21:26:22Z","Kind":"Requeue","Version":9,)"
        R"("Message":"limited quotaName:team-a, limited resKey:cpu,","Detail":""}])");
  CHECK(Find(view, {"ExplanationError"}) == nullptr);
}

TEST_CASE("a unit is shown from the picture alone when the leader does not answer", "[debug-api]") {
  LeaderAnswers answers;
  answers.explanation = absl::UnavailableError("connection refused");
  const auto unit = FromText<v1::UnitSnapshot>(kRuns);
  const Json view = UnitView({unit.get(), ""}, answers);
  CHECK(*Find(view, {"Explanation"}) == nullptr);
  CHECK(StringAt(view, {"ExplanationError"}) == "connection refused");
  CHECK(StringAt(view, {"DecisionsError"}) == "the leader was not asked");
  CHECK(*Find(view, {"Refusal"}) == nullptr);
  CHECK(*Find(view, {"Charged", "cpu"}) == 3000);
}

TEST_CASE("only what begins a line is indentation", "[debug-api]") {
  const std::string text = TabbedJsonText({{"a", "  two\n  lines  "}, {"b", {{"c", JsonArray{1}}}}});
  CHECK(text == "{\n\t\"a\": \"  two\\n  lines  \",\n\t\"b\": {\n\t\t\"c\": [\n\t\t\t1\n\t\t]\n\t}\n}\n");
}

}  // namespace
}  // namespace kq::debug_api
