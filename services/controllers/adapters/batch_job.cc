#include "services/controllers/adapters/batch_job.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/api/codec.h"
#include "libs/common/status_macros.h"
#include "services/controllers/annotations.h"

namespace kq::controllers {
namespace {

constexpr absl::string_view kKueueQueueLabel = "kueue.x-k8s.io/queue-name";
constexpr absl::string_view kJobController = "kubernetes.io/job-controller";

// Kinds of these groups are queued as a whole, by us or by others.
constexpr std::array<absl::string_view, 11> kOwnerGroups = {"kubeflow.org",           "ray.io",
                                                            "sparkoperator.k8s.io",   "argoproj.io",
                                                            "jobset.x-k8s.io",        "trainer.kubeflow.org",
                                                            "batch.volcano.sh",       "leaderworkerset.x-k8s.io",
                                                            "workload.codeflare.dev", "kueue.x-k8s.io",
                                                            "flux-framework.org"};

std::optional<int64_t> IntAt(const Json& object, std::initializer_list<absl::string_view> path) {
  const Json* value = Find(object, path);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

bool TrueAt(const Json& object, std::initializer_list<absl::string_view> path) {
  const Json* value = Find(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool IsSuspended(const Json& job) { return TrueAt(job, {"spec", "suspend"}); }

bool WasStarted(const Json& job) {
  return !StringAt(job, {"status", "startTime"}).empty() || IntAt(job, {"status", "active"}).value_or(0) > 0 ||
         IntAt(job, {"status", "succeeded"}).value_or(0) > 0 || IntAt(job, {"status", "failed"}).value_or(0) > 0;
}

bool HasCondition(const Json& job, absl::string_view type) {
  const Json* conditions = Find(job, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->get_array().begin(), conditions->get_array().end(), [type](const Json& condition) {
    return StringAt(condition, {"type"}) == type && StringAt(condition, {"status"}) == "True";
  });
}

// A controller of one of the groups that are queued as a whole.
bool IsPartOfAnother(const Json& job) {
  const Json* owners = Find(job, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return false;
  for (const Json& owner : owners->get_array()) {
    if (!TrueAt(owner, {"controller"})) continue;
    const std::string api_version = StringAt(owner, {"apiVersion"});
    for (const absl::string_view group : kOwnerGroups) {
      if (absl::StartsWith(api_version, absl::StrCat(group, "/"))) return true;
    }
  }
  return false;
}

bool IsChosen(const Json& job, const ManageRules& rules) {
  if (!QuotaOf(job).empty()) return true;
  if (!rules.all_jobs || StringAt(job, {"metadata", "namespace"}) == "kube-system") return false;
  const std::string managed_by = StringAt(job, {"spec", "managedBy"});
  const bool by_another = !managed_by.empty() && managed_by != kJobController;
  return !by_another && LabelOf(job, kKueueQueueLabel).empty() && !IsPartOfAnother(job);
}

// How many numbers there are in "1,3-5".
int64_t CountIndexes(absl::string_view text) {
  int64_t count = 0;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    int64_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) continue;
    if (ends.second.empty() || !absl::SimpleAtoi(ends.second, &last)) last = first;
    if (last >= first) count = SaturatingAdd(count, SaturatingAdd(last - first, 1));
  }
  return count;
}

// Of a work queue. After the first success no pod is started and none is ended,
// whatever parallelism says then; what is left is what still runs.
int64_t PodsOfWorkQueue(const Json& job, int64_t parallelism) {
  const auto status = [&job](absl::string_view field) { return IntAt(job, {"status", field}).value_or(0); };
  if (status("succeeded") <= 0) return parallelism;
  const int64_t active = status("active");
  return std::max({active, std::min(parallelism, SaturatingAdd(active, status("terminating"))), int64_t{1}});
}

// min(parallelism, completions - succeeded - given up). The last pod counts until
// the job says that it is over, which is a moment later: no write for that moment.
int64_t PodCount(const Json& job) {
  const int64_t parallelism = IntAt(job, {"spec", "parallelism"}).value_or(1);
  const std::optional<int64_t> completions = IntAt(job, {"spec", "completions"});
  if (!completions.has_value()) return PodsOfWorkQueue(job, parallelism);
  const int64_t done =
      IntAt(job, {"status", "succeeded"}).value_or(0) + CountIndexes(StringAt(job, {"status", "failedIndexes"}));
  return std::min(parallelism, std::max(*completions - done, std::min<int64_t>(*completions, 1)));
}

// Fills in requests from limits, as the API server does it for pods.
void DefaultRequests(JsonObject* spec, absl::string_view list) {
  Json* containers = spec->if_contains(JsonKey(list));
  if (containers == nullptr || !containers->is_array()) return;
  for (Json& container : containers->get_array()) {
    if (!container.is_object()) continue;
    Json* resources = container.get_object().if_contains("resources");
    if (resources == nullptr || !resources->is_object()) continue;
    const Json* limits = resources->get_object().if_contains("limits");
    if (limits == nullptr || !limits->is_object() || limits->get_object().empty()) continue;
    const JsonObject copy = limits->get_object();  // the next line may move what `limits` points to
    Json& requests = resources->get_object()["requests"];
    if (!requests.is_object()) requests = JsonObject();
    for (const auto& [name, amount] : copy) {
      if (!requests.get_object().contains(name)) requests.get_object()[name] = amount;
    }
  }
}

Json TemplateOf(const Json& job) {
  const Json* found = Find(job, {"spec", "template"});
  Json out = found == nullptr ? Json(JsonObject()) : *found;
  if (out.is_object()) {
    Json* spec = out.get_object().if_contains("spec");
    if (spec != nullptr && spec->is_object()) {
      DefaultRequests(&spec->get_object(), "containers");
      DefaultRequests(&spec->get_object(), "initContainers");
    }
  }
  return out;
}

absl::Status CheckHeld(const Resources& per_pod, int64_t count) {
  for (const auto& [name, amount] : per_pod) {
    if (SaturatingMultiply(amount, count) == std::numeric_limits<int64_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("spec.parallelism: ", count, " pods ask for more ", name, " than can be counted"));
    }
  }
  return absl::OkStatus();
}

class BatchJob : public JobAdapter {
 public:
  const JobKind& kind() const override { return kind_; }

  std::string UnitName(absl::string_view job_name) const override { return std::string(job_name); }
  std::string JobNameOfUnit(absl::string_view unit_name) const override { return std::string(unit_name); }

  bool WantsUnit(const Json& job, const ManageRules& rules) const override {
    if (!IsChosen(job, rules)) return false;
    return IsMarkedReleased(job) || (IsSuspended(job) && !WasStarted(job));
  }

  JobState State(const Json& job, const PodCounts& pods) const override {
    if (HasCondition(job, "Complete")) return JobState::kSucceeded;
    if (HasCondition(job, "Failed")) return JobState::kFailed;
    if (Find(job, {"metadata", "deletionTimestamp"}) != nullptr) return JobState::kDeleting;
    if (!IsSuspended(job)) return pods.running > 0 ? JobState::kRunning : JobState::kPending;
    const bool pods_left = pods.live() > 0 || IntAt(job, {"status", "active"}).value_or(0) > 0 ||
                           IntAt(job, {"status", "terminating"}).value_or(0) > 0;
    if (IsMarkedReleased(job)) return pods_left ? JobState::kHolding : JobState::kHeld;
    return pods_left ? JobState::kStopping : JobState::kWaiting;
  }

  absl::StatusOr<std::vector<PodSetClaim>> PodSets(const Json& job) const override {
    PodSetClaim claim;
    claim.name = StringAt(job, {"metadata", "name"});
    claim.count = PodCount(job);
    claim.pod_template = TemplateOf(job);
    KQ_ASSIGN_OR_RETURN(claim.per_pod, PodRequest(claim.pod_template, "spec.template"));
    KQ_RETURN_IF_ERROR(CheckHeld(claim.per_pod, claim.count));
    std::vector<PodSetClaim> claims;
    claims.push_back(std::move(claim));
    return claims;
  }

  PriorityClaim Priority(const Json& job) const override {
    PriorityClaim claim;
    claim.class_name = StringAt(job, {"spec", "template", "spec", "priorityClassName"});
    if (const std::optional<int64_t> value = IntAt(job, {"spec", "template", "spec", "priority"}); value.has_value()) {
      claim.value = static_cast<int32_t>(*value);
    }
    return claim;
  }

  Json ResumePatch(const Json& job, const Release& release) const override {
    Json patch = BareResumePatch(job, release);
    const std::string name = StringAt(job, {"metadata", "name"});
    JsonObject notes;
    notes[JsonKey(kRelatedUnitAnnotation)] = release.unit.ToString();
    notes[JsonKey(kRelatedPodSetAnnotation)] = name;
    notes[JsonKey(kRelatedKindAnnotation)] = absl::StrCat(kind_.api_version, "/", kind_.kind);
    notes[JsonKey(kRelatedObjectAnnotation)] = name;
    patch.get_object()["spec"].get_object()["template"] =
        JsonObject{{"metadata", JsonObject{{"annotations", std::move(notes)}}}};
    return patch;
  }

  Json BareResumePatch(const Json& /*job*/, const Release& release) const override {
    return JsonObject{{"metadata", JsonObject{{"annotations", ReleaseAnnotations(release.enqueued, release.now)}}},
                      {"spec", JsonObject{{"suspend", false}}}};
  }

  Json SuspendPatch(const Json& /*job*/) const override {
    return JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{JsonKey(kDequeueTimeAnnotation), ""}}}}},
                      {"spec", JsonObject{{"suspend", true}}}};
  }

 private:
  const JobKind kind_{"job", {"batch", "v1", "jobs"}, "batch/v1", "Job", "batch.kubernetes.io/job-name"};
};

}  // namespace

std::unique_ptr<JobAdapter> NewBatchJobAdapter() { return std::make_unique<BatchJob>(); }

}  // namespace kq::controllers
