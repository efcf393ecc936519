#include "services/controllers/unit_spec.h"

#include <catch2/catch.hpp>
#include <string>

#include "libs/api/codec.h"
#include "services/controllers/adapters/batch_job.h"
#include "services/controllers/annotations.h"

namespace kq::controllers {
namespace {

Json FromText(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  const absl::StatusOr<Json> json = ParseJson(text);
  REQUIRE(json.ok());
  return *json;
}

Json Job() {
  return FromText(
      "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','namespace':'ns','uid':'u1',"
      "'labels':{'quota.scheduling.koordinator.sh/name':'team-a','app':'x'},"
      "'annotations':{'note':'n','kubectl.kubernetes.io/last-applied-configuration':'{}',"
      "'koord-queue/job-has-enqueued':'true'}},"
      "'spec':{'suspend':true,'parallelism':1,'completions':1,'template':{'metadata':{'creationTimestamp':null},"
      "'spec':{'priorityClassName':'high','containers':[{'name':'c','image':'i','resources':"
      "{'requests':{'cpu':'4','memory':'8Gi'}}}]}}}}");
}

Json& At(Json& job, std::initializer_list<const char*> path) {
  Json* at = &job;
  for (const char* step : path) {
    if (at->is_null()) *at = JsonObject();
    at = &at->as_object()[step];
  }
  return *at;
}

PriorityValues Classes() {
  PriorityValues values;
  values.by_name = {{"high", 1000}};
  return values;
}

Json Desired(const Json& job, bool held = false) {
  const auto adapter = NewBatchJobAdapter();
  absl::StatusOr<Json> unit = DesiredUnit(job, *adapter, Classes(), held);
  REQUIRE(unit.ok());
  return *unit;
}

}  // namespace

TEST_CASE("the unit of a job, whole") {
  CHECK(Desired(Job()) ==
        FromText("{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'QueueUnit','metadata':{'name':'j',"
                 "'namespace':'ns','ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'j','uid':'u1',"
                 "'blockOwnerDeletion':false}],"
                 "'labels':{'quota.scheduling.koordinator.sh/name':'team-a','app':'x'},'annotations':{'note':'n'}},"
                 "'spec':{'consumerRef':{'apiVersion':'batch/v1','kind':'Job','namespace':'ns','name':'j','uid':'u1'},"
                 "'priority':1000,'priorityClassName':'high','queue':'team-a',"
                 "'resource':{'cpu':'4','memory':'8Gi'},'request':{'cpu':'4','memory':'8Gi'},"
                 "'podSet':[{'name':'j','count':1,'template':{'spec':{'priorityClassName':'high','containers':"
                 "[{'name':'c','image':'i','resources':{'requests':{'cpu':'4','memory':'8Gi'}}}]}}}]}}"));
}

TEST_CASE("the scheduler reads in the unit what the job asks for") {
  Json job = Job();
  At(job, {"spec", "parallelism"}) = 3;
  At(job, {"spec", "completions"}) = 5;
  const absl::StatusOr<QueueUnit> unit = ParseQueueUnit(Desired(job));
  REQUIRE(unit.ok());
  CHECK(unit->invalid == "");
  CHECK(unit->quota == "team-a");
  CHECK(unit->priority == 1000);
  CHECK(unit->resource == Resources{{"cpu", 12000}, {"memory", int64_t{24} << 30}});
  REQUIRE(unit->pod_sets.size() == 1);
  CHECK(unit->pod_sets[0].count == 3);
  CHECK(Need(*unit) == unit->resource);
}

TEST_CASE("a single pod's amounts stay as its user wrote them, sums are canonical") {
  Json job = Job();
  At(job, {"spec", "template", "spec", "containers"}) =
      FromText("[{'resources':{'requests':{'cpu':'0.5','memory':'8192Mi','x/gpu':'2'}}}]");
  CHECK(*Find(Desired(job), {"spec", "request"}) == FromText("{'cpu':'0.5','memory':'8192Mi','x/gpu':'2'}"));
  At(job, {"spec", "completions"}) = 2;
  At(job, {"spec", "parallelism"}) = 2;
  CHECK(*Find(Desired(job), {"spec", "request"}) == FromText("{'cpu':'1','memory':'16Gi','x/gpu':'4'}"));
  // Two containers that ask for one resource.
  At(job, {"spec", "completions"}) = 1;
  At(job, {"spec", "template", "spec", "containers"}) =
      FromText("[{'resources':{'requests':{'cpu':'0.5'}}},{'resources':{'requests':{'cpu':'0.5','memory':'8192Mi'}}}]");
  CHECK(*Find(Desired(job), {"spec", "request"}) == FromText("{'cpu':'1','memory':'8192Mi'}"));
}

TEST_CASE("a job that cannot be priced has no unit") {
  Json job = Job();
  At(job, {"spec", "template", "spec", "containers"}) = FromText("[{'resources':{'requests':{'cpu':'1e40'}}}]");
  const absl::StatusOr<Json> unit = DesiredUnit(job, *NewBatchJobAdapter(), Classes(), false);
  CHECK(unit.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(unit.status().message()).find("spec.template.spec.containers[0].resources.requests") == 0);
}

TEST_CASE("where a priority comes from") {
  struct Case {
    const char* name;
    std::string annotation;
    PriorityClaim claim;
    std::optional<int32_t> global_default;
    std::optional<int32_t> want;
  };
  const auto c = GENERATE(values<Case>({
      {"the class", "", {"high", std::nullopt}, std::nullopt, 1000},
      {"the class, not the template", "", {"high", 20}, std::nullopt, 1000},
      {"the annotation, not the class", "42", {"high", std::nullopt}, std::nullopt, 42},
      {"an annotation below zero", "-5", {"", 20}, std::nullopt, -5},
      {"an annotation without a meaning", "abc", {"", 20}, std::nullopt, 20},
      {"a class that is not there", "", {"gone", 20}, 5, 20},
      {"a class that is not there, no template", "", {"gone", std::nullopt}, 5, std::nullopt},
      {"the template", "", {"", 20}, 5, 20},
      {"the cluster's default", "", {"", std::nullopt}, 5, 5},
      {"nothing", "", {"", std::nullopt}, std::nullopt, std::nullopt},
      {"the annotation alone", "7", {"", std::nullopt}, std::nullopt, 7},
  }));
  CAPTURE(c.name);
  Json job = Job();
  if (!c.annotation.empty()) At(job, {"metadata", "annotations", "scheduling.x-k8s.io/priority"}) = c.annotation;
  PriorityValues values = Classes();
  values.global_default = c.global_default;
  CHECK(PriorityOf(job, c.claim, values) == c.want);
}

TEST_CASE("a unit that follows its job needs no patch") {
  const Json desired = Desired(Job());
  CHECK(UnitPatch(desired, desired, true, false) == std::nullopt);

  Json unit = desired;
  At(unit, {"status", "phase"}) = "Enqueued";
  At(unit, {"metadata", "labels", "alibabacloud.com/disable-resource-recycle"}) = "true";
  At(unit, {"metadata", "annotations", "by-hand"}) = "yes";
  At(unit, {"spec", "resource", "cpu"}) = "4000m";
  At(unit, {"spec", "consumerRef", "resourceVersion"}) = "17";
  At(unit, {"spec", "active"}) = false;  // an operator's wish
  CHECK(UnitPatch(desired, unit, true, false) == std::nullopt);
}

TEST_CASE("a unit is made to follow its job") {
  struct Case {
    const char* name;
    void (*change)(Json* job);
    const char* want;
  };
  const auto c = GENERATE(values<Case>({
      {"the priority annotation",
       [](Json* j) {
         At(*j, {"metadata", "annotations", "scheduling.x-k8s.io/priority"}) = "5";
       },
       "{'metadata':{'annotations':{'scheduling.x-k8s.io/priority':'5'}},'spec':{'priority':5}}"},
      {"another quota",
       [](Json* j) {
         At(*j, {"metadata", "labels", "quota.scheduling.koordinator.sh/name"}) = "b";
       },
       "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':'b'}},'spec':{'queue':'b'}}"},
      {"no quota any more",
       [](Json* j) {
         At(*j, {"metadata", "labels"}).as_object().erase("quota.scheduling.koordinator.sh/name");
       },
       "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':null}},'spec':{'queue':null}}"},
      {"inactive",
       [](Json* j) {
         At(*j, {"metadata", "annotations", "scheduling.x-k8s.io/active"}) = "false";
       },
       "{'metadata':{'annotations':{'scheduling.x-k8s.io/active':'false'}},'spec':{'active':false}}"},
      {"what we wrote on the job is not copied",
       [](Json* j) {
         At(*j, {"metadata", "annotations", "koord-queue/job-dequeue-timestamp"}) = "x";
       },
       ""},
      {"our annotations on the pod template do not count",
       [](Json* j) {
         At(*j, {"spec", "template", "metadata", "annotations", "koord-queue/related-object"}) = "j";
       },
       ""},
  }));
  CAPTURE(c.name);
  const Json unit = Desired(Job());
  Json job = Job();
  c.change(&job);
  const std::optional<Json> patch = UnitPatch(Desired(job), unit, true, false);
  if (std::string(c.want).empty()) {
    CHECK(patch == std::nullopt);
  } else {
    REQUIRE(patch.has_value());
    CHECK(*patch == FromText(c.want));
  }
}

TEST_CASE("a unit that holds quota keeps it, whatever its job's label says by now") {
  const char* const label = "quota.scheduling.koordinator.sh/name";
  const Json unit = Desired(Job());
  Json moved = Job(), bare = Job();
  At(moved, {"metadata", "labels", label}) = "b";
  At(bare, {"metadata", "labels"}).as_object().erase(label);
  for (const bool suspended : {true, false}) {
    CHECK(*UnitPatch(Desired(moved), unit, suspended, true) ==
          FromText("{'metadata':{'annotations':{'koord-queue/ignored-quota':'b'}}}"));
    CHECK(*UnitPatch(Desired(bare), unit, suspended, true) ==
          FromText("{'metadata':{'annotations':{'koord-queue/ignored-quota':'none'}}}"));
    Json noted = unit;
    noted.at("metadata").as_object()["annotations"].as_object()["koord-queue/ignored-quota"] = "b";
    CHECK(UnitPatch(Desired(moved), noted, suspended, true) == std::nullopt);
    // The label is back, or nothing is held any more.
    CHECK(*UnitPatch(Desired(Job()), noted, suspended, true) ==
          FromText("{'metadata':{'annotations':{'koord-queue/ignored-quota':null}}}"));
    CHECK(*Find(*UnitPatch(Desired(moved), noted, suspended, false), {"spec", "queue"}) == "b");
  }
  // One that names no quota yet gets one.
  CHECK(*Find(*UnitPatch(Desired(moved), Desired(bare), false, true), {"spec", "queue"}) == "b");
}

TEST_CASE("requests of a suspended job: what is no longer asked for goes") {
  Json before = Job();
  At(before, {"spec", "template", "spec", "containers"}) =
      FromText("[{'resources':{'requests':{'cpu':'4','x/gpu':'1'}}}]");
  Json after = Job();
  At(after, {"spec", "template", "spec", "containers"}) = FromText("[{'resources':{'requests':{'cpu':'2'}}}]");
  const std::optional<Json> patch = UnitPatch(Desired(after), Desired(before), true, false);
  REQUIRE(patch.has_value());
  CHECK(*Find(*patch, {"spec", "resource"}) == FromText("{'cpu':'2','x/gpu':null}"));
  CHECK(*Find(*patch, {"spec", "request"}) == FromText("{'cpu':'2','x/gpu':null}"));
  CHECK(Find(*patch, {"spec", "podSet"})->as_array().size() == 1);
}

TEST_CASE("of a job that runs only the counts of its pod sets are followed") {
  Json after = Job();
  At(after, {"spec", "template", "metadata"}) = FromText("{'annotations':{'by':'a webhook'}}");
  CHECK(UnitPatch(Desired(after), Desired(Job()), false, false) == std::nullopt);
  CHECK(UnitPatch(Desired(after), Desired(Job()), true, false) != std::nullopt);
  At(after, {"spec", "parallelism"}) = 3;
  At(after, {"spec", "completions"}) = 3;
  const std::optional<Json> patch = UnitPatch(Desired(after), Desired(Job()), false, false);
  REQUIRE(patch.has_value());
  CHECK(Find(*patch, {"spec", "podSet"})->as_array().at(0).at("count") == 3);
}

TEST_CASE("a held unit is inactive until its user lets the job run") {
  const Json unit = Desired(Job());
  const Json held = Desired(Job(), true);
  CHECK(*UnitPatch(held, unit, true, false) ==
        FromText("{'metadata':{'annotations':{'koord-queue/held':'true'}},'spec':{'active':false}}"));
  CHECK(UnitPatch(held, held, true, false) == std::nullopt);
  CHECK(*UnitPatch(unit, held, true, false) ==
        FromText("{'metadata':{'annotations':{'koord-queue/held':null}},'spec':{'active':null}}"));
}

TEST_CASE("spec.active belongs to the job's annotation while there is one, else to whoever set it") {
  const auto with = [](const char* active) {
    Json job = Job();
    At(job, {"metadata", "annotations", "scheduling.x-k8s.io/active"}) = active;
    return job;
  };
  // Taken off, or no bool any more: as if it had never been there.
  const Json inactive = Desired(with("false"));
  CHECK(*UnitPatch(Desired(Job()), inactive, true, false) ==
        FromText("{'metadata':{'annotations':{'scheduling.x-k8s.io/active':null}},'spec':{'active':null}}"));
  CHECK(*UnitPatch(Desired(with("perhaps")), inactive, true, false) ==
        FromText("{'metadata':{'annotations':{'scheduling.x-k8s.io/active':'perhaps'}},'spec':{'active':null}}"));
  // An operator's wish is overruled while the annotation is there ...
  Json by_hand = inactive;
  At(by_hand, {"spec", "active"}) = true;
  CHECK(*UnitPatch(inactive, by_hand, true, false) == FromText("{'spec':{'active':false}}"));
  // ... and stays where the annotation never said anything.
  Json other = Desired(with("perhaps"));
  At(other, {"spec", "active"}) = false;
  CHECK(*UnitPatch(Desired(Job()), other, true, false) ==
        FromText("{'metadata':{'annotations':{'scheduling.x-k8s.io/active':null}}}"));
  // A held job of which the annotation was taken off stays inactive.
  CHECK(*UnitPatch(Desired(Job(), true), inactive, true, false) ==
        FromText("{'metadata':{'annotations':{'koord-queue/held':'true','scheduling.x-k8s.io/active':null}}}"));
}

TEST_CASE("an owner reference that was taken off comes back beside the others") {
  const Json desired = Desired(Job());
  Json unit = desired;
  At(unit, {"metadata", "ownerReferences"}) = FromText("[{'kind':'Team','name':'t','uid':'t1'}]");
  const std::optional<Json> patch = UnitPatch(desired, unit, true, false);
  REQUIRE(patch.has_value());
  const auto& owners = Find(*patch, {"metadata", "ownerReferences"})->as_array();
  REQUIRE(owners.size() == 2);
  CHECK(StringAt(owners[0], {"uid"}) == "t1");
  CHECK(StringAt(owners[1], {"uid"}) == "u1");
}

TEST_CASE("whose a unit is") {
  const JobKind kind = NewBatchJobAdapter()->kind();
  const Json unit = Desired(Job());
  CHECK(ClaimOf(unit, kind, "j", "u1") == Claim::kOurs);
  CHECK(ClaimOf(unit, kind, "j", "") == Claim::kOurs);  // its job is gone
  CHECK(ClaimOf(unit, kind, "j", "u2") == Claim::kEarlier);
  CHECK(JobNameOf(unit, kind) == "j");

  Json workflow = unit;
  At(workflow, {"metadata", "ownerReferences"}) =
      FromText("[{'apiVersion':'argoproj.io/v1alpha1','kind':'Workflow','name':'j','uid':'w'}]");
  CHECK(ClaimOf(workflow, kind, "j", "u1") == Claim::kForeign);
  CHECK(JobNameOf(workflow, kind) == "");

  Json without_owner = unit;
  At(without_owner, {"metadata"}).as_object().erase("ownerReferences");
  CHECK(ClaimOf(without_owner, kind, "j", "u1") == Claim::kOurs);
  CHECK(ClaimOf(without_owner, kind, "j", "u2") == Claim::kEarlier);
  At(without_owner, {"spec", "consumerRef"}).as_object().erase("uid");
  CHECK(ClaimOf(without_owner, kind, "j", "u1") == Claim::kForeign);  // written by hand

  CHECK(ClaimOf(Json(JsonObject()), kind, "j", "u1") == Claim::kForeign);
}

}  // namespace kq::controllers
