#ifndef LIBS_SCHEDULER_CLIENT_PICTURE_H_
#define LIBS_SCHEDULER_CLIENT_PICTURE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/queueing/v1/snapshot.pb.h"

namespace kq {

// The scheduler's queues and quotas at one moment, as it published them.
//
// Immutable. Parts that did not change are shared with the picture before, so that
// whoever keeps something made of a part sees by the pointer whether it still holds.
// No pointer in a picture is null.
struct Picture {
  queueing::v1::PictureId id;
  std::map<std::string, std::shared_ptr<const queueing::v1::QueueSnapshot>> queues;  // by name
  std::map<std::string, std::shared_ptr<const queueing::v1::QuotaSnapshot>> quotas;  // by "namespace/name"
  // Units that are in no queue and hold no quota.
  std::shared_ptr<const std::vector<queueing::v1::UnitSnapshot>> unplaced =
      std::make_shared<const std::vector<queueing::v1::UnitSnapshot>>();
};

// One consistent look at what is known of the scheduler.
struct Following {
  // The newest picture, also when its source is gone; null before the first.
  std::shared_ptr<const Picture> picture;
  // When the leader last said that this is how things are, by the local clock;
  // InfinitePast before the first picture. What is older may have changed since.
  absl::Time heard = absl::InfinitePast();
  // OK while a leader is followed; else why not, for people.
  absl::Status connection = absl::UnavailableError("no scheduler was asked yet");
  // The HOST:PORT that is followed, or was last; empty before the first.
  std::string server;
};

// Where pictures come from. Thread-safe.
class PictureSource {
 public:
  virtual ~PictureSource() = default;
  // Quick: never waits for the scheduler.
  virtual Following Look() const = 0;
};

}  // namespace kq

#endif  // LIBS_SCHEDULER_CLIENT_PICTURE_H_
