#ifndef SERVICES_SCHEDULER_RUNTIME_EVENT_MAILBOX_H_
#define SERVICES_SCHEDULER_RUNTIME_EVENT_MAILBOX_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/mutex.h"
#include "services/scheduler/core/event.h"

namespace kq::scheduler {

// The core's mailbox: the only way in. Many threads post, the decision thread
// takes everything that is there at once.
//
// Bounded by coalescing. A newer upsert takes the place of an older one of the
// same object that still waits, so that an object which changes often costs one
// event a turn. What closes a chapter of an object, a removal or the answer to a
// write, ends this: what comes after it waits behind it. So nothing is overtaken
// by older news of the same object.
//
//   upsert                       beyond `limit` waiting events it is refused, unless it
//                                replaces one that waits; the watch lists again later
//   removal                      always taken: at most one follows each object that
//                                was taken or is known
//   answer, Listed, leadership   always taken: at most one for each question
//
// Thread-safe.
class EventMailbox {
 public:
  explicit EventMailbox(size_t limit);

  // False: the mailbox is full and `event`, an upsert, was not taken.
  [[nodiscard]] bool Post(Event event);

  // All events in order; waits up to `timeout` if there are none and nobody called Wake.
  std::vector<Event> TakeAll(absl::Duration timeout);

  // Lets the reader return from TakeAll, or from the next one, without an event.
  void Wake();

  struct Totals {
    size_t waiting = 0;
    int64_t posted = 0;     // taken in, replacements included
    int64_t coalesced = 0;  // of these, replaced an older one
    int64_t refused = 0;    // the mailbox was full
  };
  Totals Now() const;

 private:
  // An object of one kind; `kind` is the index of its upsert in Event.
  using Slot = std::pair<size_t, ObjectKey>;

  void Append(Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t limit_;
  mutable Mutex mu_;
  CondVar arrived_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Event> events_ ABSL_GUARDED_BY(mu_);
  // Where the upsert of an object waits that a newer one may replace.
  absl::flat_hash_map<Slot, size_t> open_ ABSL_GUARDED_BY(mu_);
  Totals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_EVENT_MAILBOX_H_
