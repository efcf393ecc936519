#ifndef LIBS_KUBE_REFLECTOR_H_
#define LIBS_KUBE_REFLECTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/backoff.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"

namespace kq {

// Who is told what a Reflector sees. Called from the reflector's thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // False: the sink is full. The reflector drops the watch and lists again
  // later; nothing is lost, because the next list brings it.
  [[nodiscard]] virtual bool Upserted(const Json& object) = 0;
  // `version` is that of the removal: the deleted object's, or the list's when a
  // list no longer has it. `uid` is the object's as last seen.
  [[nodiscard]] virtual bool Removed(const ObjectKey& key, absl::string_view uid, uint64_t version) = 0;
  // A whole list has been delivered; everything before `version` is known.
  virtual void Listed(uint64_t version) = 0;
  // One object or event could not be decoded; it names the object.
  virtual void Broken(const absl::Status& why) = 0;
};

struct ReflectorOptions {
  KubeResource resource;
  std::string ns;
  std::string label_selector;
  std::string field_selector;
  int page_size = 500;
  Backoff backoff{absl::Milliseconds(200), absl::Seconds(15), 0.2};
  // For the jitter of the backoff; 0: chosen by chance. A simulation gives one.
  uint64_t seed = 0;
};

// Keeps a sink up to date with one resource: lists in pages, then watches from
// the list's version; watches again after a cut, lists again after 410 or when
// the sink was full.
//
//   List --ok--> Watch --event--> Watch
//    ^             |--cut------> Watch (from the last version, after a backoff)
//    |             '--410, sink full--> List
//    '--error, after a backoff--'
//
// Step does one thing and returns, so that a simulation can drive it; Run calls
// Step until Stop. Thread-safe: Step/Run in one thread, the rest from any.
class Reflector {
 public:
  // `api`, `clock` and `sink` must outlive the reflector.
  Reflector(ReflectorOptions options, KubeApi* api, const Clock* clock, ReflectorSink* sink);
  ~Reflector();

  // One page of a list, or one event of the watch, waiting up to `timeout` for
  // it. Returns how long the caller should wait before the next Step (a backoff
  // after an error), zero otherwise.
  absl::Duration Step(absl::Duration timeout);

  // Until Stop. For a thread of its own.
  void Run();
  void Stop();

  // True once a whole list has been delivered, for ever after.
  bool Synced() const;
  // OK while listing or watching works; else the last error ("list queueunits:
  // not found ..."). For /readyz.
  absl::Status Health() const;
  // How often each happened since the start; for metrics.
  struct Counts {
    int64_t lists = 0;
    int64_t watches = 0;
    int64_t events = 0;
    int64_t errors = 0;
  };
  Counts Totals() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kq

#endif  // LIBS_KUBE_REFLECTOR_H_
