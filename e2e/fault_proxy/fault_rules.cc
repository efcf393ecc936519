#include "e2e/fault_proxy/fault_rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/common/status_macros.h"
#include "libs/common/time_format.h"
#include "libs/common/yaml.h"

namespace kq {
namespace {

using Kind = Fault::Kind;

constexpr Kind kKinds[] = {Kind::kAnswer,      Kind::kReplaceAnswer, Kind::kLoseRequest, Kind::kLoseAnswer,
                           Kind::kSlowRequest, Kind::kSlowAnswer,    Kind::kCutWatch,    Kind::kExpireWatch};
constexpr absl::string_view kVerbs[] = {"get",    "list",  "watch",  "create",
                                        "update", "patch", "delete", "deletecollection"};
constexpr size_t kRuleLimit = 1000;

absl::Status Invalid(absl::string_view path, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", problem));
}

bool OfWatch(Kind kind) { return kind == Kind::kCutWatch || kind == Kind::kExpireWatch; }
bool Slow(Kind kind) { return kind == Kind::kSlowRequest || kind == Kind::kSlowAnswer; }
bool Answers(Kind kind) { return kind == Kind::kAnswer || kind == Kind::kReplaceAnswer; }

// A number in [0, 1) that depends on the arguments alone (SplitMix64).
double Chance(uint64_t seed, uint64_t number, uint64_t rule) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + number * 0xbf58476d1ce4e5b9 + rule * 0x94d049bb133111eb;
  for (int i = 0; i < 2; ++i) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) / static_cast<double>(uint64_t{1} << 53);
}

absl::Status RefuseUnknownFields(const JsonObject& object, absl::string_view path,
                                 std::initializer_list<absl::string_view> known) {
  for (const auto& member : object) {
    const absl::string_view name(member.key().data(), member.key().size());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Invalid(FieldPath(path, name), absl::StrCat("unknown; known are ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Count(const JsonObject& object, absl::string_view name, absl::string_view path) {
  KQ_ASSIGN_OR_RETURN(const int64_t count, IntField(object, name, path));
  if (count < 0) return Invalid(FieldPath(path, name), "must not be negative");
  return count;
}

absl::StatusOr<absl::Duration> DurationOf(const JsonObject& object, absl::string_view name, absl::string_view path) {
  KQ_ASSIGN_OR_RETURN(const std::string text, StringField(object, name, path));
  if (text.empty()) return absl::ZeroDuration();
  const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
  if (!duration.ok()) return Invalid(FieldPath(path, name), duration.status().message());
  if (*duration < absl::ZeroDuration() || *duration > absl::Hours(1)) {
    return Invalid(FieldPath(path, name), "must be from 0s to 1h");
  }
  return *duration;
}

absl::StatusOr<Fault> ReadFault(const JsonObject& rule, absl::string_view path) {
  Fault fault;
  KQ_ASSIGN_OR_RETURN(const std::string name, StringField(rule, "fault", path));
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](Kind k) { return FaultName(k) == name; });
  if (kind == std::end(kKinds)) {
    const std::string known =
        absl::StrJoin(kKinds, ", ", [](std::string* out, Kind k) { absl::StrAppend(out, FaultName(k)); });
    return Invalid(FieldPath(path, "fault"), absl::StrCat("must be one of ", known));
  }
  fault.kind = *kind;
  KQ_ASSIGN_OR_RETURN(const int64_t code, IntField(rule, "code", path));
  KQ_ASSIGN_OR_RETURN(fault.retry_after, DurationOf(rule, "retry_after", path));
  KQ_ASSIGN_OR_RETURN(fault.delay, DurationOf(rule, "delay", path));
  KQ_ASSIGN_OR_RETURN(fault.after_events, Count(rule, "after_events", path));
  KQ_ASSIGN_OR_RETURN(fault.after_bytes, Count(rule, "after_bytes", path));
  fault.code = static_cast<int>(std::clamp<int64_t>(code, 0, 1000));
  if (Answers(fault.kind) != (fault.code >= 300 && fault.code <= 599)) {
    return Invalid(FieldPath(path, "code"),
                   "must be from 300 to 599 with answer and replace-answer, absent with others");
  }
  if (Slow(fault.kind) != (fault.delay > absl::ZeroDuration())) {
    return Invalid(FieldPath(path, "delay"), "must be given with slow-request and slow-answer, and only there");
  }
  return fault;
}

}  // namespace

absl::string_view FaultName(Kind kind) {
  switch (kind) {
    case Kind::kAnswer:
      return "answer";
    case Kind::kReplaceAnswer:
      return "replace-answer";
    case Kind::kLoseRequest:
      return "lose-request";
    case Kind::kLoseAnswer:
      return "lose-answer";
    case Kind::kSlowRequest:
      return "slow-request";
    case Kind::kSlowAnswer:
      return "slow-answer";
    case Kind::kCutWatch:
      return "cut-watch";
    case Kind::kExpireWatch:
      return "expire-watch";
  }
  return "";
}

struct FaultRules::Rule {
  std::string name;
  std::set<std::string> verbs;  // empty: all
  std::unique_ptr<RE2> resource, ns, object;
  int64_t every = 0;
  double probability = 1;
  int64_t skip = 0;
  int64_t limit = 0;  // 0: none
  Fault fault;

  int64_t matched = 0;
  int64_t struck = 0;

  bool Matches(const KubeRequest& request) const {
    return (verbs.empty() || verbs.count(request.verb) > 0) && RE2::FullMatch(request.resource, *resource) &&
           RE2::FullMatch(request.ns, *ns) && RE2::FullMatch(request.name, *object);
  }

  static absl::StatusOr<Rule> Read(const JsonObject& object, size_t index);

 private:
  absl::Status ReadMatch(const JsonObject& from, absl::string_view path);
  absl::Status ReadTimes(const JsonObject& from, absl::string_view path);
};

absl::Status FaultRules::Rule::ReadMatch(const JsonObject& from, absl::string_view path) {
  KQ_ASSIGN_OR_RETURN(const JsonArray* const list, ArrayField(from, "verbs", path));
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const Json& verb = (*list)[i];
    const std::string text = verb.is_string() ? std::string(verb.get_string().c_str()) : "";
    if (std::find(std::begin(kVerbs), std::end(kVerbs), text) == std::end(kVerbs)) {
      return Invalid(FieldPath(FieldPath(path, "verbs"), i),
                     absl::StrCat("must be one of ", absl::StrJoin(kVerbs, ", ")));
    }
    verbs.insert(text);
  }
  const std::pair<absl::string_view, std::unique_ptr<RE2>*> patterns[] = {
      {"resource", &resource}, {"namespace", &ns}, {"object", &this->object}};
  for (const auto& [name, target] : patterns) {
    KQ_ASSIGN_OR_RETURN(const std::string text, StringField(from, name, path, ".*"));
    *target = std::make_unique<RE2>(text, RE2::Quiet);
    if (!(*target)->ok()) return Invalid(FieldPath(path, name), (*target)->error());
  }
  return absl::OkStatus();
}

absl::Status FaultRules::Rule::ReadTimes(const JsonObject& from, absl::string_view path) {
  KQ_ASSIGN_OR_RETURN(every, Count(from, "every", path));
  KQ_ASSIGN_OR_RETURN(skip, Count(from, "skip", path));
  KQ_ASSIGN_OR_RETURN(limit, Count(from, "limit", path));
  const Json* const chance = from.if_contains("probability");
  if (chance == nullptr) return absl::OkStatus();
  if (every > 0) return Invalid(FieldPath(path, "probability"), "every is given too");
  if (!chance->is_number()) return Invalid(FieldPath(path, "probability"), "expected a number");
  probability = chance->to_number<double>();
  if (!(probability >= 0 && probability <= 1)) return Invalid(FieldPath(path, "probability"), "must be from 0 to 1");
  return absl::OkStatus();
}

absl::StatusOr<FaultRules::Rule> FaultRules::Rule::Read(const JsonObject& object, size_t index) {
  const std::string path = FieldPath("rules", index);
  KQ_RETURN_IF_ERROR(
      RefuseUnknownFields(object, path,
                          {"name", "verbs", "resource", "namespace", "object", "every", "probability", "skip", "limit",
                           "fault", "code", "retry_after", "delay", "after_events", "after_bytes"}));
  Rule rule;
  KQ_ASSIGN_OR_RETURN(rule.name, StringField(object, "name", path, absl::StrCat("rule ", index)));
  KQ_RETURN_IF_ERROR(rule.ReadMatch(object, path));
  KQ_RETURN_IF_ERROR(rule.ReadTimes(object, path));
  KQ_ASSIGN_OR_RETURN(rule.fault, ReadFault(object, path));
  if (OfWatch(rule.fault.kind)) {
    if (rule.verbs.empty()) rule.verbs = {"watch"};
    if (rule.verbs != std::set<std::string>{"watch"}) {
      return Invalid(FieldPath(path, "verbs"), absl::StrCat(FaultName(rule.fault.kind), " is for watch alone"));
    }
  }
  return rule;
}

FaultRules::~FaultRules() = default;

absl::StatusOr<std::unique_ptr<FaultRules>> FaultRules::Parse(absl::string_view text) {
  KQ_ASSIGN_OR_RETURN(const Json document, ParseYaml(text));
  std::unique_ptr<FaultRules> out(new FaultRules);
  if (document.is_null()) return out;
  const JsonObject* const root = document.if_object();
  if (root == nullptr) return absl::InvalidArgumentError("expected an object with seed and rules");
  KQ_RETURN_IF_ERROR(RefuseUnknownFields(*root, "", {"seed", "rules"}));
  KQ_ASSIGN_OR_RETURN(const int64_t seed, Count(*root, "seed", ""));
  out->seed_ = static_cast<uint64_t>(seed);
  KQ_ASSIGN_OR_RETURN(const JsonArray* const rules, ArrayField(*root, "rules", ""));
  if (rules == nullptr) return out;
  if (rules->size() > kRuleLimit) return Invalid("rules", absl::StrCat("more than ", kRuleLimit));
  MutexLock lock(&out->mu_);
  for (size_t i = 0; i < rules->size(); ++i) {
    const JsonObject* const rule = (*rules)[i].if_object();
    if (rule == nullptr) return Invalid(FieldPath("rules", i), "expected an object");
    KQ_ASSIGN_OR_RETURN(Rule read, Rule::Read(*rule, i));
    out->rules_.push_back(std::move(read));
  }
  return out;
}

std::vector<Fault> FaultRules::Strike(const KubeRequest& request, int64_t number) {
  std::vector<Fault> faults;
  MutexLock lock(&mu_);
  for (size_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    if (!rule.Matches(request)) continue;
    const int64_t turn = ++rule.matched - rule.skip;  // from 1 on
    if (turn <= 0 || (rule.limit > 0 && rule.struck >= rule.limit)) continue;
    const bool strikes =
        rule.every > 0 ? turn % rule.every == 0 : Chance(seed_, static_cast<uint64_t>(number), i) < rule.probability;
    if (!strikes) continue;
    ++rule.struck;
    faults.push_back(rule.fault);
    if (!Slow(rule.fault.kind)) break;
  }
  return faults;
}

Json FaultRules::Counts() const {
  JsonArray out;
  MutexLock lock(&mu_);
  for (const Rule& rule : rules_) {
    const absl::string_view fault = FaultName(rule.fault.kind);
    out.push_back(JsonObject{
        {"name", rule.name}, {"fault", std::string(fault)}, {"matched", rule.matched}, {"struck", rule.struck}});
  }
  return out;
}

}  // namespace kq
