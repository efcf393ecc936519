#ifndef SERVICES_VISIBILITY_TTL_CACHE_H_
#define SERVICES_VISIBILITY_TTL_CACHE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"

namespace kq::visibility {

// Remembers answers for a while. When it is full the oldest go first. Thread-safe.
template <typename Value>
class TtlCache {
 public:
  TtlCache(size_t limit, absl::Duration lifetime) : limit_(limit), lifetime_(lifetime) {}

  std::optional<Value> Find(const std::string& key, absl::Time now) const {
    const MutexLock lock(&mu_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.until <= now) return std::nullopt;
    return found->second.value;
  }

  void Put(const std::string& key, Value value, absl::Time now) {
    const MutexLock lock(&mu_);
    const absl::Time until = now + lifetime_;
    entries_.insert_or_assign(key, Entry{std::move(value), until});
    order_.emplace_back(key, until);
    while (!order_.empty() && (order_.front().second <= now || entries_.size() > limit_)) DropOldest();
  }

  size_t Size() const {
    const MutexLock lock(&mu_);
    return entries_.size();
  }

 private:
  struct Entry {
    Value value;
    absl::Time until;
  };

  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto& [key, until] = order_.front();
    // An answer that was put again later has its own place further behind.
    if (const auto found = entries_.find(key); found != entries_.end() && found->second.until == until)
      entries_.erase(found);
    order_.pop_front();
  }

  const size_t limit_;
  const absl::Duration lifetime_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::deque<std::pair<std::string, absl::Time>> order_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_TTL_CACHE_H_
