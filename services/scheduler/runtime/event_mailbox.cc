#include "services/scheduler/runtime/event_mailbox.h"

#include <optional>
#include <string>
#include <type_traits>
#include <variant>

namespace kq::scheduler {
namespace {

// What an event means for the mailbox.
struct Address {
  size_t kind = 0;  // index of the object's upsert in Event
  ObjectKey key;
  uint64_t version = 0;
  bool upsert = false;
};

// Index of an alternative of Event.
template <typename Upsert, size_t kIndex = 0>
constexpr size_t KindOf() {
  if constexpr (std::is_same_v<std::variant_alternative_t<kIndex, Event>, Upsert>) {
    return kIndex;
  } else {
    return KindOf<Upsert, kIndex + 1>();
  }
}

struct AddressOf {
  std::optional<Address> operator()(const UnitUpserted& e) const { return News<UnitUpserted>(e.unit); }
  std::optional<Address> operator()(const QueueUpserted& e) const { return News<QueueUpserted>(e.queue); }
  std::optional<Address> operator()(const QuotaUpserted& e) const { return News<QuotaUpserted>(e.quota); }
  std::optional<Address> operator()(const UnitRemoved& e) const { return End<UnitUpserted>(e.unit); }
  std::optional<Address> operator()(const QueueRemoved& e) const { return End<QueueUpserted>(e.queue); }
  std::optional<Address> operator()(const QuotaRemoved& e) const { return End<QuotaUpserted>(e.quota); }
  std::optional<Address> operator()(const WriteFinished& e) const { return End<UnitUpserted>(e.unit); }
  std::optional<Address> operator()(const QueueWriteFinished& e) const {
    return End<QueueUpserted>({std::string(kQueueNamespace), e.queue});
  }
  std::optional<Address> operator()(const TellFinished& e) const { return End<UnitUpserted>(e.unit); }
  std::optional<Address> operator()(const Listed&) const { return std::nullopt; }
  std::optional<Address> operator()(const LeadershipTaken&) const { return std::nullopt; }

 private:
  template <typename Upsert, typename Object>
  static Address News(const Object& object) {
    return {KindOf<Upsert>(), object.key, object.version, true};
  }
  template <typename Upsert>
  static Address End(const ObjectKey& key) {
    return {KindOf<Upsert>(), key, 0, false};
  }
};

uint64_t VersionOf(const Event& upsert) { return std::visit(AddressOf{}, upsert)->version; }

}  // namespace

EventMailbox::EventMailbox(size_t limit) : limit_(limit) {}

bool EventMailbox::Post(Event event) {
  const std::optional<Address> address = std::visit(AddressOf{}, event);
  MutexLock lock(&mu_);
  if (!address.has_value()) {
    Append(std::move(event));
    return true;
  }
  const Slot slot{address->kind, address->key};
  const auto open = open_.find(slot);
  if (!address->upsert) {
    if (open != open_.end()) open_.erase(open);
    Append(std::move(event));
    return true;
  }
  if (open != open_.end()) {
    // An older version than the one that waits tells nothing new.
    if (address->version >= VersionOf(events_[open->second])) events_[open->second] = std::move(event);
    ++totals_.posted;
    ++totals_.coalesced;
    return true;
  }
  if (events_.size() >= limit_) {
    ++totals_.refused;
    return false;
  }
  open_[slot] = events_.size();
  Append(std::move(event));
  return true;
}

void EventMailbox::Append(Event event) {
  ++totals_.posted;
  events_.push_back(std::move(event));
  if (events_.size() == 1) arrived_.SignalAll();
}

std::vector<Event> EventMailbox::TakeAll(absl::Duration timeout) {
  MutexLock lock(&mu_);
  if (events_.empty() && !woken_ && timeout > absl::ZeroDuration()) arrived_.WaitFor(&mu_, timeout);
  woken_ = false;
  open_.clear();
  return std::exchange(events_, {});
}

void EventMailbox::Wake() {
  MutexLock lock(&mu_);
  woken_ = true;
  arrived_.SignalAll();
}

EventMailbox::Totals EventMailbox::Now() const {
  MutexLock lock(&mu_);
  Totals totals = totals_;
  totals.waiting = events_.size();
  return totals;
}

}  // namespace kq::scheduler
