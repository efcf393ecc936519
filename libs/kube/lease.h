#ifndef LIBS_KUBE_LEASE_H_
#define LIBS_KUBE_LEASE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/clock.h"
#include "libs/kube/kube_api.h"

namespace kq {

struct LeaseOptions {
  ObjectKey key{"default", "example-lease"};
  std::string identity;  // "<pod or host>_<uuid>"
  absl::Duration duration = absl::Seconds(15);
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);
};

// Every option that does not fit the others ("lease duration 5s must be longer
// than renew deadline 10s"), joined; OK if none.
absl::Status ValidateLeaseOptions(const LeaseOptions& options);

// Leader election over a coordination.k8s.io/v1 Lease, with the rules of
// client-go: a candidate waits the duration that the record names, counted on its
// own clock from when it first saw this record; the holder renews every retry
// period and gives up when it could not for the renew deadline.
//
//   Follower --lease free, or not renewed for its duration--> Leader
//   Leader --cannot renew and the deadline passed, or another holder seen--> Lost (for good: the process exits)
//   Leader --Release--> Released
//
// A clock that is set back makes a candidate wait longer, and a leader stop
// writing until it has renewed again. One that is set forward by more than the
// lease may let a candidate begin up to a retry period early; the version of the
// Lease then decides who holds it.
//
// Step does one attempt and returns, so that a simulation can drive it.
// Step in one thread, the rest from any.
class Lease {
 public:
  enum class Role { kFollower, kLeader, kLost, kReleased };

  // `api` and `clock` must outlive the lease.
  Lease(LeaseOptions options, KubeApi* api, const Clock* clock);
  ~Lease();

  // Tries to take or renew the lease. Returns how long to wait before the next Step.
  absl::Duration Step();
  // Gives the lease back, if held, so that the next candidate need not wait. It
  // stops writing at once, whether or not the call succeeds; waits for a running Step.
  absl::Status Release();

  Role role() const;
  // True while this process leads and its renew deadline has not passed. Writes
  // check it: a leader that cannot renew stops writing before others may lead.
  bool MayWrite() const;
  // Who holds the lease as last seen; empty if nobody.
  std::string Holder() const;
  const std::string& identity() const;
  // When this process became leader; InfinitePast if it did not.
  absl::Time LeaderSince() const;
  // The last error of a Step; OK after one that worked. A new one is logged.
  absl::Status Health() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// "<host>_<random uuid>"
std::string NewLeaseIdentity(const std::string& host);
// Whether `holder` has the form of an identity of ours or of the original
// (a bare UUID). Anything else is named to operators as unknown.
bool LooksLikeOurs(const std::string& holder);

}  // namespace kq

#endif  // LIBS_KUBE_LEASE_H_
