#ifndef LIBS_KUBE_WRITE_QUEUE_H_
#define LIBS_KUBE_WRITE_QUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/backoff.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

namespace kq {

// A write to one object.
struct Write {
  // Binding: someone waits for the answer, so it is always made and answered.
  // Advisory: the newest one of an object wins, and under pressure it may be dropped.
  enum class Kind { kBinding, kAdvisory };

  Kind kind = Kind::kBinding;
  PatchRequest patch;     // without metadata.resourceVersion and uid: the queue adds them
  std::string uid;        // the object's
  uint64_t based_on = 0;  // the version the decision rested on
  // Called exactly once: the object as it now is on the server, whether by this
  // write or not (read again when the outcome was unknown), or why nothing was
  // written: kAborted, kNotFound, kInvalidArgument, kPermissionDenied, kCancelled
  // (an advisory write that was replaced or dropped, or the queue was shut down
  // before the write was sent). After a shut-down alone also kUnknown or
  // kDeadlineExceeded: it was sent, and nobody was left to read. Called without a
  // lock, from a thread that calls Step, Drain or Submit; it may Submit.
  std::function<void(absl::StatusOr<Json>)> done;
};

struct WriteQueueOptions {
  size_t advisory_limit = 20000;     // objects with an advisory write waiting; beyond it new ones are dropped
  double advisory_per_second = 200;  // rate of advisory writes, in all; 0: no limit
  int advisory_burst = 200;
  Backoff backoff{absl::Milliseconds(100), absl::Seconds(10), 0.2};
  // For the jitter of the backoff; 0: chosen by chance. A simulation gives one.
  uint64_t seed = 0;
};

// Writes on their way to the API server: at most one per object at a time, and
// binding ones first. While a write of an object is on its way, a newer binding
// write waits behind it; a newer write of either kind replaces an older waiting
// advisory one. If a write of ours moved the object's version and rested on the same version as the
// next one, the next one rests on the version that ours produced, so that our
// own writes do not conflict with each other.
//
// kUnavailable: the same write again after a backoff, or after Retry-After.
// Outcome unknown: the object is read, and what is there is the answer. If it is
// as before, the first try may still land later; then the same write is made again,
// resting on the same version, so that at most one of the two takes effect.
//
// Step does one write and returns, so that a simulation can drive it. Submit and
// Step may be called from any number of threads.
class WriteQueue {
 public:
  // `api` and `clock` must outlive the queue. The destructor drains until now.
  // REQUIRES of the destructor: no thread is in Step or Run.
  WriteQueue(WriteQueueOptions options, KubeApi* api, const Clock* clock);
  ~WriteQueue();

  void Submit(Write write);

  // Takes the next write that may be made now, makes it and answers it. Waits up
  // to `timeout` for one; false if there was none.
  bool Step(absl::Duration timeout);
  // Calls Step until Stop; for each of a pool of threads.
  void Run();

  // When Step next has something to do without a Submit; InfiniteFuture if never.
  absl::Time NextDue() const;

  // Drops waiting advisory writes, and binding writes that wait are made, here and
  // by Run, until `deadline`, then answered with kCancelled. From now on Submit answers
  // kCancelled at once; afterwards Run returns. On a clock that stands still a
  // deadline in the future must be reached by another thread.
  void Drain(absl::Time deadline);

  struct Totals {
    int64_t binding_waiting = 0, advisory_waiting = 0, in_flight = 0;
    int64_t made = 0, failed = 0, conflicts = 0, retried = 0, replaced = 0, dropped = 0, reread = 0;
  };
  Totals Now() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kq

#endif  // LIBS_KUBE_WRITE_QUEUE_H_
