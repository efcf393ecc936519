#include "e2e/fault_proxy/fault_rules.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace kq {
namespace {

using Kind = Fault::Kind;

const KubeRequest kPatch = {"patch", "jobs.batch/status", "team-a", "job-1"};

std::unique_ptr<FaultRules> Rules(absl::string_view text) {
  auto rules = FaultRules::Parse(text);
  INFO(rules.status().ToString());
  REQUIRE(rules.ok());
  return *std::move(rules);
}

// The numbers of the requests, out of 1..count, that are struck.
std::vector<int64_t> Struck(FaultRules* rules, int64_t count, const KubeRequest& request = kPatch) {
  std::vector<int64_t> out;
  for (int64_t number = 1; number <= count; ++number) {
    if (!rules->Strike(request, number).empty()) out.push_back(number);
  }
  return out;
}

TEST_CASE("no rules, no faults") {
  for (const char* text : {"", "{}", "seed: 3", "rules: []", "rules: null"}) {
    CAPTURE(text);
    CHECK(Struck(Rules(text).get(), 100).empty());
  }
}

TEST_CASE("every, skip and limit count the requests that match") {
  using Numbers = std::vector<int64_t>;
  CHECK(Struck(Rules("rules: [{fault: lose-answer}]").get(), 3) == Numbers{1, 2, 3});
  CHECK(Struck(Rules("rules: [{fault: lose-answer, every: 3}]").get(), 7) == Numbers{3, 6});
  CHECK(Struck(Rules("rules: [{fault: lose-answer, limit: 2}]").get(), 7) == Numbers{1, 2});
  CHECK(Struck(Rules("rules: [{fault: lose-answer, skip: 5}]").get(), 7) == Numbers{6, 7});
  CHECK(Struck(Rules("rules: [{fault: lose-answer, skip: 1, every: 2, limit: 2}]").get(), 9) == Numbers{3, 5});

  const auto rules = Rules("rules: [{fault: lose-answer, every: 2, verbs: [patch]}]");
  CHECK(rules->Strike(kPatch, 1).empty());
  CHECK(rules->Strike({"get", "pods", "a", "x"}, 2).empty());
  CHECK(rules->Strike(kPatch, 3).size() == 1);
}

TEST_CASE("chance depends on the seed and the number of the request alone") {
  const char text[] = "rules: [{fault: lose-answer, probability: 0.2}]";
  const auto with_seed = [&](int seed) {
    const auto rules = Rules(absl::StrCat("seed: ", seed, "\n", text));
    return Struck(rules.get(), 10000);
  };
  const auto first = with_seed(1);
  CHECK(first == with_seed(1));
  CHECK(first != with_seed(2));
  CHECK(first.size() > 1800);
  CHECK(first.size() < 2200);
  CHECK(Struck(Rules("rules: [{fault: lose-answer, probability: 0}]").get(), 1000).empty());
  CHECK(Struck(Rules("rules: [{fault: lose-answer, probability: 1}]").get(), 1000).size() == 1000);

  const auto other = Rules(text);
  other->SetSeed(1);
  CHECK(Struck(other.get(), 10000) == first);
}

TEST_CASE("a rule matches by verb, resource, namespace and name, each as a whole") {
  struct Case {
    const char* rule;
    bool want;
  };
  const Case c = GENERATE(values<Case>({
      {"verbs: [patch]", true},
      {"verbs: [get, list]", false},
      {"resource: 'jobs\\.batch/status'", true},
      {"resource: 'jobs\\.batch'", false},
      {"resource: 'jobs.*'", true},
      {"namespace: 'team-.*'", true},
      {"namespace: team", false},
      {"object: 'job-[0-9]'", true},
      {"object: job", false},
      {"verbs: [patch], namespace: team-a, object: job-2", false},
  }));
  CAPTURE(c.rule);
  const auto rules = Rules(absl::StrCat("rules: [{fault: lose-request, ", c.rule, "}]"));
  CHECK(rules->Strike(kPatch, 1).empty() != c.want);
}

TEST_CASE("the first rule that strikes counts, after slow ones") {
  const auto rules = Rules(R"(
rules:
- {fault: slow-request, delay: 1s}
- {fault: slow-answer, delay: 2s}
- {fault: lose-answer, every: 2}
- {fault: answer, code: 409}
)");
  const auto first = rules->Strike(kPatch, 1);
  REQUIRE(first.size() == 3);
  CHECK(first[0].kind == Kind::kSlowRequest);
  CHECK(first[1].delay == absl::Seconds(2));
  CHECK(first[2].code == 409);
  const auto second = rules->Strike(kPatch, 2);
  REQUIRE(second.size() == 3);
  CHECK(second[2].kind == Kind::kLoseAnswer);
}

TEST_CASE("rules count what they matched and struck") {
  const auto rules =
      Rules("rules: [{name: a, fault: lose-answer, every: 2}, {fault: answer, code: 500, verbs: [get]}]");
  Struck(rules.get(), 5);
  CHECK(JsonText(rules->Counts()) == R"([{"name":"a","fault":"lose-answer","matched":5,"struck":2},)"
                                     R"({"name":"rule 1","fault":"answer","matched":0,"struck":0}])");
}

TEST_CASE("all faults and their fields are read, from JSON too") {
  const auto rules = Rules(R"({"seed": 9, "rules": [
    {"fault": "slow-answer", "delay": "1500ms"}, {"fault": "answer", "code": 429, "retry_after": "2s", "verbs": ["get"]},
    {"fault": "replace-answer", "code": 500, "verbs": ["create"]}, {"fault": "cut-watch", "after_bytes": 10},
    {"fault": "lose-request", "verbs": ["update"]}, {"fault": "expire-watch", "after_events": 3}]})");
  CHECK(rules->seed() == 9);
  const auto get = rules->Strike({"get", "pods", "", ""}, 1);
  REQUIRE(get.size() == 2);
  CHECK(get[0].delay == absl::Milliseconds(1500));
  CHECK(get[1].retry_after == absl::Seconds(2));
  const auto watch = rules->Strike({"watch", "pods", "", ""}, 2);
  REQUIRE(watch.size() == 2);
  CHECK(watch[1].kind == Kind::kCutWatch);
  CHECK(watch[1].after_bytes == 10);
}

TEST_CASE("every mistake is refused with its place") {
  struct Case {
    const char *text, *want;
  };
  const Case c = GENERATE(values<Case>({
      {"[]", "expected an object"},
      {"rule: []", "rule: unknown"},
      {"seed: -1", "seed: must not be negative"},
      {"rules: {}", "rules: expected a list"},
      {"rules: [x]", "rules[0]: expected an object"},
      {"rules: [{}]", "rules[0].fault: must be one of answer, replace-answer"},
      {"rules: [{fault: fire}]", "rules[0].fault: must be one of"},
      {"rules: [{fault: lose-answer, verb: get}]", "rules[0].verb: unknown"},
      {"rules: [{fault: lose-answer, verbs: [fetch]}]", "rules[0].verbs[0]: must be one of"},
      {"rules: [{fault: lose-answer, resource: '('}]", "rules[0].resource: missing )"},
      {"rules: [{fault: lose-answer, every: -1}]", "rules[0].every: must not be negative"},
      {"rules: [{fault: lose-answer, every: 1, probability: 1}]", "rules[0].probability: every is given too"},
      {"rules: [{fault: lose-answer, probability: 2}]", "rules[0].probability: must be from 0 to 1"},
      {"rules: [{fault: lose-answer, probability: x}]", "rules[0].probability: expected a number"},
      {"rules: [{fault: lose-answer, code: 500}]", "rules[0].code: must be from 300"},
      {"rules: [{fault: answer}]", "rules[0].code: must be from 300"},
      {"rules: [{fault: answer, code: 200}]", "rules[0].code: must be from 300"},
      {"rules: [{fault: slow-answer}]", "rules[0].delay: must be given"},
      {"rules: [{fault: slow-answer, delay: 2h}]", "rules[0].delay: must be from 0s to 1h"},
      {"rules: [{fault: slow-answer, delay: soon}]", "rules[0].delay: "},
      {"rules: [{fault: cut-watch, verbs: [get]}]", "rules[0].verbs: cut-watch is for watch alone"},
  }));
  CAPTURE(c.text);
  const absl::Status status = FaultRules::Parse(c.text).status();
  INFO(status.ToString());
  CHECK(absl::IsInvalidArgument(status));
  CHECK(absl::StartsWith(status.message(), c.want));
}

}  // namespace
}  // namespace kq
