#ifndef SERVICES_CONTROLLERS_WORK_QUEUE_H_
#define SERVICES_CONTROLLERS_WORK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/backoff.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/common/token_bucket.h"

namespace kq::controllers {

struct WorkQueueOptions {
  // Of one key, by how often it failed in a row.
  Backoff backoff{absl::Milliseconds(50), absl::Seconds(1000), 0.1};
  // Of all keys that failed: at most so many a second, and so many at once. News
  // are not limited. 0: no limit.
  double retries_per_second = 100;
  int retry_burst = 1000;
  // Called with the queue's lock held, when a worker takes a key: how long the key was ready, or a worker was
  // needed for it. It must not call the queue.
  std::function<void(absl::Duration waited)> observe_wait = nullptr;
};

// The keys of jobs that are to be looked at.
//
//   Add --------------> ready --Take--> with a worker --Done--> (gone)
//   AddAfter --> waiting --^                 |--Add meanwhile, Done--> ready
//   Retry -----> waiting --^
//
// A key is in the queue once, however often it is added, and never with two
// workers at once: what is added while a worker has it comes up again when the
// worker is done. Of several times that a key waits for, the earliest counts.
//
// The number of keys is bounded by the number of jobs. Thread-safe.
class WorkQueue {
 public:
  // `clock` must outlive the queue.
  WorkQueue(WorkQueueOptions options, const Clock* clock);

  void Add(const ObjectKey& key);
  void AddAfter(const ObjectKey& key, absl::Duration delay);
  // Adds the key after its backoff, which grows until Forget; and not before
  // `at_least`, which the API server may have asked for.
  void Retry(const ObjectKey& key, absl::Duration at_least = absl::ZeroDuration());
  // The key went well: its backoff starts anew.
  void Forget(const ObjectKey& key);

  // The next key; waits up to `timeout` for one. The worker must call Done.
  std::optional<ObjectKey> Take(absl::Duration timeout);
  void Done(const ObjectKey& key);

  // Take answers nothing from now on; what a worker has, it finishes.
  void Stop();
  bool Stopped() const;
  // Waits until no worker has a key, or until `deadline`; true if none has.
  bool WaitIdle(absl::Time deadline);

  // When Take next has something without an Add; InfiniteFuture if never.
  absl::Time NextDue() const;

  struct Totals {
    int64_t ready = 0, waiting = 0, taken = 0;
    int64_t adds = 0, retries = 0;
  };
  Totals Now() const;

 private:
  void AddLocked(const ObjectKey& key, absl::Time since) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitLocked(const ObjectKey& key, absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeDueLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for a key, at most until `until` and for what is due before.
  void WaitForWorkLocked(absl::Time now, absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Wakes one more worker if there is anything for it.
  void PassOnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const WorkQueueOptions options_;
  const Clock* const clock_;

  mutable Mutex mu_;
  // One worker is woken for each key, and one alone wakes for the next time: with
  // all of them, most of what the process does would be waking up.
  CondVar changed_;
  uint64_t timekeeper_ ABSL_GUARDED_BY(mu_) = 0;  // who waits for the next time; 0: nobody
  uint64_t timekeepers_ ABSL_GUARDED_BY(mu_) = 0;
  CondVar all_done_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<ObjectKey> ready_ ABSL_GUARDED_BY(mu_);
  // Ready, or added while taken; since when.
  absl::flat_hash_map<ObjectKey, absl::Time> wanted_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<ObjectKey> taken_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<absl::Time, ObjectKey>> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<ObjectKey, absl::Time> due_ ABSL_GUARDED_BY(mu_);  // of the waiting ones
  absl::flat_hash_map<ObjectKey, int> failures_ ABSL_GUARDED_BY(mu_);
  std::optional<TokenBucket> retry_rate_ ABSL_GUARDED_BY(mu_);
  uint64_t random_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t adds_ ABSL_GUARDED_BY(mu_) = 0, retries_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_WORK_QUEUE_H_
