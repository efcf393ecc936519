#include "services/controllers/testing/job_world.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/api/codec.h"
#include "services/controllers/adapters/batch_job.h"

namespace kq::controllers {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1764450000);

absl::Status Dead() { return absl::UnavailableError("this process is dead"); }

// RFC 7396, as far as tests need it.
void Merge(Json* into, const Json& patch) {
  if (!patch.is_object()) {
    *into = patch;
    return;
  }
  if (!into->is_object()) *into = JsonObject();
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null()) {
      into->get_object().erase(key);
    } else {
      Merge(&into->get_object()[key], value);
    }
  }
}

}  // namespace

Json FromText(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  const absl::StatusOr<Json> json = ParseJson(text);
  INFO(text);
  REQUIRE(json.ok());
  return *json;
}

bool WatchedApi::Write(absl::string_view verb, const KubeResource& resource, Subresource subresource,
                       const ObjectKey& key) {
  if (dead_) return false;
  if (made_++ == die_at_) {
    dead_ = true;
    if (death_ == Death::kBeforeWrite) return false;
  }
  writes_->push_back(absl::StrCat(verb, " ", resource.plural, subresource == Subresource::kStatus ? "/status" : "", " ",
                                  key.ToString()));
  return true;
}

absl::StatusOr<ListPage> WatchedApi::List(const ListRequest& request) {
  if (dead_) return Dead();
  return api_->List(request);
}

absl::StatusOr<std::unique_ptr<WatchStream>> WatchedApi::Watch(const WatchRequest& request) {
  if (dead_) return Dead();
  return api_->Watch(request);
}

absl::StatusOr<Json> WatchedApi::Get(const KubeResource& resource, const ObjectKey& key) {
  if (dead_) return Dead();
  return api_->Get(resource, key);
}

absl::StatusOr<Json> WatchedApi::Create(const KubeResource& resource, absl::string_view ns, const Json& object) {
  const ObjectKey key{std::string(ns), StringAt(object, {"metadata", "name"})};
  if (!Write("create", resource, Subresource::kNone, key)) return Dead();
  absl::StatusOr<Json> answer = api_->Create(resource, ns, object);
  return dead_ ? Dead() : std::move(answer);
}

absl::StatusOr<Json> WatchedApi::Update(const KubeResource& resource, Subresource subresource, const Json& object) {
  if (!Write("update", resource, subresource, KeyOf(object))) return Dead();
  absl::StatusOr<Json> answer = api_->Update(resource, subresource, object);
  return dead_ ? Dead() : std::move(answer);
}

absl::StatusOr<Json> WatchedApi::Patch(const PatchRequest& request) {
  if (!Write("patch", request.resource, request.subresource, request.key)) return Dead();
  absl::StatusOr<Json> answer = api_->Patch(request);
  return dead_ ? Dead() : std::move(answer);
}

absl::Status WatchedApi::Delete(const DeleteRequest& request) {
  if (!Write("delete", request.resource, Subresource::kNone, request.key)) return Dead();
  absl::Status answer = api_->Delete(request);
  return dead_ ? Dead() : answer;
}

JobWorld::JobWorld(JobWorldOptions options)
    : options_(std::move(options)), clock_(kStart), api_({.clock = &clock_}), others_(api_.Connect()) {
  api_.AddResource(jobs, {.kind = "Job", .status_subresource = true});
  api_.AddResource(units, {.kind = "QueueUnit", .status_subresource = true, .default_status = {{"phase", "Enqueued"}}});
  api_.AddResource(pods, {.kind = "Pod", .status_subresource = true});
  api_.AddResource(classes, {.kind = "PriorityClass", .namespaced = false});
}

void JobWorld::Start() {
  controller_.reset();
  process_api_ = std::make_unique<WatchedApi>(api_.Connect(process_faults, process_watch_faults), &writes);
  JobControllerOptions options;
  options.reconciler.rules = options_.rules;
  options.reconciler.pacing.interval = options_.report_interval;
  options.queue.backoff.jitter = 0;
  options.namespaces = options_.namespaces;
  controller_ = std::make_unique<JobController>(
      std::move(options), NewBatchJobAdapter(), process_api_.get(), &clock_,
      [this](const ObjectReference& object, EventType type, absl::string_view reason, absl::string_view message) {
        events.push_back(
            absl::StrCat(type == EventType::kWarning ? "Warning " : "Normal ", reason, " ", object.key.ToString()));
        event_texts.push_back(absl::StrCat(reason, ": ", message));
      });
}

void JobWorld::Settle() {
  for (int round = 0; round < 100000; ++round) {
    const Reflector::Counts before = controller_->WatchTotals();
    controller_->StepWatches();
    const Reflector::Counts after = controller_->WatchTotals();
    bool moved = before.events != after.events || before.lists != after.lists || before.watches != after.watches;
    // As a process does: no work before everything was listed.
    if (controller_->Synced()) moved = controller_->StepWork(absl::ZeroDuration()) || moved;
    if (!moved) return;
  }
  FAIL("the world does not settle");
}

void JobWorld::Advance(absl::Duration duration) {
  const absl::Time end = clock_.TimeNow() + duration;
  Settle();
  while (clock_.TimeNow() < end) {
    const absl::Time next = std::clamp(controller_->NextDue(), clock_.TimeNow() + absl::Milliseconds(50), end);
    clock_.SetTime(next);
    Settle();
  }
}

void JobWorld::CreateJob(const std::string& name, const std::string& more) {
  Json job = FromText("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" + name +
                      "','namespace':'ns','labels':{'quota.scheduling.koordinator.sh/name':'team-a'}},"
                      "'spec':{'suspend':true,'parallelism':1,'completions':1,'template':{'spec':{'containers':"
                      "[{'name':'c','image':'i','resources':{'requests':{'cpu':'4','memory':'8Gi'}}}]}}}}");
  Merge(&job, FromText(more));
  const absl::StatusOr<Json> created = others_->Create(jobs, "ns", job);
  INFO(created.status());
  REQUIRE(created.ok());
}

void JobWorld::Patch(const KubeResource& resource, const std::string& name, Subresource subresource,
                     const std::string& patch) {
  PatchRequest request;
  request.resource = resource;
  request.key = {"ns", name};
  request.subresource = subresource;
  request.patch = FromText(patch);
  const absl::StatusOr<Json> answer = others_->Patch(request);
  INFO(answer.status());
  REQUIRE(answer.ok());
}

void JobWorld::PatchJob(const std::string& name, const std::string& patch) {
  Patch(jobs, name, Subresource::kNone, patch);
}

void JobWorld::DeleteJob(const std::string& name, Propagation propagation) {
  DeleteRequest request;
  request.resource = jobs;
  request.key = {"ns", name};
  request.propagation = propagation;
  REQUIRE(others_->Delete(request).ok());
}

void JobWorld::DeleteUnit(const std::string& name) {
  DeleteRequest request;
  request.resource = units;
  request.key = {"ns", name};
  REQUIRE(others_->Delete(request).ok());
}

void JobWorld::Admit(const std::string& name, absl::string_view phase) {
  const absl::StatusOr<QueueUnit> unit = ParseQueueUnit(Unit(name));
  REQUIRE(unit.ok());
  UnitStatusChange change;
  change.phase = PhaseFromName(phase);
  change.admissions = FullAdmissions(*unit);
  change.conditions = ConditionsFor(*change.phase, unit->conditions, "", clock_.TimeNow());
  Patch(units, name, Subresource::kStatus, JsonText(UnitStatusPatch(change)));
}

void JobWorld::PatchUnitStatus(const std::string& name, const std::string& patch) {
  Patch(units, name, Subresource::kStatus, patch);
}

void JobWorld::SetJobStatus(const std::string& name, const std::string& status) {
  Patch(jobs, name, Subresource::kStatus, "{'status':" + status + "}");
}

void JobWorld::CreatePod(const std::string& job, int number, const std::string& phase, const std::string& node) {
  const std::string name = absl::StrCat(job, "-", number);
  Json pod = FromText("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" + name +
                      "','namespace':'ns','labels':{'batch.kubernetes.io/job-name':'" + job +
                      "'},'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','controller':true,'name':'" + job +
                      "','uid':'" + UidOf(Job(job)) + "'}]},'spec':{'nodeName':'" + node + "'}}");
  REQUIRE(others_->Create(pods, "ns", pod).ok());
  SetPodPhase(job, number, phase);
}

void JobWorld::SetPodPhase(const std::string& job, int number, const std::string& phase) {
  Patch(pods, absl::StrCat(job, "-", number), Subresource::kStatus, "{'status':{'phase':'" + phase + "'}}");
}

void JobWorld::DeletePod(const std::string& job, int number) {
  DeleteRequest request;
  request.resource = pods;
  request.key = {"ns", absl::StrCat(job, "-", number)};
  REQUIRE(others_->Delete(request).ok());
}

Json JobWorld::Object(const KubeResource& resource, const std::string& name) const {
  for (const Json& object : api_.Objects(resource)) {
    if (KeyOf(object) == ObjectKey{"ns", name}) return object;
  }
  return nullptr;
}

bool JobWorld::Suspended(const std::string& name) const {
  const Json job = Job(name);
  const Json* suspend = Find(job, {"spec", "suspend"});
  return suspend != nullptr && *suspend == true;
}

std::string JobWorld::Phase(const std::string& name) const { return StringAt(Unit(name), {"status", "phase"}); }

std::string JobWorld::Admissions(const std::string& name) const {
  const absl::StatusOr<QueueUnit> unit = ParseQueueUnit(Unit(name));
  if (!unit.ok()) return "no unit";
  std::vector<std::string> texts;
  for (const Admission& one : unit->admissions) {
    texts.push_back(absl::StrCat(one.name, "=", one.replicas, "/", one.running));
  }
  return absl::StrJoin(texts, ",");
}

bool JobWorld::HasCondition(const std::string& name, absl::string_view type) const {
  const absl::StatusOr<QueueUnit> unit = ParseQueueUnit(Unit(name));
  if (!unit.ok()) return false;
  for (const Condition& condition : unit->conditions) {
    if (condition.type == type) return condition.status == "True";
  }
  return false;
}

std::vector<std::string> JobWorld::WritesOf(const std::string& name) const {
  std::vector<std::string> of;
  for (const std::string& write : writes) {
    if (absl::EndsWith(write, absl::StrCat(" ns/", name))) {
      of.push_back(write.substr(0, write.size() - name.size() - 4));
    }
  }
  return of;
}

}  // namespace kq::controllers
