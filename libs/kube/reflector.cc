#include "libs/kube/reflector.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

// How long Run lets one Next wait; Stop ends it earlier.
constexpr absl::Duration kWatchPatience = absl::Seconds(30);
// A watch that ended sooner than this and brought nothing is an error, not an end.
constexpr absl::Duration kShortWatch = absl::Seconds(1);

uint64_t SeedOrChance(uint64_t seed) { return seed != 0 ? seed : std::random_device()(); }

}  // namespace

struct Reflector::State {
  State(ReflectorOptions o, KubeApi* a, const Clock* c, ReflectorSink* s)
      : options(std::move(o)), api(a), clock(c), sink(s), random(SeedOrChance(options.seed)) {}

  // An object that the sink has been told of.
  struct Known {
    std::string uid;
    int64_t list = 0;  // the list that last had it
  };

  absl::Duration ListPage();
  absl::Duration FinishList();
  absl::Duration OpenWatch();
  absl::Duration TakeEvent(absl::Duration timeout);
  absl::Duration EndWatch(const absl::Status& why);
  absl::Duration Expired(const absl::Status& why);
  bool WatchWorked() const { return watch_was_useful || clock->TimeNow() - watch_since >= kShortWatch; }

  // False: the sink is full.
  bool Upsert(const Json& object, int64_t list);
  bool Remove(const Json& object);
  void TellBroken(const BrokenObject& object);
  bool Handle(const WatchEvent& event);

  // From the start, on the next Step.
  void ListAgain();
  void DropStream();
  // Notes an error of doing `what` and returns the backoff.
  absl::Duration Fail(const absl::Status& why, absl::string_view what);
  absl::Duration NextDelay();
  void SetHealthy();

  const ReflectorOptions options;
  KubeApi* const api;
  const Clock* const clock;
  ReflectorSink* const sink;

  // Only touched by the thread that calls Step.
  std::mt19937_64 random;
  int failures = 0;  // since a watch last worked
  bool listing = true;
  int64_t list = 1;  // number of the list that runs or ran last
  std::string continue_token;
  uint64_t list_version = 0;  // of the first page
  uint64_t version = 0;       // everything up to it has been delivered
  absl::flat_hash_map<ObjectKey, Known> known;
  absl::Time watch_since;
  bool watch_was_useful = false;
  bool expired = false;  // since a watch last worked

  mutable Mutex mu;
  CondVar stop_requested;
  bool stopped ABSL_GUARDED_BY(mu) = false;
  bool synced ABSL_GUARDED_BY(mu) = false;
  absl::Status health ABSL_GUARDED_BY(mu) = absl::UnavailableError("nothing has been listed yet");
  Counts counts ABSL_GUARDED_BY(mu);
  // Replaced by the thread that calls Step alone, which may use it without `mu`.
  std::unique_ptr<WatchStream> stream;
};

void Reflector::State::SetHealthy() {
  MutexLock lock(&mu);
  health = absl::OkStatus();
}

absl::Duration Reflector::State::NextDelay() {
  return options.backoff.Delay(failures++, std::uniform_real_distribution<double>(0, 1)(random));
}

absl::Duration Reflector::State::Fail(const absl::Status& why, absl::string_view what) {
  {
    MutexLock lock(&mu);
    ++counts.errors;
    health = WithContext(why, absl::StrCat(what, " ", options.resource.ToString()));
  }
  absl::Duration delay = NextDelay();
  if (const std::optional<absl::Duration> asked = RetryAfter(why)) delay = std::max(delay, *asked);
  return delay;
}

void Reflector::State::DropStream() {
  std::unique_ptr<WatchStream> old;
  MutexLock lock(&mu);
  old = std::exchange(stream, nullptr);
}

void Reflector::State::ListAgain() {
  DropStream();
  listing = true;
  ++list;
  continue_token.clear();
}

bool Reflector::State::Upsert(const Json& object, int64_t in_list) {
  const ObjectKey key = KeyOf(object);
  const std::string uid = UidOf(object);
  const uint64_t at = VersionOf(object);
  if (key.name.empty() || uid.empty() || at == 0) {
    sink->Broken(absl::InvalidArgumentError(absl::StrCat(options.resource.ToString(), " ", key.ToString(),
                                                         ": metadata without name, uid or resourceVersion")));
    // It is still there: a list that has it must not report it removed.
    if (const auto found = known.find(key); found != known.end() && in_list != 0) found->second.list = in_list;
    return true;
  }
  const auto found = known.find(key);
  if (found != known.end() && found->second.uid != uid) {
    // Deleted and created again in between: the old one went before this one came.
    if (!sink->Removed(key, found->second.uid, at - 1)) return false;
    known.erase(found);
  }
  if (!sink->Upserted(object)) return false;
  Known& entry = known[key];
  entry.uid = uid;
  if (in_list != 0) entry.list = in_list;
  return true;
}

bool Reflector::State::Remove(const Json& object) {
  const ObjectKey key = KeyOf(object);
  if (!sink->Removed(key, UidOf(object), VersionOf(object))) return false;
  if (const auto found = known.find(key); found != known.end() && found->second.uid == UidOf(object)) {
    known.erase(found);
  }
  return true;
}

void Reflector::State::TellBroken(const BrokenObject& object) {
  sink->Broken(WithContext(object.why, absl::StrCat("list ", options.resource.ToString(), " ", object.key.ToString())));
  // It is still there, so this list must not report it removed.
  if (object.key.name.empty()) {
    for (auto& [key, entry] : known) entry.list = list;
  } else if (const auto found = known.find(object.key); found != known.end()) {
    found->second.list = list;
  }
  MutexLock lock(&mu);
  ++counts.errors;
}

absl::Duration Reflector::State::ListPage() {
  const bool first = continue_token.empty();
  absl::StatusOr<kq::ListPage> page = api->List({options.resource, options.ns, options.label_selector,
                                                 options.field_selector, options.page_size, continue_token});
  if (!page.ok()) {
    const absl::Duration delay = Fail(page.status(), "list");
    // The pages so far belong to a list that cannot be finished.
    if (absl::IsOutOfRange(page.status())) ListAgain();
    return delay;
  }
  SetHealthy();
  if (first) list_version = page->version;
  for (const Json& item : page->items) {
    if (!Upsert(item, list)) {
      ListAgain();
      return NextDelay();
    }
  }
  for (const BrokenObject& object : page->broken) TellBroken(object);
  continue_token = page->continue_token;
  return continue_token.empty() ? FinishList() : absl::ZeroDuration();
}

// All pages are in: what was known and is in none of them has gone.
absl::Duration Reflector::State::FinishList() {
  std::vector<ObjectKey> gone;
  for (const auto& [key, entry] : known) {
    if (entry.list != list) gone.push_back(key);
  }
  std::sort(gone.begin(), gone.end());
  for (const ObjectKey& key : gone) {
    if (!sink->Removed(key, known[key].uid, list_version)) {
      ListAgain();
      return NextDelay();
    }
    known.erase(key);
  }
  version = list_version;
  listing = false;
  sink->Listed(version);
  MutexLock lock(&mu);
  synced = true;
  ++counts.lists;
  return absl::ZeroDuration();
}

absl::Duration Reflector::State::OpenWatch() {
  absl::StatusOr<std::unique_ptr<WatchStream>> opened =
      api->Watch({options.resource, options.ns, options.label_selector, options.field_selector, version});
  if (!opened.ok()) {
    if (absl::IsOutOfRange(opened.status())) return Expired(opened.status());
    const absl::Duration delay = Fail(opened.status(), "watch");
    // The resource itself went; the list will say when it is back.
    if (absl::IsNotFound(opened.status())) ListAgain();
    return delay;
  }
  watch_since = clock->TimeNow();
  watch_was_useful = false;
  MutexLock lock(&mu);
  stream = *std::move(opened);
  ++counts.watches;
  health = absl::OkStatus();
  if (stopped) stream->Cancel();
  return absl::ZeroDuration();
}

bool Reflector::State::Handle(const WatchEvent& event) {
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      return Upsert(event.object, 0);
    case WatchEvent::Type::kDeleted:
      return Remove(event.object);
    case WatchEvent::Type::kBookmark:
      return true;
  }
  return true;
}

absl::Duration Reflector::State::TakeEvent(absl::Duration timeout) {
  absl::StatusOr<std::optional<WatchEvent>> event = stream->Next(timeout);
  if (!event.ok()) {
    if (!absl::IsInvalidArgument(event.status())) return EndWatch(event.status());
    watch_was_useful = true;
    sink->Broken(event.status());
    MutexLock lock(&mu);
    ++counts.errors;
    return absl::ZeroDuration();
  }
  if (event->has_value()) watch_was_useful = true;
  if (WatchWorked()) {
    failures = 0;
    expired = false;
  }
  if (!event->has_value()) return absl::ZeroDuration();
  if (!Handle(**event)) {
    ListAgain();
    return NextDelay();
  }
  version = std::max(version, VersionOf((*event)->object));
  MutexLock lock(&mu);
  ++counts.events;
  return absl::ZeroDuration();
}

absl::Duration Reflector::State::EndWatch(const absl::Status& why) {
  const bool worked = WatchWorked();
  if (worked) {
    failures = 0;
    expired = false;
  }
  if (absl::IsOutOfRange(why)) return Expired(why);
  DropStream();
  // The server ends every watch from time to time, and Stop ends the last: no error.
  if (absl::IsCancelled(why) || worked) return absl::ZeroDuration();
  return Fail(why, "watch");
}

// A list is the cure, so it is due at once, also after failures; if the last list
// has not cured it, after a backoff.
absl::Duration Reflector::State::Expired(const absl::Status& why) {
  ListAgain();
  return std::exchange(expired, true) ? Fail(why, "watch") : absl::ZeroDuration();
}

Reflector::Reflector(ReflectorOptions options, KubeApi* api, const Clock* clock, ReflectorSink* sink)
    : state_(std::make_unique<State>(std::move(options), api, clock, sink)) {}
Reflector::~Reflector() = default;

absl::Duration Reflector::Step(absl::Duration timeout) {
  if (state_->listing) return state_->ListPage();
  if (state_->stream == nullptr) return state_->OpenWatch();
  return state_->TakeEvent(timeout);
}

void Reflector::Run() {
  for (;;) {
    {
      MutexLock lock(&state_->mu);
      if (state_->stopped) return;
    }
    const absl::Duration delay = Step(kWatchPatience);
    if (delay <= absl::ZeroDuration()) continue;
    MutexLock lock(&state_->mu);
    if (!state_->stopped) state_->stop_requested.WaitFor(&state_->mu, delay);
  }
}

void Reflector::Stop() {
  MutexLock lock(&state_->mu);
  state_->stopped = true;
  if (state_->stream != nullptr) state_->stream->Cancel();
  state_->stop_requested.SignalAll();
}

bool Reflector::Synced() const {
  MutexLock lock(&state_->mu);
  return state_->synced;
}

absl::Status Reflector::Health() const {
  MutexLock lock(&state_->mu);
  return state_->health;
}

Reflector::Counts Reflector::Totals() const {
  MutexLock lock(&state_->mu);
  return state_->counts;
}

}  // namespace kq
