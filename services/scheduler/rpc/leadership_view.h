#ifndef SERVICES_SCHEDULER_RPC_LEADERSHIP_VIEW_H_
#define SERVICES_SCHEDULER_RPC_LEADERSHIP_VIEW_H_

#include <functional>
#include <string>

namespace kq::scheduler {

// Who leads, as far as this process knows. Only the leader has a picture to show.
struct LeaderView {
  bool leading = false;
  std::string leader;  // identity of the holder of the lease; empty if not known
};
// Called from any thread, for each call: must be quick.
using LeadershipView = std::function<LeaderView()>;

// The trailing metadata that names the leader.
inline constexpr char kLeaderMetadata[] = "koord-queue-leader";

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RPC_LEADERSHIP_VIEW_H_
