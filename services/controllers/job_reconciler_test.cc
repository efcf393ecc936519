#include "services/controllers/job_reconciler.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/controllers/annotations.h"
#include "services/controllers/testing/job_world.h"

namespace kq::controllers {
namespace {

using Texts = std::vector<std::string>;

// A world in which job "a" waits.
struct Waiting : JobWorld {
  explicit Waiting(JobWorldOptions options = {}) : JobWorld(std::move(options)) {
    Start();
    CreateJob("a");
    Settle();
  }
};

// ... was admitted and released, and its pod runs.
struct Running : Waiting {
  explicit Running(JobWorldOptions options = {}) : Waiting(std::move(options)) {
    Admit("a");
    Settle();
    SetJobStatus("a", "{'active':1,'startTime':'2025-11-29T21:00:01Z'}");
    CreatePod("a", 0, "Running");
    Advance(absl::Seconds(1));
    REQUIRE(Phase("a") == "Running");
  }
};

}  // namespace

TEST_CASE("a job waits, is admitted, released, runs and succeeds") {
  JobWorld world;
  world.Start();
  world.CreateJob("a");
  world.Settle();
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Suspended("a"));
  CHECK(world.Admissions("a") == "");

  world.Admit("a");
  world.Settle();
  CHECK_FALSE(world.Suspended("a"));
  const Json job = world.Job("a");
  CHECK(AnnotationOf(job, kEnqueuedAnnotation) == "true");
  CHECK(AnnotationOf(job, kDequeueTimeAnnotation) == GoTimeText(world.clock().TimeNow()));
  CHECK(StringAt(*Find(job, {"spec", "template"}), {"metadata", "annotations", "koord-queue/related-queueunit"}) ==
        "ns/a");
  CHECK(world.events == Texts{"Normal Resume ns/a"});
  // Three writes to a release: the unit, its status by the scheduler, the job.
  CHECK(world.WritesOf("a") == Texts{"create queueunits", "patch jobs"});

  world.SetJobStatus("a", "{'active':1,'startTime':'2025-11-29T21:00:01Z'}");
  world.CreatePod("a", 0, "Pending", "");
  world.Settle();
  world.SetPodPhase("a", 0, "Running");
  world.Settle();
  CHECK(world.Phase("a") == "Dequeued");  // a report waits for what comes with it
  world.Advance(absl::Seconds(1));
  CHECK(world.Phase("a") == "Running");
  CHECK(world.HasCondition("a", "PodsReady"));
  CHECK(StringAt(world.Unit("a"), {"status", "message"}) == "Running");
  CHECK(world.Unit("a").at("status").at("podState").at("running") == 1);

  world.SetJobStatus("a", "{'active':0,'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]}");
  world.SetPodPhase("a", 0, "Succeeded");
  world.Settle();
  CHECK(world.Phase("a") == "Succeed");
  CHECK(world.Admissions("a") == "");
  CHECK(world.HasCondition("a", "Finished"));
  CHECK(world.WritesOf("a") ==
        Texts{"create queueunits", "patch jobs", "patch queueunits/status", "patch queueunits/status"});

  world.Advance(absl::Minutes(10));
  CHECK(world.writes.size() == 4);
}

TEST_CASE("a waiting unit costs no writes while nothing changes") {
  Waiting world;
  const size_t before = world.writes.size();
  world.Advance(absl::Hours(1));
  world.api().CutWatches();
  world.Advance(absl::Minutes(1));
  CHECK(world.writes.size() == before);
}

TEST_CASE("a failed job frees its quota") {
  Running world;
  world.SetJobStatus("a", "{'active':0,'failed':1,'conditions':[{'type':'Failed','status':'True'}]}");
  world.Settle();
  CHECK(world.Phase("a") == "Failed");
  CHECK(world.Admissions("a") == "");
}

TEST_CASE("phase and counts of a job that starts are one write") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'spec':{'parallelism':3,'completions':3}}");
  world.Settle();
  world.Admit("a");
  world.Settle();
  const size_t before = world.writes.size();
  for (int i = 0; i < 3; ++i) {
    world.CreatePod("a", i, "Running");
    world.Advance(absl::Milliseconds(200));
  }
  world.Advance(absl::Seconds(2));
  CHECK(world.Admissions("a") == "a=3/3");
  CHECK(world.Phase("a") == "Running");
  CHECK(world.writes.size() == before + 1);
}

TEST_CASE("counts of pods are written now and then, the newest wins") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'spec':{'parallelism':5,'completions':50}}");
  world.Settle();
  world.Admit("a");
  world.Settle();
  for (int i = 0; i < 5; ++i) world.CreatePod("a", i, "Running");
  world.Advance(absl::Seconds(2));
  const size_t before = world.writes.size();
  for (int i = 0; i < 100; ++i) {  // a pod goes and comes each second
    world.DeletePod("a", i);
    world.Advance(absl::Milliseconds(500));
    world.CreatePod("a", i + 5, "Running");
    world.Advance(absl::Milliseconds(500));
  }
  CHECK(world.writes.size() <= before + 11);
  world.Advance(absl::Seconds(11));
  CHECK(world.Admissions("a") == "a=5/5");
}

TEST_CASE("pods that are done are free in the next report") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'spec':{'parallelism':2,'completions':3}}");
  world.Settle();
  world.Admit("a");
  world.Settle();
  for (int i = 0; i < 2; ++i) world.CreatePod("a", i, "Running");
  world.Advance(absl::Seconds(2));
  CHECK(world.Admissions("a") == "a=2/2");
  world.SetPodPhase("a", 0, "Succeeded");
  world.SetPodPhase("a", 1, "Succeeded");
  world.CreatePod("a", 2, "Running");
  world.SetJobStatus("a", "{'active':1,'succeeded':2}");
  world.Advance(absl::Seconds(3));
  CHECK(world.Admissions("a") == "a=1/1");
}

TEST_CASE("field report 20: pods of a work queue that are done are free, and nothing that runs is") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'spec':{'parallelism':3,'completions':null}}");
  world.Settle();
  world.Admit("a");
  world.Settle();
  for (int i = 0; i < 3; ++i) world.CreatePod("a", i, "Running");
  world.SetJobStatus("a", "{'active':3,'startTime':'2025-11-29T21:00:01Z'}");
  world.Advance(absl::Seconds(3));
  CHECK(world.Admissions("a") == "a=3/3");

  // The Job is told before the pod, and the other way round.
  world.SetJobStatus("a", "{'active':2,'succeeded':1}");
  world.Advance(absl::Seconds(3));
  CHECK(world.Admissions("a") == "a=3/3");
  world.SetPodPhase("a", 0, "Succeeded");
  world.Advance(absl::Seconds(3));
  CHECK(world.Admissions("a") == "a=2/2");
  CHECK(StringAt(world.Unit("a"), {"spec", "resource", "cpu"}) == "8");

  // From now on parallelism starts and ends nothing.
  world.PatchJob("a", "{'spec':{'parallelism':1}}");
  world.Advance(absl::Seconds(3));
  CHECK(world.Admissions("a") == "a=2/2");

  world.SetPodPhase("a", 1, "Failed");
  world.SetJobStatus("a", "{'active':1,'failed':1}");
  world.Advance(absl::Seconds(3));
  CHECK(world.Admissions("a") == "a=1/1");
  world.SetPodPhase("a", 2, "Succeeded");
  world.SetJobStatus("a", "{'active':0,'succeeded':2,'conditions':[{'type':'Complete','status':'True'}]}");
  world.Advance(absl::Seconds(3));
  CHECK(world.Phase("a") == "Succeed");
  CHECK(world.Admissions("a") == "");
}

TEST_CASE("a job that is scaled to nothing and back stays one unit") {
  Running world;
  const std::string uid = UidOf(world.Unit("a"));
  world.PatchJob("a", "{'spec':{'parallelism':0}}");
  world.DeletePod("a", 0);
  world.Advance(absl::Seconds(20));
  CHECK(world.Phase("a") == "Running");
  CHECK(world.Admissions("a") == "a=0/0");
  world.PatchJob("a", "{'spec':{'parallelism':1}}");
  world.CreatePod("a", 1, "Running");
  world.Advance(absl::Seconds(20));
  CHECK(UidOf(world.Unit("a")) == uid);
  CHECK(world.Phase("a") == "Running");
  CHECK(world.Admissions("a") == "a=1/1");
}

TEST_CASE("a unit follows its job while the job waits") {
  Waiting world;
  world.PatchJob("a", "{'metadata':{'annotations':{'scheduling.x-k8s.io/priority':'7'}}}");
  world.Settle();
  CHECK(world.Unit("a").at("spec").at("priority") == 7);
  world.PatchJob("a", "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':'team-b'}}}");
  world.PatchJob("a", "{'spec':{'completions':3,'parallelism':3}}");
  world.Settle();
  const Json unit = world.Unit("a");
  CHECK(StringAt(unit, {"spec", "queue"}) == "team-b");
  CHECK(LabelOf(unit, kQuotaLabel) == "team-b");
  CHECK(StringAt(unit, {"spec", "resource", "cpu"}) == "12");
  CHECK(unit.at("spec").at("podSet").at(0).at("count") == 3);
}

TEST_CASE("an annotation without a meaning is told on the job, once for each value") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'metadata':{'annotations':{'scheduling.x-k8s.io/priority':'high'}}}");
  world.Settle();
  CHECK(world.event_texts ==
        Texts{"AnnotationIgnored: annotation scheduling.x-k8s.io/priority: \"high\" is no whole number of 32 bits; "
              "it is ignored"});
  world.PatchJob("a", "{'spec':{'parallelism':2,'completions':2}}");
  world.Settle();
  CHECK(world.events.size() == 1);
  world.PatchJob("a", "{'metadata':{'annotations':{'scheduling.x-k8s.io/priority':'1.5'}}}");
  world.Settle();
  CHECK(world.events.size() == 2);
  CHECK(world.Phase("a") == "Enqueued");
}

TEST_CASE("a unit is active as long as its job's annotation says so, and again when it is taken off") {
  Waiting world;
  world.PatchJob("a", "{'metadata':{'annotations':{'scheduling.x-k8s.io/active':'false'}}}");
  world.Settle();
  CHECK(world.Unit("a").at("spec").at("active") == false);
  world.PatchJob("a", "{'metadata':{'annotations':{'scheduling.x-k8s.io/active':null}}}");
  world.Settle();
  CHECK(Find(world.Unit("a"), {"spec", "active"}) == nullptr);
  CHECK(AnnotationOf(world.Unit("a"), kActiveAnnotation).empty());
  const size_t before = world.writes.size();
  world.Advance(absl::Minutes(1));
  CHECK(world.writes.size() == before);
}

TEST_CASE("a job that grew after its admission waits for the rest") {
  Waiting world;
  world.Admit("a");
  world.PatchJob("a", "{'spec':{'completions':2,'parallelism':2}}");
  world.Settle();
  CHECK(world.Suspended("a"));
  world.Admit("a");
  world.Settle();
  CHECK_FALSE(world.Suspended("a"));
  CHECK(world.Admissions("a") == "a=2/0");
}

TEST_CASE("a job that grows while it runs is charged for what runs, and told") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'spec':{'parallelism':0,'completions':null}}");
  world.Settle();
  world.Admit("a");
  world.Settle();
  world.PatchJob("a", "{'spec':{'parallelism':2}}");
  for (int i = 0; i < 2; ++i) world.CreatePod("a", i, "Running");
  world.Advance(absl::Seconds(2));
  CHECK(world.Admissions("a") == "a=2/2");
  CHECK(world.events == Texts{"Normal Resume ns/a", "Warning RunsWithoutAdmission ns/a"});
}

// The template of a suspended job may ask for something else at any time.
std::string AsksFor(const std::string& cpu) {
  return absl::StrCat("{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':",
                      "{'cpu':'", cpu, "','memory':'8Gi'}}}]}}}}");
}

TEST_CASE("a job that asks for more than was admitted is not released for it, but waits again") {
  Waiting world;
  SECTION("its template was changed after the admission") {
    world.Admit("a");
    world.PatchJob("a", AsksFor("30"));
  }
  SECTION("... or before it, while nobody looked") {
    world.Stop();
    world.PatchJob("a", AsksFor("30"));
    world.Admit("a");
    world.Start();
  }
  SECTION("... or its unit was changed") {
    world.Stop();
    PatchRequest cheaper;
    cheaper.resource = world.units;
    cheaper.key = {"ns", "a"};
    cheaper.patch = FromText(
        "{'spec':{'podSet':[{'name':'a','count':1,'template':{'spec':{'containers':[{'name':'c','resources':"
        "{'requests':{'cpu':'1m','memory':'1'}}}]}}}]}}");
    REQUIRE(world.api().Patch(cheaper).ok());
    world.Admit("a");
    world.Start();
  }
  world.Settle();
  CHECK(world.Suspended("a"));
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Admissions("a").empty());
  CHECK(StringAt(world.Unit("a"), {"status", "message"}) == "Enqueued because its pods ask for more than was admitted");
  CHECK(world.events == Texts{"Warning AdmissionOutgrown ns/a"});
  world.Admit("a");
  world.Settle();
  CHECK_FALSE(world.Suspended("a"));
  CHECK(world.events.back() == "Normal Resume ns/a");
}

TEST_CASE("a job that asks for less than was admitted is released") {
  Waiting world;
  world.Admit("a");
  world.PatchJob("a", AsksFor("1"));
  world.Settle();
  CHECK_FALSE(world.Suspended("a"));
  CHECK(world.events == Texts{"Normal Resume ns/a"});
}

TEST_CASE("a priority class that comes later counts") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'spec':{'template':{'spec':{'priorityClassName':'high'}}}}");
  world.Settle();
  CHECK(Find(world.Unit("a"), {"spec", "priority"}) == nullptr);
  REQUIRE(world.api()
              .Create(world.classes, "",
                      FromText("{'apiVersion':'scheduling.k8s.io/"
                               "v1','kind':'PriorityClass','metadata':{'name':'high'},'value':1000}"))
              .ok());
  world.Settle();
  CHECK(world.Unit("a").at("spec").at("priority") == 1000);
}

TEST_CASE("a user un-suspends a waiting job: it is charged as running, and told") {
  Waiting world;
  world.PatchJob("a", "{'spec':{'suspend':false}}");
  world.Settle();
  CHECK(world.Phase("a") == "Dequeued");
  CHECK(world.Admissions("a") == "a=1/0");
  CHECK(world.HasCondition("a", "Admitted"));
  CHECK(world.events == Texts{"Warning RunsWithoutAdmission ns/a"});
  CHECK(IsMarkedReleased(world.Job("a")));
  world.CreatePod("a", 0, "Running");
  world.Advance(absl::Seconds(2));
  CHECK(world.Phase("a") == "Running");
  CHECK(world.events.size() == 1);
}

TEST_CASE("a user suspends a released job: charged until its pods are gone, not resumed until the user does") {
  Running world;
  world.PatchJob("a", "{'spec':{'suspend':true}}");
  world.Settle();
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Admissions("a") == "a=1/1");
  CHECK(world.Unit("a").at("spec").at("active") == false);
  CHECK_FALSE(world.HasCondition("a", "Admitted"));

  world.SetJobStatus("a", "{'active':0,'startTime':null}");
  world.Settle();
  CHECK(world.Admissions("a") == "a=1/1");
  world.DeletePod("a", 0);
  world.Settle();
  CHECK(world.Admissions("a") == "");
  const size_t before = world.writes.size();
  world.Advance(absl::Hours(1));
  CHECK(world.Suspended("a"));
  CHECK(world.writes.size() == before);

  world.PatchJob("a", "{'spec':{'suspend':false}}");
  world.Settle();
  CHECK(world.Phase("a") == "Dequeued");
  CHECK(world.Admissions("a") == "a=1/0");
  world.Advance(absl::Seconds(2));
  CHECK(Find(world.Unit("a"), {"spec", "active"}) == nullptr);
}

TEST_CASE("a job that its user suspended between admission and release is not lost") {
  // The scheduler admitted, the user un-suspended and suspended again by hand.
  Waiting world;
  world.PatchJob("a", "{'spec':{'suspend':false}}");
  world.Settle();
  world.PatchJob("a", "{'spec':{'suspend':true}}");
  world.Settle();
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Admissions("a") == "");
  CHECK(world.Suspended("a"));
}

TEST_CASE("a running job does not get out of its quota by a change of its label, and is told") {
  Running world;
  const auto quota_of = [&world] {
    return StringAt(world.Unit("a"), {"metadata", "labels", "quota.scheduling.koordinator.sh/name"});
  };
  const std::string quota = quota_of();
  REQUIRE_FALSE(quota.empty());
  world.PatchJob("a", "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':null}}}");
  world.Advance(absl::Seconds(3));
  CHECK(quota_of() == quota);
  CHECK(world.events.back() == "Warning QuotaChangeIgnored ns/a");
  CHECK(world.event_texts.back() ==
        "QuotaChangeIgnored: The quota label of the Job says none now; what it holds stays charged to " + quota +
            ", which admitted it");
  const size_t told = world.event_texts.size();
  world.PatchJob("a", "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':'other'}}}");
  world.Advance(absl::Seconds(3));
  CHECK(quota_of() == quota);
  CHECK(world.event_texts.size() == told + 1);
  // Suspended and without pods it may go where it likes.
  world.PatchUnitStatus("a", "{'status':{'phase':'Preempted'}}");
  world.Settle();
  world.SetJobStatus("a", "{'active':0}");
  world.DeletePod("a", 0);
  world.Advance(absl::Seconds(3));
  CHECK(quota_of() == "other");
}

TEST_CASE("an evicted unit suspends its job and waits again when the pods are gone") {
  Running world;
  world.PatchUnitStatus("a", "{'status':{'phase':'Preempted'}}");
  world.Settle();
  CHECK(world.Suspended("a"));
  CHECK(world.Admissions("a") == "a=1/1");
  world.SetJobStatus("a", "{'active':0}");
  world.DeletePod("a", 0);
  world.Settle();
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Admissions("a") == "");
  world.Admit("a");
  world.Settle();
  CHECK_FALSE(world.Suspended("a"));
}

TEST_CASE("an evicted unit waits for its backoff") {
  Running world;
  const std::string until =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", world.clock().TimeNow() + absl::Seconds(60), absl::UTCTimeZone());
  world.PatchUnitStatus("a", "{'status':{'phase':'TimeoutBackoff','requeueState':{'requeueAt':'" + until + "'}}}");
  world.SetJobStatus("a", "{'active':0}");
  world.DeletePod("a", 0);
  world.Advance(absl::Seconds(50));
  CHECK(world.Phase("a") == "TimeoutBackoff");
  CHECK(world.Suspended("a"));
  world.Advance(absl::Seconds(15));
  CHECK(world.Phase("a") == "Enqueued");
}

TEST_CASE("a job that finished before it was ever admitted") {
  Waiting world;
  world.PatchJob("a", "{'spec':{'suspend':false}}");
  world.SetJobStatus("a", "{'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]}");
  world.Settle();
  CHECK(world.Phase("a") == "Succeed");
  CHECK(world.Admissions("a") == "");
}

TEST_CASE("a finished job stays finished over a restart") {
  Running world;
  world.SetJobStatus("a", "{'active':0,'succeeded':1,'conditions':[{'type':'Complete','status':'True'}]}");
  world.Settle();
  const size_t before = world.writes.size();
  world.Start();
  world.Advance(absl::Minutes(1));
  CHECK(world.Phase("a") == "Succeed");
  CHECK(world.writes.size() == before);
}

TEST_CASE("a job without a price is told so, and nothing else stops") {
  JobWorld world;
  world.Start();
  world.CreateJob("bad", "{'spec':{'template':{'spec':{'containers':[{'resources':{'requests':{'cpu':'1e40'}}}]}}}}");
  world.CreateJob("good");
  world.Settle();
  CHECK(world.Unit("bad").is_null());
  CHECK(world.Phase("good") == "Enqueued");
  CHECK(world.events == Texts{"Warning InvalidJob ns/bad"});
  CHECK(world.event_texts[0].find("spec.template.spec.containers[0].resources.requests") != std::string::npos);
  // Not again for every change of the job.
  world.PatchJob("bad", "{'metadata':{'annotations':{'x':'y'}}}");
  world.Advance(absl::Minutes(5));
  CHECK(world.events.size() == 1);
  world.PatchJob("bad", "{'spec':{'template':{'spec':{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}}}}");
  world.Settle();
  CHECK(world.Phase("bad") == "Enqueued");
}

TEST_CASE("a waiting job that loses its price is not released") {
  Waiting world;
  world.PatchJob("a", "{'spec':{'template':{'spec':{'containers':[{'resources':{'requests':{'cpu':'1e40'}}}]}}}}");
  world.Admit("a");
  world.Settle();
  CHECK(world.Suspended("a"));
  CHECK(world.events == Texts{"Warning InvalidJob ns/a"});
}

TEST_CASE("a stranger's unit of the job's name is never taken over") {
  JobWorld world;
  world.Start();
  REQUIRE(world.api()
              .Create(world.units, "ns",
                      FromText("{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'QueueUnit','metadata':{'name':'a',"
                               "'namespace':'ns','ownerReferences':[{'apiVersion':'argoproj.io/v1alpha1',"
                               "'kind':'Workflow','name':'a','uid':'w'}]},'spec':{'queue':'x'}}"))
              .ok());
  world.CreateJob("a");
  world.Settle();
  world.Admit("a");
  world.Settle();
  CHECK(world.Suspended("a"));
  CHECK(StringAt(world.Unit("a"), {"spec", "queue"}) == "x");
  CHECK(world.events == Texts{"Warning QueueUnitNameTaken ns/a"});
  CHECK(world.writes.empty());
  // When it is gone, the job's own is made.
  world.DeleteUnit("a");
  world.Settle();
  CHECK(StringAt(world.Unit("a"), {"spec", "queue"}) == "team-a");
}

TEST_CASE("a unit that is deleted is made again") {
  Waiting world;
  world.DeleteUnit("a");
  world.Settle();
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Suspended("a"));
}

TEST_CASE("a unit that is deleted while its job runs is made again as admitted") {
  Running world;
  world.DeleteUnit("a");
  world.Settle();
  CHECK(world.Phase("a") == "Running");
  CHECK(world.Admissions("a") == "a=1/1");
  CHECK_FALSE(world.Suspended("a"));
}

TEST_CASE("a unit that is edited is put right") {
  Waiting world;
  PatchRequest request;
  request.resource = world.units;
  request.key = {"ns", "a"};
  request.patch = FromText("{'spec':{'priority':99,'resource':{'cpu':'1'},'podSet':null}}");
  REQUIRE(world.api().Patch(request).ok());
  world.Settle();
  CHECK(Find(world.Unit("a"), {"spec", "priority"}) == nullptr);
  CHECK(StringAt(world.Unit("a"), {"spec", "resource", "cpu"}) == "4");
  CHECK(world.Unit("a").at("spec").at("podSet").as_array().size() == 1);
}

TEST_CASE("units of a job that is gone go by garbage collection, and without it too") {
  Waiting world;
  SECTION("with a collector") {
    world.DeleteJob("a");
    world.CollectGarbage();
    world.Advance(absl::Minutes(1));
    CHECK(world.Unit("a").is_null());
    CHECK(world.WritesOf("a") == Texts{"create queueunits"});
  }
  SECTION("without one") {
    world.DeleteJob("a");
    world.Advance(absl::Seconds(5));
    CHECK_FALSE(world.Unit("a").is_null());
    world.Advance(absl::Seconds(6));
    CHECK(world.Unit("a").is_null());
  }
  SECTION("orphaned on purpose") {
    world.DeleteJob("a", Propagation::kOrphan);
    world.Advance(absl::Seconds(11));
    CHECK(world.Unit("a").is_null());
  }
}

TEST_CASE("field report 89: jobs that are deleted while nobody works leave nothing behind") {
  constexpr int kJobs = 200;
  JobWorld world;
  world.Start();
  for (int i = 0; i < kJobs; ++i) world.CreateJob(absl::StrCat("j", i));
  world.Settle();
  for (int i = 0; i < kJobs; ++i) world.Admit(absl::StrCat("j", i));
  world.Settle();
  REQUIRE(world.api().Objects(world.units).size() == kJobs);
  // Neither is held back by a finalizer, so no deletion ever waits for a process of ours.
  for (const auto* kind : {&world.jobs, &world.units}) {
    for (const Json& object : world.api().Objects(*kind)) REQUIRE(Find(object, {"metadata", "finalizers"}) == nullptr);
  }

  world.Stop();
  for (int i = 0; i < kJobs; ++i) world.DeleteJob(absl::StrCat("j", i));
  CHECK(world.api().Objects(world.jobs).empty());
  CHECK(world.api().Objects(world.units).size() == kJobs);  // nobody collects garbage here
  world.Start();
  world.Advance(absl::Seconds(15));
  CHECK(world.api().Objects(world.units).empty());
}

TEST_CASE("field report 97: what a job runs is what its user submitted, also after an eviction") {
  const std::string spec =
      "{'spec':{'template':{'metadata':{'labels':{'app':'x'},'annotations':{'by':'me'}},'spec':{'nodeSelector':"
      "{'zone':'a'},'tolerations':[{'key':'gpu','operator':'Exists'}],'schedulingGates':[{'name':'x/y'}],"
      "'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':'2'}}}]}}}}";
  JobWorld world;
  world.Start();
  world.CreateJob("a", spec);
  // The template without the annotations that say whose it is.
  const auto submitted = [&world] {
    Json pod_template = *Find(world.Job("a"), {"spec", "template"});
    Json& notes = pod_template.as_object()["metadata"].as_object()["annotations"];
    for (const auto name :
         {kRelatedUnitAnnotation, kRelatedPodSetAnnotation, kRelatedKindAnnotation, kRelatedObjectAnnotation}) {
      notes.as_object().erase(JsonKey(name));
    }
    return pod_template;
  };
  const Json first = submitted();
  world.Settle();
  world.Admit("a");
  world.Settle();
  REQUIRE_FALSE(world.Suspended("a"));
  CHECK(submitted() == first);

  world.SetJobStatus("a", "{'active':1,'startTime':'2025-11-29T21:00:01Z'}");
  world.CreatePod("a", 0, "Running");
  world.Advance(absl::Seconds(1));
  world.PatchUnitStatus("a", "{'status':{'phase':'Preempted'}}");
  world.Settle();
  REQUIRE(world.Suspended("a"));
  CHECK(submitted() == first);

  world.SetJobStatus("a", "{'active':0,'startTime':null}");
  world.DeletePod("a", 0);
  world.Settle();
  REQUIRE(world.Phase("a") == "Enqueued");
  world.Admit("a");
  world.Settle();
  REQUIRE_FALSE(world.Suspended("a"));
  CHECK(submitted() == first);
}

TEST_CASE("a job that is being deleted is neither queued nor released") {
  JobWorld world;
  world.Start();
  world.CreateJob("a", "{'metadata':{'finalizers':['x/y']}}");
  world.Settle();
  world.DeleteJob("a");
  world.Admit("a");
  world.Settle();
  CHECK(world.Suspended("a"));
  world.CreateJob("b", "{'metadata':{'finalizers':['x/y']}}");
  world.DeleteJob("b");
  world.Start();
  world.Settle();
  CHECK(world.Unit("b").is_null());
}

TEST_CASE("a job made anew under its name gets a unit of its own") {
  Running world;
  const std::string before = UidOf(world.Unit("a"));
  world.DeleteJob("a");
  world.DeletePod("a", 0);
  world.CreateJob("a");
  world.Settle();
  CHECK(UidOf(world.Unit("a")) != before);
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Admissions("a") == "");
  CHECK(world.Suspended("a"));
}

TEST_CASE("a thousand jobs of one name, one after the other") {
  JobWorld world;
  world.Start();
  int resumed = 0;
  for (int i = 0; i < 1000; ++i) {
    world.CreateJob("a");
    if (i % 3 != 2) world.Settle();
    if (i % 3 == 0) {
      world.Admit("a");
      if (i % 2 == 0) {
        world.Settle();
        ++resumed;
        REQUIRE_FALSE(world.Suspended("a"));
      }
    }
    world.DeleteJob("a");
    if (i % 7 == 0) world.CollectGarbage();
    if (i % 5 == 0) world.Settle();
  }
  world.CreateJob("a");
  world.Settle();
  const Json unit = world.Unit("a");
  CHECK(StringAt(unit, {"spec", "consumerRef", "uid"}) == UidOf(world.Job("a")));
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.Suspended("a"));
  CHECK(static_cast<int>(std::count(world.events.begin(), world.events.end(), "Normal Resume ns/a")) == resumed);
}

TEST_CASE("a copied manifest with the mark of a release waits like any other") {
  JobWorld world;
  world.Start();
  world.CreateJob("a",
                  "{'metadata':{'annotations':{'koord-queue/job-has-enqueued':'true',"
                  "'koord-queue/job-dequeue-timestamp':'2025-01-01 00:00:00 +0000 UTC'}}}");
  world.Settle();
  world.Admit("a");
  world.Settle();
  CHECK_FALSE(world.Suspended("a"));
}

TEST_CASE("units that the original left behind") {
  JobWorld world;
  world.CreateJob("admitted");
  world.CreateJob("running", "{'spec':{'suspend':false,'parallelism':2,'completions':2}}");
  for (const std::string name : {"admitted", "running"}) {
    REQUIRE(
        world.api()
            .Create(world.units, "ns",
                    FromText(absl::StrCat(
                        "{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'QueueUnit','metadata':{'name':'", name,
                        "','namespace':'ns','ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'", name,
                        "','uid':'", UidOf(world.Job(name)), "'}]},'spec':{'resource':{'cpu':'4'}}}")))
            .ok());
    world.PatchUnitStatus(name, "{'status':{'phase':'Dequeued'}}");
  }
  for (int i = 0; i < 2; ++i) world.CreatePod("running", i, "Running");
  world.Start();
  world.Advance(absl::Seconds(3));
  CHECK_FALSE(world.Suspended("admitted"));
  CHECK(world.Phase("running") == "Running");
  CHECK(world.Admissions("running") == "running=2/2");
  CHECK(world.Unit("running").at("spec").at("podSet").at(0).at("count") == 2);
}

TEST_CASE("a hundred running jobs are adopted when the controllers come") {
  JobWorld world;
  world.Start();
  for (int i = 0; i < 100; ++i) world.CreateJob(absl::StrCat("j", i));
  world.Settle();
  for (int i = 0; i < 100; ++i) world.PatchJob(absl::StrCat("j", i), "{'spec':{'suspend':false}}");
  world.Start();
  world.Settle();
  for (int i = 0; i < 100; ++i) REQUIRE(world.Admissions(absl::StrCat("j", i)) == absl::StrCat("j", i, "=1/0"));
}

TEST_CASE("--manage-all-jobs queues jobs without a label") {
  JobWorldOptions options;
  options.rules.all_jobs = GENERATE(false, true);
  JobWorld world(options);
  world.Start();
  world.CreateJob("a", "{'metadata':{'labels':null}}");
  world.CreateJob("kueue",
                  "{'metadata':{'labels':{'quota.scheduling.koordinator.sh/name':null,"
                  "'kueue.x-k8s.io/queue-name':'q'}}}");
  world.Settle();
  CHECK(world.Unit("a").is_null() == !options.rules.all_jobs);
  CHECK(world.Unit("kueue").is_null());
}

TEST_CASE("only the chosen namespaces are looked at") {
  JobWorldOptions options;
  options.namespaces = {"other", "ns"};
  JobWorld world(options);
  world.Start();
  world.CreateJob("a");
  const Json elsewhere = FromText(
      "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'x','namespace':'third','labels':"
      "{'alibabacloud.com/quota-name':'q'}},'spec':{'suspend':true,'template':{'spec':{'containers':[]}}}}");
  REQUIRE(world.api().Create(world.jobs, "third", elsewhere).ok());
  world.Settle();
  CHECK(world.Phase("a") == "Enqueued");
  CHECK(world.api().Objects(world.units).size() == 1);
}

}  // namespace kq::controllers
