#include "perf/arrivals.h"

#include <utility>

#include "libs/common/log.h"

namespace kq::perf {
namespace {

ReflectorOptions Watching(const KubeResource& resource, const std::string& ns) {
  ReflectorOptions options;
  options.resource = resource;
  options.ns = ns;
  return options;
}

}  // namespace

Arrivals::Arrivals(KubeApi* api, const KubeResource& resource, const std::string& ns, State state)
    : state_(std::move(state)),
      reflector_(Watching(resource, ns), api, &Clock::Real(), this),
      thread_([this] { reflector_.Run(); }) {
  while (!reflector_.Synced()) Clock::Real().SleepFor(absl::Milliseconds(5));
}

Arrivals::~Arrivals() {
  reflector_.Stop();
  thread_.join();
}

int64_t Arrivals::count() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(times_.size());
}

std::map<std::string, absl::Time> Arrivals::Times() const {
  MutexLock lock(&mu_);
  return times_;
}

bool Arrivals::Upserted(const Json& object) {
  if (!state_(object)) return true;
  const absl::Time now = Clock::Real().TimeNow();
  MutexLock lock(&mu_);
  times_.try_emplace(KeyOf(object).name, now);
  return true;
}

bool Arrivals::Removed(const ObjectKey& /*key*/, absl::string_view /*uid*/, uint64_t /*version*/) { return true; }

void Arrivals::Listed(uint64_t /*version*/) {}

void Arrivals::Broken(const absl::Status& why) { KQ_LOG(Warning, "An object could not be decoded", {{"err", why}}); }

}  // namespace kq::perf
