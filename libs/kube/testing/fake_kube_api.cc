#include "libs/kube/testing/fake_kube_api.h"

#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/common/mutex.h"
#include "libs/common/status_macros.h"
#include "libs/kube/testing/selector.h"

namespace kq {
namespace {

// Of one client. Guarded by State::mu. Shared, because a fault function may count
// its calls and must not be copied for each.
struct Faults {
  std::shared_ptr<FakeFaults> calls;
  std::shared_ptr<FakeWatchFaults> watches;
};

template <typename Function>
std::shared_ptr<Function> Share(Function function) {
  return function ? std::make_shared<Function>(std::move(function)) : nullptr;
}

absl::Status StatusOf(const FakeFault& fault) {
  switch (fault.kind) {
    case FakeFault::Kind::kNone:
      return absl::OkStatus();
    case FakeFault::Kind::kConflict:
      return absl::AbortedError("the object has been modified; please apply your changes to the latest version");
    case FakeFault::Kind::kGone:
      return absl::OutOfRangeError("too old resource version");
    case FakeFault::Kind::kTooManyRequests: {
      absl::Status status = absl::UnavailableError("too many requests, please try again later");
      SetRetryAfter(&status, fault.retry_after);
      return status;
    }
    case FakeFault::Kind::kUnavailable:
      return absl::UnavailableError("the server is currently unable to handle the request");
    case FakeFault::Kind::kRefused:
      return absl::UnavailableError("connect: connection refused");
    case FakeFault::Kind::kInternal:
      return absl::UnknownError("an error on the server has prevented the request from succeeding");
    case FakeFault::Kind::kAnswerLost:
    case FakeFault::Kind::kRequestLost:
    case FakeFault::Kind::kLate:
      return absl::DeadlineExceededError("no answer in time");
  }
  return absl::InternalError("no such fault");
}

bool InRequest(const WatchRequest& request, const Selector& selector, const Json& object) {
  return (request.ns.empty() || KeyOf(object).ns == request.ns) && selector.Matches(object);
}

// What a watch with this request sees of a change: an object that begins to match
// is added, one that stops to is deleted. nullopt if it sees nothing.
std::optional<WatchEvent> Translate(const WatchRequest& request, const Selector& selector,
                                    const FakeStore::Change& change) {
  if (change.type == WatchEvent::Type::kBookmark) return WatchEvent{change.type, *change.object};
  const bool was = change.before != nullptr && InRequest(request, selector, *change.before);
  const bool is = change.type != WatchEvent::Type::kDeleted && InRequest(request, selector, *change.object);
  if (!was && !is) return std::nullopt;
  if (is) return WatchEvent{was ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded, *change.object};
  Json last = *change.before;
  last.as_object()["metadata"].as_object()["resourceVersion"] = absl::StrCat(change.version);
  return WatchEvent{WatchEvent::Type::kDeleted, std::move(last)};
}

}  // namespace

struct FakeKubeApi::State {
  explicit State(const FakeKubeApiOptions& o) : options(o), store(options.limits) {}

  const FakeKubeApiOptions options;
  Mutex mu;
  CondVar changed;
  FakeStore store ABSL_GUARDED_BY(mu);
  std::vector<std::function<void(FakeStore*)>> late ABSL_GUARDED_BY(mu);
  int64_t cuts ABSL_GUARDED_BY(mu) = 0;
  std::map<FakeCall::Verb, int64_t> calls ABSL_GUARDED_BY(mu);
};

class FakeKubeApi::Stream : public WatchStream {
 public:
  // Where in the history it begins, and how many cuts there were before it.
  struct Start {
    uint64_t index = 0;
    int64_t cuts = 0;
  };

  Stream(State* state, std::shared_ptr<Faults> faults, WatchRequest request, Selector selector, Start start)
      : state_(state),
        faults_(std::move(faults)),
        request_(std::move(request)),
        selector_(std::move(selector)),
        cuts_(start.cuts),
        next_(start.index) {}

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration timeout) override {
    const FakeWatchFault fault = Ask();
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(timeout);
    MutexLock lock(&state_->mu);
    for (;;) {
      if (cancelled_) return absl::CancelledError("the watch was cancelled");
      if (fault == FakeWatchFault::kGone) ended_ = absl::OutOfRangeError("too old resource version");
      if (fault == FakeWatchFault::kCut || cuts_ != state_->cuts) {
        if (ended_.ok()) ended_ = CutStatus();
      }
      if (!ended_.ok()) return ended_;
      if (fault != FakeWatchFault::kHold) {
        absl::StatusOr<std::optional<WatchEvent>> event = Take(fault);
        if (!event.ok() || event->has_value()) return event;
      }
      const auto left = deadline - std::chrono::steady_clock::now();
      if (!state_->options.streams_wait || left <= decltype(left)::zero()) return std::optional<WatchEvent>();
      state_->changed.WaitFor(&state_->mu, absl::FromChrono(left));
    }
  }

  void Cancel() override {
    MutexLock lock(&state_->mu);
    cancelled_ = true;
    state_->changed.SignalAll();
  }

 private:
  struct Pending {
    uint64_t index = 0;
    WatchEvent event;
  };

  FakeWatchFault Ask() {
    std::shared_ptr<FakeWatchFaults> ask;
    {
      MutexLock lock(&state_->mu);
      ask = faults_->watches;
    }
    return ask ? (*ask)(request_.resource) : FakeWatchFault::kNone;
  }

  absl::Status CutStatus() const {
    return overtook_.empty() ? absl::UnavailableError("the watch was cut")
                             : absl::OutOfRangeError("too old resource version");
  }

  absl::StatusOr<std::optional<WatchEvent>> Take(FakeWatchFault fault) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu) {
    if (fault == FakeWatchFault::kDuplicate && before_) return before_;
    KQ_ASSIGN_OR_RETURN(std::optional<Pending> found, Find(next_, {}));
    if (!found) return std::optional<WatchEvent>();
    if (fault == FakeWatchFault::kReorder && found->event.type != WatchEvent::Type::kBookmark) {
      KQ_ASSIGN_OR_RETURN(std::optional<Pending> other, Find(found->index + 1, {KeyOf(found->event.object)}));
      if (other) found = std::move(other);
    }
    Delivered(found->index);
    if (fault == FakeWatchFault::kBroken && found->event.type != WatchEvent::Type::kBookmark) {
      return absl::InvalidArgumentError(absl::StrCat("watch ", request_.resource.ToString(), ": cannot decode ",
                                                     KeyOf(found->event.object).ToString()));
    }
    if (found->event.type != WatchEvent::Type::kBookmark) before_ = found->event;
    return std::optional<WatchEvent>(std::move(found->event));
  }

  // The first event from `index` on that was not delivered; if there are `skip`ped
  // keys, one of an object that is not among those before it, and no bookmark.
  absl::StatusOr<std::optional<Pending>> Find(uint64_t index, std::set<ObjectKey> skip)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu) {
    for (;; ++index) {
      KQ_ASSIGN_OR_RETURN(const FakeStore::Change* change, state_->store.ChangeAt(request_.resource, index));
      if (change == nullptr) return std::optional<Pending>();
      if (overtook_.count(index) > 0) continue;
      std::optional<WatchEvent> event = Translate(request_, selector_, *change);
      if (!event) {
        if (index == next_) Delivered(index);
        continue;
      }
      if (!skip.empty()) {
        if (event->type == WatchEvent::Type::kBookmark) continue;
        if (!skip.insert(KeyOf(event->object)).second) continue;
      }
      return std::optional<Pending>(Pending{index, *std::move(event)});
    }
  }

  void Delivered(uint64_t index) {
    overtook_.insert(index);
    while (overtook_.erase(next_) > 0) ++next_;
  }

  State* const state_;
  const std::shared_ptr<Faults> faults_;
  const WatchRequest request_;
  const Selector selector_;
  const int64_t cuts_;           // State::cuts when this stream began
  uint64_t next_;                // everything before this index was delivered
  std::set<uint64_t> overtook_;  // indexes after next_ that were delivered already
  std::optional<WatchEvent> before_;
  absl::Status ended_;
  bool cancelled_ = false;  // guarded by state_->mu
};

class FakeKubeApi::Client : public KubeApi {
 public:
  explicit Client(State* state, Faults faults = {})
      : state_(state), faults_(std::make_shared<Faults>(std::move(faults))) {}

  void set_faults(FakeFaults faults) {
    MutexLock lock(&state_->mu);
    faults_->calls = Share(std::move(faults));
  }
  void set_watch_faults(FakeWatchFaults faults) {
    MutexLock lock(&state_->mu);
    faults_->watches = Share(std::move(faults));
  }

  absl::StatusOr<ListPage> List(const ListRequest& request) override {
    KQ_RETURN_IF_ERROR(Ask({FakeCall::Verb::kList, request.resource, {request.ns, ""}, Subresource::kNone}));
    MutexLock lock(&state_->mu);
    return state_->store.List(request);
  }

  absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) override {
    KQ_RETURN_IF_ERROR(Ask({FakeCall::Verb::kWatch, request.resource, {request.ns, ""}, Subresource::kNone}));
    KQ_ASSIGN_OR_RETURN(Selector selector, Selector::Parse(request.label_selector, request.field_selector));
    MutexLock lock(&state_->mu);
    KQ_ASSIGN_OR_RETURN(const uint64_t next, state_->store.OpenHistory(request));
    return std::make_unique<Stream>(state_, faults_, request, std::move(selector), Stream::Start{next, state_->cuts});
  }

  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) override {
    KQ_RETURN_IF_ERROR(Ask({FakeCall::Verb::kGet, resource, key, Subresource::kNone}));
    MutexLock lock(&state_->mu);
    return state_->store.Get(resource, key);
  }

  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) override {
    const ObjectKey key{std::string(ns), KeyOf(object).name};
    const absl::Time now = state_->options.clock->TimeNow();
    return Change<absl::StatusOr<Json>>({FakeCall::Verb::kCreate, resource, key, Subresource::kNone},
                                        [=](FakeStore* store) { return store->Create(resource, key.ns, object, now); });
  }

  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) override {
    return Change<absl::StatusOr<Json>>({FakeCall::Verb::kUpdate, resource, KeyOf(object), subresource},
                                        [=](FakeStore* store) { return store->Update(resource, subresource, object); });
  }

  absl::StatusOr<Json> Patch(const PatchRequest& request) override {
    return Change<absl::StatusOr<Json>>({FakeCall::Verb::kPatch, request.resource, request.key, request.subresource},
                                        [=](FakeStore* store) { return store->Patch(request); });
  }

  absl::Status Delete(const DeleteRequest& request) override {
    const absl::Time now = state_->options.clock->TimeNow();
    return Change<absl::Status>({FakeCall::Verb::kDelete, request.resource, request.key, Subresource::kNone},
                                [=](FakeStore* store) { return store->Delete(request, now); });
  }

 private:
  FakeFault FaultOf(const FakeCall& call) {
    std::shared_ptr<FakeFaults> ask;
    {
      MutexLock lock(&state_->mu);
      ++state_->calls[call.verb];
      ask = faults_->calls;
    }
    return ask ? (*ask)(call) : FakeFault();
  }

  // Of a call that changes nothing.
  absl::Status Ask(const FakeCall& call) { return StatusOf(FaultOf(call)); }

  template <typename Result, typename Operation>
  Result Change(const FakeCall& call, Operation operation) {
    const FakeFault fault = FaultOf(call);
    MutexLock lock(&state_->mu);
    if (fault.kind == FakeFault::Kind::kLate) {
      state_->late.push_back([operation](FakeStore* store) { (void)operation(store); });
    }
    if (fault.kind != FakeFault::Kind::kNone && fault.kind != FakeFault::Kind::kAnswerLost) return StatusOf(fault);
    Result result = operation(&state_->store);
    state_->changed.SignalAll();
    if (fault.kind == FakeFault::Kind::kAnswerLost) return StatusOf(fault);
    return result;
  }

  State* const state_;
  const std::shared_ptr<Faults> faults_;
};

FakeKubeApi::FakeKubeApi(FakeKubeApiOptions options)
    : state_(std::make_unique<State>(options)), client_(std::make_unique<Client>(state_.get())) {}
FakeKubeApi::~FakeKubeApi() = default;

void FakeKubeApi::AddResource(const KubeResource& resource, FakeResource options) {
  MutexLock lock(&state_->mu);
  state_->store.AddResource(resource, std::move(options));
}
void FakeKubeApi::AddNamespace(absl::string_view name) {
  MutexLock lock(&state_->mu);
  state_->store.AddNamespace(name);
}

void FakeKubeApi::set_faults(FakeFaults faults) { client_->set_faults(std::move(faults)); }
void FakeKubeApi::set_watch_faults(FakeWatchFaults faults) { client_->set_watch_faults(std::move(faults)); }

std::unique_ptr<KubeApi> FakeKubeApi::Connect(FakeFaults faults, FakeWatchFaults watch_faults) {
  return std::make_unique<Client>(state_.get(), Faults{Share(std::move(faults)), Share(std::move(watch_faults))});
}

absl::StatusOr<ListPage> FakeKubeApi::List(const ListRequest& request) { return client_->List(request); }
absl::StatusOr<std::unique_ptr<WatchStream>> FakeKubeApi::Watch(const WatchRequest& request) {
  return client_->Watch(request);
}
absl::StatusOr<Json> FakeKubeApi::Get(const KubeResource& resource, const ObjectKey& key) {
  return client_->Get(resource, key);
}
absl::StatusOr<Json> FakeKubeApi::Create(const KubeResource& resource, absl::string_view ns, const Json& object) {
  return client_->Create(resource, ns, object);
}
absl::StatusOr<Json> FakeKubeApi::Update(const KubeResource& resource, Subresource subresource, const Json& object) {
  return client_->Update(resource, subresource, object);
}
absl::StatusOr<Json> FakeKubeApi::Patch(const PatchRequest& request) { return client_->Patch(request); }
absl::Status FakeKubeApi::Delete(const DeleteRequest& request) { return client_->Delete(request); }

int FakeKubeApi::LandLate() {
  MutexLock lock(&state_->mu);
  const auto late = std::exchange(state_->late, {});
  for (const auto& operation : late) operation(&state_->store);
  state_->changed.SignalAll();
  return static_cast<int>(late.size());
}

void FakeKubeApi::CutWatches() {
  MutexLock lock(&state_->mu);
  ++state_->cuts;
  state_->changed.SignalAll();
}

void FakeKubeApi::SendBookmark(const KubeResource& resource) {
  MutexLock lock(&state_->mu);
  state_->store.AddBookmark(resource);
  state_->changed.SignalAll();
}

void FakeKubeApi::Compact() {
  MutexLock lock(&state_->mu);
  state_->store.Compact();
  state_->changed.SignalAll();
}

int FakeKubeApi::CollectGarbage() {
  const absl::Time now = state_->options.clock->TimeNow();
  MutexLock lock(&state_->mu);
  const int gone = state_->store.CollectGarbage(now);
  state_->changed.SignalAll();
  return gone;
}

std::vector<Json> FakeKubeApi::Objects(const KubeResource& resource) const {
  MutexLock lock(&state_->mu);
  return state_->store.Objects(resource);
}
uint64_t FakeKubeApi::Version() const {
  MutexLock lock(&state_->mu);
  return state_->store.version();
}
int64_t FakeKubeApi::Calls(FakeCall::Verb verb) const {
  MutexLock lock(&state_->mu);
  const auto found = state_->calls.find(verb);
  return found == state_->calls.end() ? 0 : found->second;
}

}  // namespace kq
