#ifndef SERVICES_SCHEDULER_RUNTIME_SNAPSHOT_PUBLISHER_H_
#define SERVICES_SCHEDULER_RUNTIME_SNAPSHOT_PUBLISHER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/mutex.h"
#include "services/scheduler/core/snapshot.h"

namespace kq::scheduler {

// Where the decision thread leaves its newest picture and everybody else finds
// it. Readers keep a picture as long as they like; one that reads slowly misses
// the pictures between, never the newest.
//
// Thread-safe. The one lock is held for the exchange of a pointer, and no call
// out is made under it.
class SnapshotPublisher {
 public:
  using ListenerId = uint64_t;

  // `snapshot` is not null. Listeners are called in this thread, in the order in
  // which they were added, after the picture can be read.
  void Publish(std::shared_ptr<const Snapshot> snapshot);

  // Null before the first Publish.
  std::shared_ptr<const Snapshot> Latest() const;

  // The newest picture, as soon as its revision is not `seen`; after `timeout`
  // whatever is newest. Null if none was published. To begin with pass 0: the
  // first revision is 1.
  std::shared_ptr<const Snapshot> AwaitNewer(uint64_t seen, absl::Duration timeout) const;

  // `listener` is called after each Publish, from the decision thread, and so
  // must be quick: set a flag, wake a thread. It may add and remove listeners.
  // After RemoveListener it may still be called once, by a Publish that is under
  // way in another thread: what it captures must stay alive for that.
  ListenerId AddListener(std::function<void()> listener);
  void RemoveListener(ListenerId id);

 private:
  mutable Mutex mu_;
  mutable CondVar published_;
  std::shared_ptr<const Snapshot> latest_ ABSL_GUARDED_BY(mu_);
  ListenerId next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<ListenerId, std::shared_ptr<const std::function<void()>>> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_SNAPSHOT_PUBLISHER_H_
