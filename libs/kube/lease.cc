#include "libs/kube/lease.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "libs/common/json.h"
#include "libs/common/log.h"
#include "libs/common/mutex.h"
#include "libs/common/status_macros.h"
#include "libs/kube/forward_time.h"

namespace kq {
namespace {

const KubeResource& Leases() {
  static const KubeResource* const resource = new KubeResource{"coordination.k8s.io", "v1", "leases"};
  return *resource;
}

// client-go's: candidates that wait up to this much longer must still fit the renew deadline.
constexpr double kJitterFactor = 1.2;
// How often one Step or Release reads again after a conflict or an unknown outcome.
constexpr int kTries = 2;

std::string MicroTime(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()); }

int64_t IntAt(const Json& lease, absl::string_view name) {
  const Json* value = Find(lease, {"spec", name});
  return value != nullptr && value->is_int64() ? value->as_int64() : 0;
}

// Whole seconds, as the record has them: rounded up, so that nobody waits too little.
int64_t Seconds(absl::Duration duration) {
  return std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
}

bool IsUuid(absl::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !absl::ascii_isxdigit(text[i])) return false;
  }
  return true;
}

}  // namespace

absl::Status ValidateLeaseOptions(const LeaseOptions& options) {
  std::vector<std::string> errors;
  if (options.key.ns.empty() || options.key.name.empty()) errors.push_back("lease namespace and name must be set");
  if (options.identity.empty()) errors.push_back("lease identity must be set");
  if (options.retry_period <= absl::ZeroDuration()) errors.push_back("retry period must be positive");
  if (options.duration < absl::Seconds(1)) errors.push_back("lease duration must be at least 1s");
  if (options.duration <= options.renew_deadline) {
    errors.push_back(absl::StrCat("lease duration ", absl::FormatDuration(options.duration),
                                  " must be longer than renew deadline ",
                                  absl::FormatDuration(options.renew_deadline)));
  }
  if (options.renew_deadline <= kJitterFactor * options.retry_period) {
    errors.push_back(absl::StrCat("renew deadline ", absl::FormatDuration(options.renew_deadline),
                                  " must be longer than ", kJitterFactor, " times retry period ",
                                  absl::FormatDuration(options.retry_period)));
  }
  return errors.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

struct Lease::State {
  State(LeaseOptions o, KubeApi* a, const Clock* c)
      : options(std::move(o)), api(a), clock(c), time(c), wall(c->TimeNow()) {}

  // When an attempt began, and how often the clock had been set back by then.
  struct Start {
    absl::Time at;
    int jumps = 0;
  };

  absl::Time Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool DeadlinePassed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  absl::Status TryOnce(const Start& began);
  absl::Status Renew(const Start& began);
  absl::Status ReadAndTry(const Start& began);
  absl::Status ReleaseOnce(const Json& lease);

  // What this process writes into `lease`.
  Json Claim(Json lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Observe(Json lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Won(Json lease, const Start& began) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Time ObservedEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Duration NextWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  const LeaseOptions options;
  KubeApi* const api;
  const Clock* const clock;

  // Taken by Step and Release for their whole time, before `mu`: one attempt at a time.
  Mutex attempt;

  Mutex mu;
  ForwardTime time ABSL_GUARDED_BY(mu);
  absl::Time wall ABSL_GUARDED_BY(mu);  // as last read
  Role role ABSL_GUARDED_BY(mu) = Role::kFollower;
  Json observed ABSL_GUARDED_BY(mu);                                   // the lease as last seen; null: none
  absl::Time observed_at ABSL_GUARDED_BY(mu) = absl::InfinitePast();   // its record, first
  Start renewed ABSL_GUARDED_BY(mu) = {absl::InfinitePast(), 0};       // when the last attempt that worked began
  int jumps ABSL_GUARDED_BY(mu) = 0;                                   // of the clock, backwards
  absl::Time leader_since ABSL_GUARDED_BY(mu) = absl::InfinitePast();  // by the clock
  absl::Status health ABSL_GUARDED_BY(mu) = absl::UnavailableError("the lease has not been read yet");
};

absl::Time Lease::State::Now() {
  const absl::Time read = clock->TimeNow();
  if (read < wall) ++jumps;
  wall = read;
  return time.Now();
}

bool Lease::State::DeadlinePassed() { return Now() >= renewed.at + options.renew_deadline; }

Json Lease::State::Claim(Json lease) {
  const std::string now = MicroTime(clock->TimeNow());
  Json& spec = lease.as_object()["spec"];
  if (!spec.is_object()) spec = JsonObject();
  JsonObject& record = spec.as_object();
  const bool held = StringAt(lease, {"spec", "holderIdentity"}) == options.identity;
  const bool created = Find(lease, {"metadata", "resourceVersion"}) == nullptr;
  if (!held) {
    const int64_t transitions = IntAt(lease, "leaseTransitions");
    record["acquireTime"] = now;
    record["leaseTransitions"] = created ? 0 : transitions + 1;
  }
  record["holderIdentity"] = options.identity;
  record["leaseDurationSeconds"] = Seconds(options.duration);
  record["renewTime"] = now;
  return lease;
}

void Lease::State::Observe(Json lease) {
  const absl::Time now = Now();
  const Json* before = Find(observed, {"spec"});
  const Json* after = Find(lease, {"spec"});
  const bool same = before != nullptr && after != nullptr && *before == *after;
  if (!same) observed_at = now;
  observed = std::move(lease);
}

void Lease::State::Won(Json lease, const Start& began) {
  Observe(std::move(lease));
  if (role == Role::kFollower) {
    role = Role::kLeader;
    leader_since = clock->TimeNow();
  }
  renewed = began;
}

// Until when the holder may rely on the record, counted from its first sight.
absl::Time Lease::State::ObservedEnd() const {
  if (observed.is_null() || StringAt(observed, {"spec", "holderIdentity"}).empty()) return absl::InfinitePast();
  const int64_t seconds = IntAt(observed, "leaseDurationSeconds");
  return observed_at + (seconds > 0 ? absl::Seconds(seconds) : options.duration);
}

absl::Status Lease::State::Renew(const Start& began) {
  Json claim;
  {
    MutexLock lock(&mu);
    claim = Claim(observed);
  }
  absl::StatusOr<Json> updated = api->Update(Leases(), Subresource::kNone, claim);
  KQ_RETURN_IF_ERROR(WithContext(updated.status(), "renew lease"));
  MutexLock lock(&mu);
  Won(*std::move(updated), began);
  return absl::OkStatus();
}

absl::Status Lease::State::ReadAndTry(const Start& began) {
  absl::StatusOr<Json> found = api->Get(Leases(), options.key);
  if (absl::IsNotFound(found.status())) {
    Json claim;
    {
      MutexLock lock(&mu);
      claim = Claim({{"apiVersion", "coordination.k8s.io/v1"},
                     {"kind", "Lease"},
                     {"metadata", {{"namespace", options.key.ns}, {"name", options.key.name}}}});
    }
    absl::StatusOr<Json> created = api->Create(Leases(), options.key.ns, claim);
    if (absl::IsAlreadyExists(created.status())) return absl::AbortedError("create lease: another one was faster");
    KQ_RETURN_IF_ERROR(WithContext(created.status(), "create lease"));
    MutexLock lock(&mu);
    Won(*std::move(created), began);
    return absl::OkStatus();
  }
  KQ_RETURN_IF_ERROR(WithContext(found.status(), "read lease"));
  {
    MutexLock lock(&mu);
    Observe(*std::move(found));
    const std::string holder = StringAt(observed, {"spec", "holderIdentity"});
    if (role == Role::kLeader && holder != options.identity) {
      role = Role::kLost;
      return absl::FailedPreconditionError(absl::StrCat("the lease is held by ", holder.empty() ? "nobody" : holder));
    }
    if (holder != options.identity && Now() < ObservedEnd()) return absl::OkStatus();
  }
  return Renew(began);
}

// The holder writes over what it wrote last. Whoever does not hold it, whose write
// came too late or whose answer was lost, reads first.
absl::Status Lease::State::TryOnce(const Start& began) {
  bool leads = false;
  {
    MutexLock lock(&mu);
    leads = role == Role::kLeader;
  }
  absl::Status status = leads ? Renew(began) : ReadAndTry(began);
  for (int i = 0; i < kTries; ++i) {
    const bool read = absl::IsAborted(status) || absl::IsNotFound(status) || OutcomeUnknown(status);
    if (!read) break;
    status = ReadAndTry(began);
  }
  return status;
}

absl::Duration Lease::State::NextWait() {
  const absl::Time now = Now();
  if (role == Role::kLeader) {
    return health.ok()
               ? options.retry_period
               : std::clamp(renewed.at + options.renew_deadline - now, absl::ZeroDuration(), options.retry_period);
  }
  // Twice as often as the holder renews, and when its time is up.
  const absl::Duration poll = options.retry_period / 2;
  return ObservedEnd() > now ? std::min(poll, ObservedEnd() - now) : poll;
}

Lease::Lease(LeaseOptions options, KubeApi* api, const Clock* clock)
    : state_(std::make_unique<State>(std::move(options), api, clock)) {}
Lease::~Lease() = default;

absl::Duration Lease::Step() {
  MutexLock attempt(&state_->attempt);
  State::Start began;
  {
    MutexLock lock(&state_->mu);
    began = {state_->Now(), state_->jumps};
    if (state_->role == Role::kLost || state_->role == Role::kReleased) return state_->options.retry_period;
  }
  const absl::Status status = state_->TryOnce(began);
  MutexLock lock(&state_->mu);
  if (!status.ok() && status != state_->health) {
    KQ_LOG(Warning, "The lease cannot be taken or renewed", {{"err", status}});
  }
  state_->health = status;
  if (state_->role == Role::kLeader && !status.ok() && state_->DeadlinePassed()) state_->role = Role::kLost;
  return state_->NextWait();
}

absl::Status Lease::State::ReleaseOnce(const Json& lease) {
  Json free = lease;
  const std::string now = MicroTime(clock->TimeNow());
  JsonObject& record = free.as_object()["spec"].as_object();
  record["holderIdentity"] = "";
  record["leaseDurationSeconds"] = 1;
  record["renewTime"] = now;
  record["acquireTime"] = now;
  absl::StatusOr<Json> updated = api->Update(Leases(), Subresource::kNone, free);
  KQ_RETURN_IF_ERROR(WithContext(updated.status(), "release lease"));
  MutexLock lock(&mu);
  Observe(*std::move(updated));
  return absl::OkStatus();
}

absl::Status Lease::Release() {
  MutexLock attempt(&state_->attempt);
  Json lease;
  {
    MutexLock lock(&state_->mu);
    const bool led = state_->role == Role::kLeader;
    if (state_->role != Role::kLost) state_->role = Role::kReleased;
    if (!led) return absl::OkStatus();
    lease = state_->observed;
  }
  absl::Status status = state_->ReleaseOnce(lease);
  for (int i = 0; i < kTries && (absl::IsAborted(status) || OutcomeUnknown(status)); ++i) {
    const absl::StatusOr<Json> found = state_->api->Get(Leases(), state_->options.key);
    if (!found.ok()) return WithContext(found.status(), "read lease");
    if (StringAt(*found, {"spec", "holderIdentity"}) != state_->options.identity) return absl::OkStatus();
    status = state_->ReleaseOnce(*found);
  }
  return status;
}

Lease::Role Lease::role() const {
  MutexLock lock(&state_->mu);
  return state_->role;
}

bool Lease::MayWrite() const {
  MutexLock lock(&state_->mu);
  // If the clock was set back meanwhile, nobody knows how long ago the renewal was.
  return state_->role == Role::kLeader && !state_->DeadlinePassed() && state_->jumps == state_->renewed.jumps;
}

std::string Lease::Holder() const {
  MutexLock lock(&state_->mu);
  return StringAt(state_->observed, {"spec", "holderIdentity"});
}

const std::string& Lease::identity() const { return state_->options.identity; }

absl::Time Lease::LeaderSince() const {
  MutexLock lock(&state_->mu);
  return state_->leader_since;
}

absl::Status Lease::Health() const {
  MutexLock lock(&state_->mu);
  return state_->health;
}

std::string NewLeaseIdentity(const std::string& host) {
  std::random_device random;
  uint32_t words[4];
  for (uint32_t& word : words) word = random();
  // The bits that make it a random UUID (RFC 9562, version 4).
  return absl::StrFormat("%s_%08x-%04x-4%03x-%04x-%04x%08x", host, words[0], words[1] >> 16, words[1] & 0xfff,
                         0x8000 | (words[2] >> 18), words[2] & 0xffff, words[3]);
}

bool LooksLikeOurs(const std::string& holder) {
  const size_t at = holder.rfind('_');
  return IsUuid(at == std::string::npos ? holder : holder.substr(at + 1)) && at != 0;
}

}  // namespace kq
