#include "services/scheduler/runtime/leadership.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"

namespace kq::scheduler {
namespace {

// How often the lists are looked at before the campaign begins.
constexpr absl::Duration kSyncPoll = absl::Milliseconds(50);

}  // namespace

Leadership::Leadership(LeadershipParts parts) : parts_(std::move(parts)) {}

absl::Duration Leadership::Step() {
  {
    MutexLock lock(&mu_);
    if (lost_) return absl::InfiniteDuration();
    if (leads_ && parts_.lease == nullptr) return absl::InfiniteDuration();
  }
  if (!parts_.synced()) return kSyncPoll;
  if (parts_.lease == nullptr) {
    Take();
    return absl::InfiniteDuration();
  }
  const absl::Duration wait = parts_.lease->Step();
  NoteHolder();
  const Lease::Role role = parts_.lease->role();
  bool won, lost;
  {
    MutexLock lock(&mu_);
    campaigning_ = true;
    won = role == Lease::Role::kLeader && !leads_;
    lost = role == Lease::Role::kLost;
    if (lost) {
      lost_ = true;
      leads_ = false;
    }
  }
  if (won) Take();
  if (lost) {
    KQ_LOG(Error, "Lost the lease", {{"holder", parts_.lease->Holder()}, {"err", parts_.lease->Health()}});
    parts_.on_lost();
    return absl::InfiniteDuration();
  }
  return wait;
}

void Leadership::Take() {
  {
    MutexLock lock(&mu_);
    leads_ = true;
  }
  const std::string epoch = absl::StrCat(absl::ToUnixMillis(parts_.clock->TimeNow()));
  KQ_LOG(Info, "This process leads", {{"epoch", epoch}, {"identity", Leader()}});
  // Never refused.
  if (!parts_.mailbox->Post(LeadershipTaken{epoch})) KQ_LOG(Error, "The leadership was refused");
  parts_.on_taken();
}

void Leadership::NoteHolder() {
  const std::string holder = parts_.lease->Holder();
  if (holder == noted_holder_) return;
  noted_holder_ = holder;
  if (holder.empty() || holder == parts_.lease->identity()) return;
  if (LooksLikeOurs(holder)) {
    KQ_LOG(Info, "Another replica leads", {{"holder", holder}});
  } else {
    KQ_LOG(Warning,
           "The lease is held by something that does not look like koord-queue; no jobs are admitted here until it is "
           "free",
           {{"holder", holder}});
  }
}

void Leadership::Run() {
  while (true) {
    const absl::Duration wait = Step();
    MutexLock lock(&mu_);
    if (stopped_) return;
    if (wait > absl::ZeroDuration()) stop_requested_.WaitFor(&mu_, wait);
    if (stopped_) return;
  }
}

void Leadership::Stop() {
  MutexLock lock(&mu_);
  stopped_ = true;
  stop_requested_.SignalAll();
}

absl::Status Leadership::Release() {
  {
    MutexLock lock(&mu_);
    leads_ = false;
  }
  return parts_.lease == nullptr ? absl::OkStatus() : parts_.lease->Release();
}

bool Leadership::Leads() const {
  MutexLock lock(&mu_);
  return leads_;
}

bool Leadership::MayWrite() const { return Leads() && (parts_.lease == nullptr || parts_.lease->MayWrite()); }

absl::Status Leadership::WriteStatus() const {
  if (!Leads()) return absl::CancelledError("not written: this process does not lead");
  if (MayWrite()) return absl::OkStatus();
  return absl::UnavailableError("not written: the lease has not been renewed in time");
}

std::string Leadership::Leader() const {
  if (parts_.lease == nullptr) return Leads() ? "this process, without election" : "";
  return parts_.lease->Holder();
}

std::string Leadership::UnknownHolder() const {
  const std::string holder = parts_.lease == nullptr ? "" : parts_.lease->Holder();
  return holder.empty() || LooksLikeOurs(holder) ? "" : holder;
}

HealthState Leadership::State() const {
  bool leads, lost, campaigning;
  {
    MutexLock lock(&mu_);
    leads = leads_;
    lost = lost_;
    campaigning = campaigning_;
  }
  if (lost) return {absl::UnavailableError("the lease was lost; this process ends"), ""};
  if (leads) return {absl::OkStatus(), "leads"};
  if (parts_.lease == nullptr || !campaigning) return {absl::OkStatus(), "waits for the lists before it campaigns"};
  const std::string holder = parts_.lease->Holder();
  if (const std::string unknown = UnknownHolder(); !unknown.empty()) {
    return {absl::OkStatus(),
            absl::StrCat("follows; the lease is held by \"", unknown, "\", which does not look like koord-queue")};
  }
  if (holder.empty() && !parts_.lease->Health().ok()) return {parts_.lease->Health(), ""};
  return {absl::OkStatus(), holder.empty() ? "follows; nobody leads" : absl::StrCat("follows ", holder)};
}

}  // namespace kq::scheduler
