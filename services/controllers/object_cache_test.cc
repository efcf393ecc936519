#include "services/controllers/object_cache.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/controllers/adapters/batch_job.h"

namespace kq::controllers {
namespace {

Json FromText(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  const absl::StatusOr<Json> json = ParseJson(text);
  REQUIRE(json.ok());
  return *json;
}

Json Named(const std::string& name, int version, const std::string& uid = "u", const std::string& more = "") {
  return FromText(absl::StrCat("{'metadata':{'name':'", name, "','namespace':'ns','uid':'", uid,
                               "','resourceVersion':'", version, "'", more, "}}"));
}

// A pod of the job "a" with the UID `uid`.
Json Pod(const std::string& name, int version, const std::string& uid, const std::string& phase,
         const std::string& node = "n") {
  return FromText(absl::StrCat("{'metadata':{'name':'", name, "','namespace':'ns','resourceVersion':'", version,
                               "','ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'a','uid':'", uid,
                               "'}]},'spec':{'nodeName':'", node, "'},'status':{'phase':'", phase, "'}}"));
}

using Kind = ObjectCache::Kind;

struct Cache {
  std::unique_ptr<JobAdapter> adapter = NewBatchJobAdapter();
  std::vector<std::string> told;
  ObjectCache cache{adapter.get(), [this](const ObjectKey& job) { told.push_back(job.ToString()); }};
  ReflectorSink* jobs = cache.AddFeed(Kind::kJobs, "");
  ReflectorSink* units = cache.AddFeed(Kind::kUnits, "");
  ReflectorSink* pods = cache.AddFeed(Kind::kPods, "");
  ReflectorSink* classes = cache.AddFeed(Kind::kPriorityClasses, "");

  uint64_t JobVersion(const std::string& name) const {
    const ObjectCache::View view = cache.Look({"ns", name});
    return view.job == nullptr ? 0 : VersionOf(*view.job);
  }
};

}  // namespace

TEST_CASE("a version never goes back, whoever brings it") {
  Cache c;
  CHECK(c.jobs->Upserted(Named("a", 5)));
  CHECK(c.told == std::vector<std::string>{"ns/a"});
  CHECK(c.jobs->Upserted(Named("a", 4)));
  CHECK(c.JobVersion("a") == 5);
  CHECK(c.told.size() == 1);
  c.cache.LearnJob(Named("a", 7));
  CHECK(c.JobVersion("a") == 7);
  CHECK(c.jobs->Upserted(Named("a", 6)));
  CHECK(c.JobVersion("a") == 7);
  CHECK(c.jobs->Removed({"ns", "a"}, "u", 6));
  CHECK(c.JobVersion("a") == 7);
  CHECK(c.jobs->Removed({"ns", "a"}, "u", 8));
  CHECK(c.JobVersion("a") == 0);
}

TEST_CASE("an answer that comes after the removal does not bring the object back") {
  Cache c;
  CHECK(c.jobs->Upserted(Named("a", 5)));
  CHECK(c.jobs->Removed({"ns", "a"}, "u", 9));
  c.cache.LearnJob(Named("a", 7));
  CHECK(c.JobVersion("a") == 0);
  // One that the watch has not come to yet is news.
  c.cache.LearnJob(Named("a", 12, "u2"));
  CHECK(c.JobVersion("a") == 12);
}

TEST_CASE("of two namespaces' watches each knows how far it is") {
  Cache c;
  ReflectorSink* other = c.cache.AddFeed(Kind::kUnits, "other");
  ReflectorSink* ns = c.cache.AddFeed(Kind::kUnits, "ns");
  c.units->Listed(0);
  other->Listed(100);
  ns->Listed(10);
  c.cache.LearnUnit(Named("a", 50));
  CHECK(c.cache.Look({"ns", "a"}).unit != nullptr);
}

TEST_CASE("managedFields are not kept") {
  Cache c;
  CHECK(c.jobs->Upserted(Named("a", 5, "u", ",'managedFields':[{'manager':'x'}]")));
  const ObjectCache::Object kept = c.cache.Look({"ns", "a"}).job;
  REQUIRE(kept != nullptr);
  CHECK(Find(*kept, {"metadata", "managedFields"}) == nullptr);
  // All else is.
  Json expected = Named("a", 5, "u");
  CHECK(*kept == expected);
}

TEST_CASE("pods are counted for their job by UID") {
  Cache c;
  CHECK(c.jobs->Upserted(Named("a", 1, "u1")));
  c.told.clear();
  CHECK(c.pods->Upserted(Pod("p0", 2, "u1", "Pending", "")));
  CHECK(c.pods->Upserted(Pod("p1", 3, "u1", "Pending")));
  CHECK(c.pods->Upserted(Pod("p2", 4, "u1", "Running")));
  CHECK(c.pods->Upserted(Pod("p3", 5, "u0", "Running")));  // of the job before
  CHECK(c.told == std::vector<std::string>(4, "ns/a"));
  CHECK(c.cache.Look({"ns", "a"}).pods == PodCounts{.running = 1, .pending = 2, .bound = 2});

  c.told.clear();
  CHECK(c.pods->Upserted(Pod("p2", 6, "u1", "Running")));
  CHECK(c.told.empty());  // nothing changed
  CHECK(c.pods->Upserted(Pod("p2", 7, "u1", "Succeeded")));
  CHECK(c.pods->Removed({"ns", "p1"}, "", 8));
  CHECK(c.pods->Removed({"ns", "p1"}, "", 8));
  CHECK(c.told.size() == 2);
  CHECK(c.cache.Look({"ns", "a"}).pods == PodCounts{.running = 0, .pending = 1, .bound = 0});
  CHECK(c.pods->Upserted(Pod("p0", 1, "u1", "Running")));  // old news
  CHECK(c.cache.Look({"ns", "a"}).pods == PodCounts{.running = 0, .pending = 1, .bound = 0});
}

TEST_CASE("a unit concerns the job it is for and the job of its name") {
  Cache c;
  Json unit = Named("a", 1);
  CHECK(c.units->Upserted(unit));
  CHECK(c.told == std::vector<std::string>{"ns/a"});
  c.told.clear();
  unit = Named("x", 2, "u", ",'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'b','uid':'u1'}]");
  CHECK(c.units->Upserted(unit));
  CHECK(c.told == std::vector<std::string>{"ns/b", "ns/x"});
}

TEST_CASE("priority classes: the values, and of several defaults the lowest") {
  Cache c;
  CHECK(c.jobs->Upserted(Named("a", 1)));
  c.told.clear();
  const auto add = [&](const std::string& name, int version, const std::string& rest) {
    CHECK(c.classes->Upserted(
        FromText(absl::StrCat("{'metadata':{'name':'", name, "','resourceVersion':'", version, "'}", rest, "}"))));
  };
  add("high", 2, ",'value':1000");
  add("d1", 3, ",'value':50,'globalDefault':true");
  add("d2", 4, ",'value':40,'globalDefault':true");
  add("huge", 5, ",'value':99999999999");
  const auto values = c.cache.Look({"ns", "a"}).priorities;
  CHECK(values->by_name.at("high") == 1000);
  CHECK(values->by_name.at("huge") == 2147483647);
  CHECK(values->global_default == 40);
  CHECK(c.told.size() == 4);  // each time for the one job
  c.told.clear();
  add("high", 6, ",'value':1000,'description':'x'");
  CHECK(c.told.empty());
}

}  // namespace kq::controllers
