#include "e2e/support/job_watch.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"

namespace kq::e2e {
namespace {

ReflectorOptions JobsOf(const std::string& ns) {
  ReflectorOptions options;
  options.resource = kJobs;
  options.ns = ns;
  return options;
}

bool IsComplete(const Json& job) {
  const Json* conditions = Find(job, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const Json& condition : conditions->get_array()) {
    if (StringAt(condition, {"type"}) == "Complete" && StringAt(condition, {"status"}) == "True") return true;
  }
  return false;
}

}  // namespace

JobWatch::JobWatch(KubeApi* api, const std::string& ns)
    : reflector_(std::make_unique<Reflector>(JobsOf(ns), api, &Clock::Real(), this)) {
  thread_ = std::thread([this] { reflector_->Run(); });
}

JobWatch::~JobWatch() {
  reflector_->Stop();
  thread_.join();
}

int64_t JobWatch::Jobs() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(jobs_.size());
}

int64_t JobWatch::Complete() const {
  MutexLock lock(&mu_);
  int64_t complete = 0;
  for (const auto& [key, job] : jobs_) complete += job.complete ? 1 : 0;
  return complete;
}

std::string JobWatch::WrongReleases(const UsageWatch& units) const {
  const std::map<ObjectKey, std::vector<uint64_t>> admitted = units.AdmittedAt();
  MutexLock lock(&mu_);
  std::vector<std::string> wrong = trouble_;
  for (const auto& [key, job] : jobs_) {
    const auto unit = admitted.find(key);
    const size_t admissions = unit == admitted.end() ? 0 : unit->second.size();
    if (admissions != 1 || job.released_at.size() != 1) {
      wrong.push_back(absl::StrCat(key.ToString(), ": admitted ", admissions, " times, released ",
                                   job.released_at.size(), " times"));
    } else if (job.released_at[0] < unit->second[0]) {
      wrong.push_back(absl::StrCat(key.ToString(), ": released at version ", job.released_at[0], ", admitted at ",
                                   unit->second[0]));
    }
  }
  return absl::StrJoin(wrong, "\n");
}

bool JobWatch::Upserted(const Json& object) {
  const Json* suspend = Find(object, {"spec", "suspend"});
  const bool suspended = suspend != nullptr && suspend->is_bool() && suspend->get_bool();
  MutexLock lock(&mu_);
  Seen& job = jobs_[KeyOf(object)];
  if (job.suspended && !suspended) job.released_at.push_back(VersionOf(object));
  job.suspended = suspended;
  job.complete = IsComplete(object);
  return true;
}

bool JobWatch::Removed(const ObjectKey&, absl::string_view, uint64_t) { return true; }

void JobWatch::Listed(uint64_t) {}

void JobWatch::Broken(const absl::Status& why) {
  MutexLock lock(&mu_);
  trouble_.push_back(why.ToString());
}

}  // namespace kq::e2e
