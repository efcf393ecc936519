#ifndef SERVICES_SCHEDULER_RUNTIME_LEADER_LABEL_H_
#define SERVICES_SCHEDULER_RUNTIME_LEADER_LABEL_H_

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/common/backoff.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/kube/kube_api.h"

namespace kq::scheduler {

// On the pod of the leader, and on no other; the Service koord-queue selects it.
inline constexpr char kLeaderLabel[] = "koord-queue-leader";

struct LeaderLabelOptions {
  std::string ns;   // of our pod, from POD_NAMESPACE
  std::string pod;  // from POD_NAME; empty: outside a pod, nothing is labelled
  Backoff backoff{absl::Milliseconds(500), absl::Seconds(30), 0.2};
};

// Puts the label koord-queue-leader=true on our own pod while it is wanted, and
// takes it off otherwise: also at the start, because a process before this one may
// have left it on the pod. Once it is on, it is taken off all other pods of the
// namespace. A patch that fails is tried again with a backoff and harms nothing else.
//
// Step does one attempt, so that a test can drive it; Run calls it. Step, Run and
// TakeOff by one thread at a time, the rest from any.
class LeaderLabel {
 public:
  // `api` and `clock` must outlive the label.
  LeaderLabel(LeaderLabelOptions options, KubeApi* api, const Clock* clock);

  // From now on the label is to be on our pod.
  void Want();

  // Makes the pods as wanted. Returns when to try again; InfiniteDuration when
  // everything is as wanted.
  absl::Duration Step();
  // Until Stop. For a thread of its own.
  void Run();
  void Stop();
  // Takes the label off, trying until `deadline`. REQUIRES: no thread is in Run.
  absl::Status TakeOff(absl::Time deadline);

  // "on", "off", "skipped: POD_NAME is not set", "not yet on: ...".
  std::string Note() const;

 private:
  absl::Status Patch(const ObjectKey& pod, const Json& value);
  absl::Status ClearOthers();
  absl::Status MakeSo(bool on);

  const LeaderLabelOptions options_;
  KubeApi* const api_;
  const Clock* const clock_;

  mutable Mutex mu_;
  CondVar changed_;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<bool> is_ ABSL_GUARDED_BY(mu_);  // unknown at the start
  absl::Status last_ ABSL_GUARDED_BY(mu_);
  int failures_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_LEADER_LABEL_H_
