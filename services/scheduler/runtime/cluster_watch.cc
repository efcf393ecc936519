#include "services/scheduler/runtime/cluster_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/api/codec.h"
#include "libs/common/log.h"
#include "services/scheduler/runtime/kinds.h"

namespace kq::scheduler {

// From JSON of one kind to events.
class ClusterWatch::Sink : public ReflectorSink {
 public:
  Sink(ListedKind kind, EventMailbox* mailbox) : kind_(kind), mailbox_(mailbox) {}

  bool Upserted(const Json& object) override {
    absl::StatusOr<Event> event = Parse(object);
    if (event.ok()) return mailbox_->Post(*std::move(event));
    Broken(event.status());
    return true;  // listing again would not make it better
  }

  bool Removed(const ObjectKey& key, absl::string_view uid, uint64_t version) override {
    switch (kind_) {
      case ListedKind::kUnits:
        return mailbox_->Post(UnitRemoved{key, std::string(uid), version});
      case ListedKind::kQueues:
        return mailbox_->Post(QueueRemoved{key, version});
      case ListedKind::kQuotas:
        return mailbox_->Post(QuotaRemoved{key, version});
    }
    return true;
  }

  void Listed(uint64_t version) override {
    KQ_VLOG(1, "Listed", {{"kind", KindName()}, {"version", version}});
    // Never refused.
    if (!mailbox_->Post(scheduler::Listed{kind_}))
      KQ_LOG(Error, "The end of a list was refused", {{"kind", KindName()}});
  }

  void Broken(const absl::Status& why) override {
    ++broken_;
    KQ_LOG(Warning, "An object is left out", {{"kind", KindName()}, {"err", why}});
  }

  int64_t broken() const { return broken_.load(); }

 private:
  absl::StatusOr<Event> Parse(const Json& object) const {
    switch (kind_) {
      case ListedKind::kUnits:
        return EventOf<UnitUpserted>(ParseQueueUnit(object));
      case ListedKind::kQueues:
        return EventOf<QueueUpserted>(ParseQueue(object));
      case ListedKind::kQuotas:
        return EventOf<QuotaUpserted>(ParseQuota(object));
    }
    return absl::InternalError("no such kind");
  }

  template <typename Upserted, typename Object>
  static absl::StatusOr<Event> EventOf(absl::StatusOr<Object> object) {
    if (!object.ok()) return object.status();
    return Event(Upserted{*std::move(object)});
  }

  absl::string_view KindName() const {
    switch (kind_) {
      case ListedKind::kUnits:
        return "QueueUnit";
      case ListedKind::kQueues:
        return "Queue";
      case ListedKind::kQuotas:
        return "ElasticQuota";
    }
    return "";
  }

  const ListedKind kind_;
  EventMailbox* const mailbox_;
  std::atomic<int64_t> broken_ = 0;
};

ClusterWatch::ClusterWatch(ClusterWatchOptions options, KubeApi* api, EventMailbox* mailbox, const Clock* clock) {
  const auto add = [&](ListedKind listed, const KubeResource& resource, absl::string_view ns) {
    ReflectorOptions reflector;
    reflector.resource = resource;
    reflector.ns = std::string(ns);
    reflector.page_size = options.page_size;
    reflector.backoff = options.backoff;
    reflector.seed = options.seed == 0 ? 0 : options.seed + kinds_.size();
    auto sink = std::make_unique<Sink>(listed, mailbox);
    auto made = std::make_unique<Reflector>(std::move(reflector), api, clock, sink.get());
    kinds_.push_back({listed, resource, std::move(sink), std::move(made)});
  };
  add(ListedKind::kUnits, QueueUnits(), "");
  add(ListedKind::kQueues, Queues(), kQueueNamespace);
  add(ListedKind::kQuotas, ElasticQuotas(), "");
}

ClusterWatch::~ClusterWatch() { Stop(); }

absl::Duration ClusterWatch::Step(ListedKind kind, absl::Duration timeout) {
  for (const Kind& one : kinds_) {
    if (one.listed == kind) return one.reflector->Step(timeout);
  }
  return absl::InfiniteDuration();
}

void ClusterWatch::Start() {
  for (const Kind& kind : kinds_) {
    threads_.emplace_back([reflector = kind.reflector.get()] { reflector->Run(); });
  }
}

void ClusterWatch::Stop() {
  for (const Kind& kind : kinds_) kind.reflector->Stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool ClusterWatch::Synced() const {
  for (const Kind& kind : kinds_) {
    if (!kind.reflector->Synced()) return false;
  }
  return true;
}

std::vector<ClusterWatch::KindHealth> ClusterWatch::Health() const {
  std::vector<KindHealth> health;
  for (const Kind& kind : kinds_) {
    health.push_back({kind.resource.ToString(), kind.reflector->Synced(), kind.reflector->Health(),
                      kind.reflector->Totals(), kind.sink->broken()});
  }
  return health;
}

absl::Status ClusterWatch::Ready() const {
  for (const KindHealth& kind : Health()) {
    if (!kind.synced && kind.counts.errors == 0) {
      return absl::UnavailableError(absl::StrCat("listing ", kind.resource));
    }
    const std::string why = kind.status.ok() ? "" : absl::StrCat(": ", kind.status.message());
    if (absl::IsNotFound(kind.status)) {
      return absl::UnavailableError(absl::StrCat("waiting for CRD ", kind.resource, why));
    }
    if (absl::IsPermissionDenied(kind.status) || absl::IsUnauthenticated(kind.status)) {
      return absl::UnavailableError(absl::StrCat("may not read ", kind.resource, why));
    }
    if (!kind.status.ok()) return absl::UnavailableError(absl::StrCat("waiting for the API server", why));
    if (!kind.synced) return absl::UnavailableError(absl::StrCat("listing ", kind.resource));
  }
  return absl::OkStatus();
}

}  // namespace kq::scheduler
