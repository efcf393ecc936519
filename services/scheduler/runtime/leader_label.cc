#include "services/scheduler/runtime/leader_label.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/status_macros.h"
#include "services/scheduler/runtime/kinds.h"

namespace kq::scheduler {

LeaderLabel::LeaderLabel(LeaderLabelOptions options, KubeApi* api, const Clock* clock)
    : options_(std::move(options)), api_(api), clock_(clock) {}

void LeaderLabel::Want() {
  MutexLock lock(&mu_);
  wanted_ = true;
  failures_ = 0;
  changed_.SignalAll();
}

absl::Status LeaderLabel::Patch(const ObjectKey& pod, const Json& value) {
  const Json patch = JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{kLeaderLabel, value}}}}}};
  return api_->Patch({Pods(), pod, Subresource::kNone, PatchType::kMerge, patch}).status();
}

absl::Status LeaderLabel::ClearOthers() {
  ListRequest request;
  request.resource = Pods();
  request.ns = options_.ns;
  request.label_selector = absl::StrCat(kLeaderLabel, "=true");
  do {
    const absl::StatusOr<ListPage> page = api_->List(request);
    if (!page.ok()) return WithContext(page.status(), "list pods with the leader's label");
    for (const Json& pod : page->items) {
      const ObjectKey key = KeyOf(pod);
      if (key.name == options_.pod) continue;
      const absl::Status cleared = Patch(key, nullptr);
      if (!cleared.ok() && !absl::IsNotFound(cleared)) return WithContext(cleared, key.ToString());
      KQ_LOG(Info, "Took the leader's label off another pod", {{"pod", key.ToString()}});
    }
    request.continue_token = page->continue_token;
  } while (!request.continue_token.empty());
  return absl::OkStatus();
}

absl::Status LeaderLabel::MakeSo(bool on) {
  const ObjectKey pod{options_.ns, options_.pod};
  if (on) {
    KQ_RETURN_IF_ERROR(Patch(pod, "true"));
    return ClearOthers();
  }
  const absl::Status off = Patch(pod, nullptr);
  return absl::IsNotFound(off) ? absl::OkStatus() : off;
}

absl::Duration LeaderLabel::Step() {
  if (options_.pod.empty()) return absl::InfiniteDuration();
  bool on;
  {
    MutexLock lock(&mu_);
    if (is_ == wanted_) return absl::InfiniteDuration();
    on = wanted_;
  }
  const absl::Status made = MakeSo(on);
  MutexLock lock(&mu_);
  last_ = made;
  if (made.ok()) {
    is_ = on;
    failures_ = 0;
    KQ_VLOG(1, "Leader's label", {{"pod", options_.pod}, {"on", on}});
    return wanted_ == on ? absl::InfiniteDuration() : absl::ZeroDuration();
  }
  KQ_LOG(Warning, "Cannot set the leader's label", {{"pod", options_.pod}, {"on", on}, {"err", made}});
  is_.reset();
  return options_.backoff.Delay(failures_++);
}

void LeaderLabel::Run() {
  while (true) {
    const absl::Duration wait = Step();
    MutexLock lock(&mu_);
    if (stopped_) return;
    // Want may have come between Step and here.
    if (wait > absl::ZeroDuration() && !(is_.has_value() && *is_ != wanted_)) changed_.WaitFor(&mu_, wait);
    if (stopped_) return;
  }
}

void LeaderLabel::Stop() {
  MutexLock lock(&mu_);
  stopped_ = true;
  changed_.SignalAll();
}

absl::Status LeaderLabel::TakeOff(absl::Time deadline) {
  {
    MutexLock lock(&mu_);
    wanted_ = false;
    failures_ = 0;
  }
  while (true) {
    const absl::Duration wait = Step();
    if (wait == absl::InfiniteDuration()) return absl::OkStatus();
    if (clock_->TimeNow() + wait >= deadline) break;
    clock_->SleepFor(wait);
  }
  MutexLock lock(&mu_);
  return last_;
}

std::string LeaderLabel::Note() const {
  if (options_.pod.empty()) return "skipped: POD_NAME is not set";
  MutexLock lock(&mu_);
  if (is_ == wanted_) return *is_ ? "on" : "off";
  return absl::StrCat("not yet ", wanted_ ? "on" : "off", last_.ok() ? "" : ": ", std::string(last_.message()));
}

}  // namespace kq::scheduler
