#ifndef LIBS_KUBE_EVENTS_H_
#define LIBS_KUBE_EVENTS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"

namespace kq {

// The object that an event is about.
struct ObjectReference {
  std::string api_version;  // "scheduling.x-k8s.io/v1alpha1"
  std::string kind;
  ObjectKey key;
  std::string uid;
  uint64_t version = 0;
};

enum class EventType { kNormal, kWarning };

struct EventOptions {
  std::string component = "";  // source.component, such as "koord-queue"
  std::string host = "";       // source.host: the pod or host name
  size_t limit = 10000;        // events waiting to be written; beyond it new ones are dropped and counted
  double per_second = 50;
  int burst = 500;
  // Per object: at most `object_burst` at once and one more each `object_interval`.
  int object_burst = 25;
  absl::Duration object_interval = absl::Minutes(5);
  // Equal events (object, type, reason, message) within this time raise the count
  // and lastTimestamp of the first one instead of making a new one.
  absl::Duration aggregation = absl::Minutes(10);
  size_t remembered = 4096;  // events kept for aggregation
};

// Writes core/v1 Events with firstTimestamp, lastTimestamp and count. Record
// never blocks and never fails: an event is advice. Step writes one, so that a
// simulation can drive it. Thread-safe.
//
// An event lies in the namespace of its object, in `default` for one without. Its
// message is cut at 1024 bytes, visibly. kUnavailable is tried again, after
// Retry-After; an event whose namespace is gone is dropped; one that was deleted on the
// server is created anew when it happens again. An object that used up its
// writes still counts: its next write says how often.
class EventRecorder {
 public:
  // `api` and `clock` must outlive the recorder.
  EventRecorder(EventOptions options, KubeApi* api, const Clock* clock);
  // REQUIRES: no thread is in Step or Run. What waits is dropped.
  ~EventRecorder();

  void Record(const ObjectReference& object, EventType type, absl::string_view reason, absl::string_view message);

  // Writes the next event, waiting up to `timeout` for one; false if there was none.
  bool Step(absl::Duration timeout);
  void Run();
  // Writes what waits until `deadline`, drops the rest, then Run returns. On a clock
  // that stands still a deadline in the future must be reached by another thread.
  void Drain(absl::Time deadline);

  struct Totals {
    int64_t written = 0, aggregated = 0, dropped = 0, failed = 0, waiting = 0;
  };
  Totals Now() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kq

#endif  // LIBS_KUBE_EVENTS_H_
