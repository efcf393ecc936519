#include "libs/kube/events.h"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/common/backoff.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"
#include "libs/common/token_bucket.h"
#include "libs/kube/forward_time.h"

namespace kq {
namespace {

constexpr size_t kMessageLimitBytes = 1024;
constexpr size_t kReasonLimitBytes = 128;
constexpr size_t kNameLimitBytes = 253;
constexpr char kEllipsis[] = "…";
constexpr int kMaxAttempts = 12;
constexpr Backoff kBackoff{absl::Milliseconds(500), absl::Seconds(30), 0};
// How long Run and Drain wait at most before they look again.
constexpr absl::Duration kPatience = absl::Seconds(1);

const KubeResource& Events() {
  static const KubeResource* const resource = new KubeResource{"", "v1", "events"};
  return *resource;
}

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

// At most `limit` bytes; what was cut ends in an ellipsis and not within a character.
std::string Cut(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit - (sizeof(kEllipsis) - 1);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), kEllipsis);
}

// "<object>.<hex>", a valid name also for the longest object name.
std::string EventName(const std::string& object, uint64_t number) {
  const std::string suffix = absl::StrFormat(".%x", number);
  std::string stem = object.substr(0, kNameLimitBytes - suffix.size());
  while (!stem.empty() && (stem.back() == '.' || stem.back() == '-')) stem.pop_back();
  return stem + suffix;
}

// Equal keys are the same event again.
std::string KeyOf(const ObjectReference& object, EventType type, absl::string_view reason, absl::string_view message) {
  const char* separator = "\x1f";
  return absl::StrCat(object.kind, separator, object.key.ns, separator, object.key.name, separator, object.uid,
                      separator, type == EventType::kWarning, separator, reason, separator, message);
}

// One event: what it says and how far it is known to the server.
struct Entry {
  ObjectReference object;
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
  std::string name;
  absl::Time first, last;  // by the clock
  absl::Time seen;         // by ForwardTime
  int64_t count = 1;
  bool waiting = false;  // it is in the queue
  bool in_flight = false;
  bool again = false;    // it happened again while it was in flight
  bool created = false;  // perhaps: the answer may have been lost
  int attempts = 0;

  std::string ns() const { return object.key.ns.empty() ? "default" : object.key.ns; }
};
using EntryPtr = std::shared_ptr<Entry>;

Json EventObject(const Entry& entry, const EventOptions& options) {
  JsonObject involved = {
      {"apiVersion", entry.object.api_version}, {"kind", entry.object.kind}, {"name", entry.object.key.name}};
  if (!entry.object.key.ns.empty()) involved["namespace"] = entry.object.key.ns;
  if (!entry.object.uid.empty()) involved["uid"] = entry.object.uid;
  if (entry.object.version != 0) involved["resourceVersion"] = absl::StrCat(entry.object.version);
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", entry.name}, {"namespace", entry.ns()}}},
          {"involvedObject", std::move(involved)},
          {"reason", entry.reason},
          {"message", entry.message},
          {"type", entry.type == EventType::kWarning ? "Warning" : "Normal"},
          {"source", {{"component", options.component}, {"host", options.host}}},
          {"reportingComponent", options.component},
          {"reportingInstance", options.host},
          {"firstTimestamp", TimeText(entry.first)},
          {"lastTimestamp", TimeText(entry.last)},
          {"count", entry.count}};
}

// The newest `limit` values by key; the one that was longest unused goes first.
template <typename Value>
class Recent {
 public:
  explicit Recent(size_t limit) : limit_(limit) {}

  // Null if it is not remembered.
  Value* Lookup(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    values_.splice(values_.end(), values_, found->second);
    return &found->second->second;
  }
  Value* Put(const std::string& key, Value value) {
    Forget(key);
    values_.emplace_back(key, std::move(value));
    places_[key] = std::prev(values_.end());
    if (values_.size() > limit_ && values_.size() > 1) Forget(std::string(values_.front().first));
    return &values_.back().second;
  }
  void Forget(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    values_.erase(found->second);
    places_.erase(found);
  }

 private:
  const size_t limit_;
  std::list<std::pair<std::string, Value>> values_;
  absl::flat_hash_map<std::string, typename std::list<std::pair<std::string, Value>>::iterator> places_;
};

}  // namespace

struct EventRecorder::State {
  State(EventOptions o, KubeApi* a, const Clock* c)
      : options(std::move(o)),
        api(a),
        clock(c),
        time(c),
        rate(options.per_second > 0 ? options.per_second : 1, std::max(1, options.burst)),
        recent(options.remembered),
        object_rates(options.remembered) {}

  bool ObjectMayWrite(const ObjectReference& object, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Enqueue(EntryPtr entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  EntryPtr Take(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Time NextDue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::string NewName(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Settle(const EntryPtr& entry, const absl::Status& status, bool was_created) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Retry(const EntryPtr& entry, absl::Duration delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void GiveUp(const EntryPtr& entry, int64_t* count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  const EventOptions options;
  KubeApi* const api;
  const Clock* const clock;

  Mutex mu;
  CondVar changed;
  ForwardTime time ABSL_GUARDED_BY(mu);
  TokenBucket rate ABSL_GUARDED_BY(mu);
  std::deque<EntryPtr> queue ABSL_GUARDED_BY(mu);
  absl::Time not_before ABSL_GUARDED_BY(mu) = absl::InfinitePast();  // the server asked for a pause
  Recent<EntryPtr> recent ABSL_GUARDED_BY(mu);
  Recent<TokenBucket> object_rates ABSL_GUARDED_BY(mu);
  int in_flight ABSL_GUARDED_BY(mu) = 0;
  uint64_t names ABSL_GUARDED_BY(mu) = 0;
  bool stopped ABSL_GUARDED_BY(mu) = false;
  Totals totals ABSL_GUARDED_BY(mu);
};

bool EventRecorder::State::ObjectMayWrite(const ObjectReference& object, absl::Time now) {
  if (options.object_interval <= absl::ZeroDuration()) return true;
  const std::string key = absl::StrCat(object.kind, "\x1f", object.key.ns, "\x1f", object.key.name, "\x1f", object.uid);
  TokenBucket* bucket = object_rates.Lookup(key);
  if (bucket == nullptr) {
    const double per_second = 1 / absl::ToDoubleSeconds(options.object_interval);
    bucket = object_rates.Put(key, TokenBucket(per_second, std::max(1, options.object_burst)));
  }
  return bucket->TryTake(now);
}

void EventRecorder::State::Enqueue(EntryPtr entry) {
  entry->waiting = true;
  queue.push_back(std::move(entry));
  ++totals.waiting;
  changed.SignalAll();
}

std::string EventRecorder::State::NewName(const Entry& entry) {
  return EventName(entry.object.key.name, static_cast<uint64_t>(absl::ToUnixNanos(clock->TimeNow())) + ++names);
}

absl::Time EventRecorder::State::NextDue(absl::Time now) {
  if (queue.empty()) return absl::InfiniteFuture();
  return std::max(not_before, options.per_second > 0 ? rate.NextFree(now) : now);
}

EntryPtr EventRecorder::State::Take(absl::Time now) {
  if (queue.empty() || now < not_before) return nullptr;
  if (options.per_second > 0 && !rate.TryTake(now)) return nullptr;
  EntryPtr entry = std::move(queue.front());
  queue.pop_front();
  --totals.waiting;
  entry->waiting = false;
  entry->in_flight = true;
  ++in_flight;
  return entry;
}

void EventRecorder::State::Retry(const EntryPtr& entry, absl::Duration delay) {
  ++entry->attempts;
  entry->again = false;  // the write that follows tells it
  entry->waiting = true;
  not_before = std::max(not_before, time.Now() + delay);
  queue.push_front(entry);
  ++totals.waiting;
}

// The next equal event begins anew.
void EventRecorder::State::GiveUp(const EntryPtr& entry, int64_t* count) {
  ++*count;
  entry->again = false;
  recent.Forget(KeyOf(entry->object, entry->type, entry->reason, entry->message));
}

void EventRecorder::State::Settle(const EntryPtr& entry, const absl::Status& status, bool was_created) {
  entry->in_flight = false;
  --in_flight;
  if (status.ok()) {
    ++totals.written;
    entry->created = true;
    entry->attempts = 0;
  } else if (absl::IsUnavailable(status) && entry->attempts < kMaxAttempts && !stopped) {
    Retry(entry, RetryAfter(status).value_or(kBackoff.Delay(entry->attempts)));
  } else if (absl::IsNotFound(status) && was_created && entry->attempts < kMaxAttempts && !stopped) {
    // Somebody deleted the event, or its time to live ran out.
    entry->created = false;
    entry->name = NewName(*entry);
    Retry(entry, absl::ZeroDuration());
  } else if (absl::IsNotFound(status)) {
    GiveUp(entry, &totals.dropped);  // the namespace is gone
  } else if (absl::IsAlreadyExists(status) && entry->attempts < kMaxAttempts && !stopped) {
    entry->name = NewName(*entry);
    Retry(entry, absl::ZeroDuration());
  } else if (OutcomeUnknown(status)) {
    // Not worth a question. If it happens again, the patch will find it or not.
    ++totals.failed;
    entry->created = true;
  } else {
    GiveUp(entry, &totals.failed);
  }
  if (entry->again && !entry->waiting && !stopped) {
    entry->again = false;
    Enqueue(entry);
  }
  changed.SignalAll();
}

EventRecorder::EventRecorder(EventOptions options, KubeApi* api, const Clock* clock)
    : state_(std::make_unique<State>(std::move(options), api, clock)) {}
EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const ObjectReference& object, EventType type, absl::string_view reason,
                           absl::string_view message) {
  const std::string short_reason = Cut(reason, kReasonLimitBytes);
  const std::string short_message = Cut(message, kMessageLimitBytes);
  const std::string key = KeyOf(object, type, short_reason, short_message);
  MutexLock lock(&state_->mu);
  const absl::Time now = state_->time.Now();
  if (state_->stopped) {
    ++state_->totals.dropped;
    return;
  }
  EntryPtr* found = state_->recent.Lookup(key);
  if (found != nullptr && now - (*found)->seen < state_->options.aggregation) {
    Entry& entry = **found;
    ++entry.count;
    entry.last = state_->clock->TimeNow();
    entry.seen = now;
    ++state_->totals.aggregated;
    // Without a write left for this object the count goes out with a later one.
    if (entry.waiting || !state_->ObjectMayWrite(object, now)) return;
    if (entry.in_flight) {
      entry.again = true;
    } else if (state_->queue.size() < state_->options.limit) {
      state_->Enqueue(*found);
    }
    return;
  }
  if (state_->queue.size() >= state_->options.limit || !state_->ObjectMayWrite(object, now)) {
    ++state_->totals.dropped;
    return;
  }
  auto entry = std::make_shared<Entry>();
  entry->object = object;
  entry->type = type;
  entry->reason = short_reason;
  entry->message = short_message;
  entry->first = entry->last = state_->clock->TimeNow();
  entry->seen = now;
  entry->name = state_->NewName(*entry);
  state_->recent.Put(key, entry);
  state_->Enqueue(std::move(entry));
}

bool EventRecorder::Step(absl::Duration timeout) {
  EntryPtr entry;
  Entry copy;
  {
    MutexLock lock(&state_->mu);
    absl::Time now = state_->time.Now();
    const absl::Time give_up = now + timeout;
    while ((entry = state_->Take(now)) == nullptr) {
      if (state_->stopped || now >= give_up) return false;
      state_->changed.WaitFor(&state_->mu, std::min(std::min(give_up, state_->NextDue(now)) - now, kPatience));
      now = state_->time.Now();
    }
    copy = *entry;
  }
  absl::Status status;
  if (copy.created) {
    const Json patch = {{"count", copy.count}, {"lastTimestamp", TimeText(copy.last)}};
    status =
        state_->api->Patch({Events(), {copy.ns(), copy.name}, Subresource::kNone, PatchType::kMerge, patch}).status();
  } else {
    status = state_->api->Create(Events(), copy.ns(), EventObject(copy, state_->options)).status();
  }
  MutexLock lock(&state_->mu);
  state_->Settle(entry, status, copy.created);
  return true;
}

void EventRecorder::Run() {
  for (;;) {
    {
      MutexLock lock(&state_->mu);
      if (state_->stopped) return;
    }
    Step(kPatience);
  }
}

void EventRecorder::Drain(absl::Time deadline) {
  while (state_->clock->TimeNow() < deadline) {
    if (Step(absl::ZeroDuration())) continue;
    MutexLock lock(&state_->mu);
    if (state_->queue.empty() && state_->in_flight == 0) break;
    const absl::Time now = state_->time.Now();
    const absl::Duration wait = std::min(state_->NextDue(now) - now, deadline - state_->clock->TimeNow());
    state_->changed.WaitFor(&state_->mu, std::min(wait, kPatience));
  }
  MutexLock lock(&state_->mu);
  state_->stopped = true;
  state_->totals.dropped += static_cast<int64_t>(state_->queue.size());
  state_->totals.waiting = 0;
  for (const EntryPtr& entry : state_->queue) entry->waiting = false;
  state_->queue.clear();
  state_->changed.SignalAll();
}

EventRecorder::Totals EventRecorder::Now() const {
  MutexLock lock(&state_->mu);
  return state_->totals;
}

}  // namespace kq
