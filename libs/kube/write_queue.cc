#include "libs/kube/write_queue.h"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "libs/common/mutex.h"
#include "libs/common/token_bucket.h"
#include "libs/kube/conditional_patch.h"
#include "libs/kube/forward_time.h"

namespace kq {
namespace {

// Objects without a write of which the last version written is remembered.
constexpr size_t kRemembered = 20000;
// Versions that one chain of own writes keeps.
constexpr size_t kChainLimit = 64;
// How long Run and Drain wait at most before they look again.
constexpr absl::Duration kPatience = absl::Seconds(1);

// What makes an object one object: where it is.
using ObjectId = std::tuple<std::string, std::string, ObjectKey>;

ObjectId IdOf(const PatchRequest& patch) { return {patch.resource.group, patch.resource.plural, patch.key}; }

}  // namespace

struct WriteQueue::State {
  State(const WriteQueueOptions& o, KubeApi* a, const Clock* c)
      : options(o),
        api(a),
        clock(c),
        time(c),
        random(options.seed != 0 ? options.seed : std::random_device()()),
        advisory_rate(options.advisory_per_second > 0 ? options.advisory_per_second : 1,
                      std::max(1, options.advisory_burst)) {}

  // One write and how far it has come.
  struct Job {
    Write write;
    absl::Time due;
    uint64_t number = 0;   // of its Submit
    int attempts = 0;      // of this step that failed, for the backoff
    bool unknown = false;  // it was sent and its outcome is not known: the next step is to read
    // It was sent, resting on this version, and may still be on its way: only a
    // newer version of the object, ours or another's, rules that out.
    uint64_t may_land_on = 0;

    bool binding() const { return write.kind == Write::Kind::kBinding; }
    // Nobody may say that it was not written.
    bool sent() const { return unknown || may_land_on != 0; }
  };

  // The versions that our own writes led an object through: a write that rested
  // on one of them may rest on the newest.
  struct Chain {
    std::string uid;
    std::deque<uint64_t> rested_on;
    uint64_t newest = 0;
  };

  // All writes of one object. Unless one is on its way, the object is in the due
  // set of its next write or, without any, in the idle list.
  struct Object {
    std::deque<Job> first;  // binding ones, and reads after an unknown outcome
    std::optional<Job> advisory;
    bool in_flight = false;
    bool idle = false;
    std::list<ObjectId>::iterator idle_at;
    Chain chain;
  };
  using Due = std::set<std::tuple<absl::Time, uint64_t, ObjectId>>;

  Object* Lookup(const ObjectId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return objects.at(id).get(); }
  // Take the object out of due set or idle list before its writes change, and put it back after.
  void Unindex(const ObjectId& id, Object* object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Index(const ObjectId& id, Object* object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  void Add(Write write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void DropAdvisory(Object* object, int64_t* count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void DropAllAdvisory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::vector<Job> TakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  absl::Time AdvisoryDue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Time NextDue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::optional<std::pair<ObjectId, Job>> Take(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // Without the lock: they call the server or the submitter.
  void Send(const ObjectId& id, Job job);
  void Read(const ObjectId& id, Job job);
  void TryAgain(const ObjectId& id, Job job, const absl::Status& why);
  void Answer(const ObjectId& id, const Job& job, absl::StatusOr<Json> result);
  void AnswerUnwritten() ABSL_LOCKS_EXCLUDED(mu);

  uint64_t EffectiveVersion(const ObjectId& id, const Write& write);
  void Remember(const ObjectId& id, const Write& write, uint64_t rested_on, const absl::StatusOr<Json>& result);

  const WriteQueueOptions options;
  KubeApi* const api;
  const Clock* const clock;

  Mutex mu;
  CondVar changed;
  ForwardTime time ABSL_GUARDED_BY(mu);
  std::mt19937_64 random ABSL_GUARDED_BY(mu);
  TokenBucket advisory_rate ABSL_GUARDED_BY(mu);
  absl::flat_hash_map<ObjectId, std::unique_ptr<Object>> objects ABSL_GUARDED_BY(mu);
  Due first_due ABSL_GUARDED_BY(mu);
  Due advisory_due ABSL_GUARDED_BY(mu);
  std::list<ObjectId> idle ABSL_GUARDED_BY(mu);  // kept for their chain, longest idle first
  uint64_t submitted ABSL_GUARDED_BY(mu) = 0;
  bool draining ABSL_GUARDED_BY(mu) = false;
  bool stopped ABSL_GUARDED_BY(mu) = false;
  Totals totals ABSL_GUARDED_BY(mu);
  std::vector<Write> unwritten ABSL_GUARDED_BY(mu);  // advisory ones that were replaced or dropped, to be answered
};

void WriteQueue::State::Unindex(const ObjectId& id, Object* object) {
  if (object->in_flight) return;
  if (object->idle) {
    idle.erase(object->idle_at);
    object->idle = false;
  } else if (!object->first.empty()) {
    first_due.erase({object->first.front().due, object->first.front().number, id});
  } else if (object->advisory) {
    advisory_due.erase({object->advisory->due, object->advisory->number, id});
  }
}

void WriteQueue::State::Index(const ObjectId& id, Object* object) {
  if (object->in_flight) return;
  if (!object->first.empty()) {
    first_due.emplace(object->first.front().due, object->first.front().number, id);
  } else if (object->advisory) {
    advisory_due.emplace(object->advisory->due, object->advisory->number, id);
  } else {
    object->idle = true;
    object->idle_at = idle.insert(idle.end(), id);
    if (idle.size() > kRemembered) {
      objects.erase(idle.front());
      idle.pop_front();
    }
    return;
  }
  if (draining) {
    changed.SignalAll();  // Drain waits too
  } else {
    changed.Signal();
  }
}

void WriteQueue::State::Add(Write write) {
  const ObjectId id = IdOf(write.patch);
  auto found = objects.find(id);
  const bool advisory = write.kind == Write::Kind::kAdvisory;
  if (advisory && totals.advisory_waiting >= static_cast<int64_t>(options.advisory_limit) &&
      (found == objects.end() || !found->second->advisory)) {
    ++totals.dropped;
    unwritten.push_back(std::move(write));
    return;
  }
  if (found == objects.end()) {
    found = objects.emplace(id, std::make_unique<Object>()).first;
  } else {
    Unindex(id, found->second.get());
  }
  Object* object = found->second.get();
  Job job{std::move(write), time.Now(), ++submitted};
  if (advisory && object->advisory) {
    // It takes the place of the older one in the line, and its backoff.
    job.number = object->advisory->number;
    job.due = object->advisory->due;
    job.attempts = object->advisory->attempts;
  }
  DropAdvisory(object, &totals.replaced);
  if (advisory) {
    object->advisory = std::move(job);
    ++totals.advisory_waiting;
  } else {
    object->first.push_back(std::move(job));
    ++totals.binding_waiting;
  }
  Index(id, object);
}

void WriteQueue::State::DropAdvisory(Object* object, int64_t* count) {
  if (!object->advisory) return;
  unwritten.push_back(std::move(object->advisory->write));
  object->advisory.reset();
  --totals.advisory_waiting;
  ++*count;
}

void WriteQueue::State::DropAllAdvisory() {
  std::vector<ObjectId> ids;
  for (const auto& [id, object] : objects) {
    if (object->advisory) ids.push_back(id);
  }
  for (const ObjectId& id : ids) {
    Object* object = Lookup(id);
    Unindex(id, object);
    DropAdvisory(object, &totals.dropped);
    Index(id, object);
  }
}

std::vector<WriteQueue::State::Job> WriteQueue::State::TakeAll() {
  std::vector<ObjectId> ids;
  for (const auto& [id, object] : objects) {
    if (!object->first.empty()) ids.push_back(id);
  }
  std::vector<Job> jobs;
  for (const ObjectId& id : ids) {
    Object* object = Lookup(id);
    Unindex(id, object);
    for (Job& job : object->first) jobs.push_back(std::move(job));
    object->first.clear();
    Index(id, object);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.number < b.number; });
  totals.binding_waiting = 0;
  return jobs;
}

absl::Time WriteQueue::State::AdvisoryDue(absl::Time now) {
  if (advisory_due.empty()) return absl::InfiniteFuture();
  const absl::Time due = std::get<0>(*advisory_due.begin());
  return options.advisory_per_second > 0 ? std::max(due, advisory_rate.NextFree(now)) : due;
}

absl::Time WriteQueue::State::NextDue(absl::Time now) {
  const absl::Time first = first_due.empty() ? absl::InfiniteFuture() : std::get<0>(*first_due.begin());
  return std::min(first, AdvisoryDue(now));
}

std::optional<std::pair<ObjectId, WriteQueue::State::Job>> WriteQueue::State::Take(absl::Time now) {
  Due* from = nullptr;
  if (!first_due.empty() && std::get<0>(*first_due.begin()) <= now) {
    from = &first_due;
  } else if (AdvisoryDue(now) <= now && (options.advisory_per_second <= 0 || advisory_rate.TryTake(now))) {
    from = &advisory_due;
  } else {
    return std::nullopt;
  }
  const ObjectId id = std::get<2>(*from->begin());
  Object* object = Lookup(id);
  Unindex(id, object);
  Job job;
  if (from == &first_due) {
    job = std::move(object->first.front());
    object->first.pop_front();
    --totals.binding_waiting;
  } else {
    job = *std::exchange(object->advisory, std::nullopt);
    --totals.advisory_waiting;
  }
  object->in_flight = true;
  ++totals.in_flight;
  return std::make_pair(id, std::move(job));
}

uint64_t WriteQueue::State::EffectiveVersion(const ObjectId& id, const Write& write) {
  MutexLock lock(&mu);
  const Chain& chain = Lookup(id)->chain;
  const bool ours = chain.uid == write.uid &&
                    std::find(chain.rested_on.begin(), chain.rested_on.end(), write.based_on) != chain.rested_on.end();
  return ours ? chain.newest : write.based_on;
}

void WriteQueue::State::Remember(const ObjectId& id, const Write& write, uint64_t rested_on,
                                 const absl::StatusOr<Json>& result) {
  const absl::Status& status = result.status();
  // Refused: the object is as it was.
  if (!status.ok() && !absl::IsAborted(status) && !absl::IsNotFound(status) && !OutcomeUnknown(status)) return;
  MutexLock lock(&mu);
  Chain& chain = Lookup(id)->chain;
  const uint64_t produced = status.ok() ? VersionOf(*result) : 0;
  if (produced == 0 || rested_on == 0) {
    chain = Chain();
    return;
  }
  if (chain.uid != write.uid || chain.newest != rested_on) chain = Chain{write.uid, {}, rested_on};
  if (produced != rested_on) chain.rested_on.push_back(rested_on);
  if (chain.rested_on.size() > kChainLimit) chain.rested_on.pop_front();
  chain.newest = produced;
}

void WriteQueue::State::Send(const ObjectId& id, Job job) {
  PatchRequest patch = job.write.patch;
  const uint64_t version = job.may_land_on != 0 ? job.may_land_on : EffectiveVersion(id, job.write);
  patch.patch = ConditionalPatch(job.write.patch, job.write.uid, version);
  absl::StatusOr<Json> result = api->Patch(patch);
  if (absl::IsUnavailable(result.status())) return TryAgain(id, std::move(job), result.status());
  Remember(id, job.write, version, result);
  // A conflict after an unknown outcome may be with our own first try.
  const bool with_itself = absl::IsAborted(result.status()) && job.may_land_on != 0;
  if (OutcomeUnknown(result.status()) || with_itself) {
    job.unknown = true;
    job.attempts = 0;
    job.may_land_on = version;
    return TryAgain(id, std::move(job), result.status());
  }
  Answer(id, job, std::move(result));
}

void WriteQueue::State::Read(const ObjectId& id, Job job) {
  const PatchRequest& patch = job.write.patch;
  absl::StatusOr<Json> found = api->Get(patch.resource, patch.key);
  if (!found.ok() && !absl::IsNotFound(found.status())) return TryAgain(id, std::move(job), found.status());
  if (found.ok() && !job.write.uid.empty() && UidOf(*found) != job.write.uid) {
    found = absl::NotFoundError(
        absl::StrCat(patch.resource.ToString(), " ", patch.key.ToString(), ": another object has taken its name"));
  }
  if (found.ok() && job.may_land_on != 0 && VersionOf(*found) == job.may_land_on) {
    // Nothing has happened yet, but the first try may still land. The same write,
    // resting on the same version, settles it: at most one of the two takes effect.
    job.unknown = false;
    return TryAgain(id, std::move(job), absl::UnavailableError("not written yet"));
  }
  Answer(id, job, std::move(found));
}

// The same step again: at once for the first read, else after the backoff or
// what the server asked for.
void WriteQueue::State::TryAgain(const ObjectId& id, Job job, const absl::Status& why) {
  {
    MutexLock lock(&mu);
    Object* object = Lookup(id);
    const bool first_read = job.unknown && job.attempts == 0;
    const bool newer = object->advisory.has_value() || !object->first.empty();
    const bool drop = !job.binding() && !job.sent() && (newer || draining);
    if (drop || !stopped) {
      object->in_flight = false;
      --totals.in_flight;
      if (drop) {
        ++(newer ? totals.replaced : totals.dropped);
        unwritten.push_back(std::move(job.write));
      } else {
        ++(first_read ? totals.reread : totals.retried);
        absl::Duration delay;
        if (!first_read)
          delay = options.backoff.Delay(job.attempts, std::uniform_real_distribution<double>(0, 1)(random));
        if (const std::optional<absl::Duration> asked = RetryAfter(why)) delay = std::max(delay, *asked);
        job.due = time.Now() + delay;
        ++job.attempts;
        if (job.binding() || job.sent()) {
          object->first.push_front(std::move(job));
          ++totals.binding_waiting;
        } else {
          object->advisory = std::move(job);
          ++totals.advisory_waiting;
        }
      }
      Index(id, object);
      return;
    }
  }
  absl::Status outcome = job.sent() ? absl::UnknownError("shut down before the outcome was known")
                                    : absl::CancelledError("shut down before it was written");
  Answer(id, job, std::move(outcome));
}

void WriteQueue::State::Answer(const ObjectId& id, const Job& job, absl::StatusOr<Json> result) {
  const absl::Status status = result.status();
  // Before the next write of this object begins: its answers come in order.
  if (job.write.done) job.write.done(std::move(result));
  MutexLock lock(&mu);
  Object* object = Lookup(id);
  object->in_flight = false;
  --totals.in_flight;
  ++(status.ok() ? totals.made : totals.failed);
  if (absl::IsAborted(status)) ++totals.conflicts;
  Index(id, object);
  if (draining) changed.SignalAll();
}

// Tells the submitters of advisory writes that will not be made.
void WriteQueue::State::AnswerUnwritten() {
  std::vector<Write> writes;
  {
    MutexLock lock(&mu);
    writes.swap(unwritten);
  }
  for (Write& write : writes) {
    if (write.done) write.done(absl::CancelledError("replaced or dropped"));
  }
}

WriteQueue::WriteQueue(WriteQueueOptions options, KubeApi* api, const Clock* clock)
    : state_(std::make_unique<State>(options, api, clock)) {}

WriteQueue::~WriteQueue() { Drain(absl::InfinitePast()); }

void WriteQueue::Submit(Write write) {
  {
    MutexLock lock(&state_->mu);
    if (state_->draining) {
      state_->unwritten.push_back(std::move(write));
    } else {
      state_->Add(std::move(write));
    }
  }
  state_->AnswerUnwritten();
}

bool WriteQueue::Step(absl::Duration timeout) {
  std::optional<std::pair<ObjectId, State::Job>> next;
  {
    MutexLock lock(&state_->mu);
    absl::Time now = state_->time.Now();
    const absl::Time give_up = now + timeout;
    while (!(next = state_->Take(now))) {
      if (state_->stopped || now >= give_up) return false;
      const absl::Duration wait = std::min(give_up, state_->NextDue(now)) - now;
      state_->changed.WaitFor(&state_->mu, std::min(wait, kPatience));
      now = state_->time.Now();
    }
  }
  auto& [id, job] = *next;
  if (job.unknown) {
    state_->Read(id, std::move(job));
  } else {
    state_->Send(id, std::move(job));
  }
  state_->AnswerUnwritten();
  return true;
}

void WriteQueue::Run() {
  for (;;) {
    {
      MutexLock lock(&state_->mu);
      if (state_->stopped) return;
    }
    Step(kPatience);
  }
}

absl::Time WriteQueue::NextDue() const {
  MutexLock lock(&state_->mu);
  const absl::Time now = state_->time.Now();
  const absl::Time due = state_->NextDue(now);
  return due == absl::InfiniteFuture() ? due : state_->clock->TimeNow() + (due - now);
}

void WriteQueue::Drain(absl::Time deadline) {
  {
    MutexLock lock(&state_->mu);
    state_->draining = true;
    state_->DropAllAdvisory();
  }
  state_->AnswerUnwritten();
  while (state_->clock->TimeNow() < deadline) {
    if (Step(absl::ZeroDuration())) continue;
    MutexLock lock(&state_->mu);
    if (state_->totals.binding_waiting == 0 && state_->totals.in_flight == 0) break;
    const absl::Time now = state_->time.Now();
    const absl::Duration wait = std::min(state_->NextDue(now) - now, deadline - state_->clock->TimeNow());
    state_->changed.WaitFor(&state_->mu, std::min(wait, kPatience));
  }
  std::vector<State::Job> rest;
  {
    MutexLock lock(&state_->mu);
    state_->stopped = true;
    rest = state_->TakeAll();
    state_->totals.failed += static_cast<int64_t>(rest.size());
    state_->changed.SignalAll();
  }
  for (State::Job& job : rest) {
    if (!job.write.done) continue;
    job.write.done(job.sent() ? absl::UnknownError("shut down before the outcome was known")
                              : absl::CancelledError("shut down before it was written"));
  }
}

WriteQueue::Totals WriteQueue::Now() const {
  MutexLock lock(&state_->mu);
  return state_->totals;
}

}  // namespace kq
