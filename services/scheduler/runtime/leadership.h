#ifndef SERVICES_SCHEDULER_RUNTIME_LEADERSHIP_H_
#define SERVICES_SCHEDULER_RUNTIME_LEADERSHIP_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/mutex.h"
#include "libs/http/health.h"
#include "libs/kube/lease.h"
#include "services/scheduler/runtime/event_mailbox.h"

namespace kq::scheduler {

struct LeadershipParts {
  Lease* lease = nullptr;  // null: no election, this process leads as soon as it is synced
  EventMailbox* mailbox = nullptr;
  const Clock* clock = nullptr;
  std::function<bool()> synced;  // whether the cluster has been listed
  // Called once each, from the lease's thread.
  std::function<void()> on_taken = [] {};
  std::function<void()> on_lost = [] {};  // the process is to end
};

// Campaigns for the lease once the cluster has been listed, tells the core when
// it is won, and renews it. A new leadership has a new epoch: the milliseconds
// since 1970 at which it began, so that a later one has a larger one.
//
//   waits for the lists --synced--> campaigns --won--> leads --not renewed in time--> lost
//
// Step in one thread, the rest from any.
class Leadership {
 public:
  explicit Leadership(LeadershipParts parts);

  // One attempt; returns how long to wait before the next.
  absl::Duration Step();
  // Until Stop. For the lease's thread.
  void Run();
  void Stop();
  // Gives the lease back so that another may lead at once. REQUIRES: no thread is in Run.
  absl::Status Release();

  // This process has won the lease, and has not lost it or given it back.
  bool Leads() const;
  // Leads, and has renewed the lease recently enough for no other to lead.
  bool MayWrite() const;
  // Why not: kCancelled for those who do not lead, or no more; kUnavailable for a
  // leader whose renewal is late and may still come.
  absl::Status WriteStatus() const;
  // Who leads as last seen: our own identity, another's, or empty.
  std::string Leader() const;
  // The holder, if it does not look like a koord-queue process; else empty.
  std::string UnknownHolder() const;
  // For /readyz: who leads; fails after the lease was lost, or while the API
  // server does not let us see who holds it.
  HealthState State() const;

 private:
  void Take();
  void NoteHolder();

  const LeadershipParts parts_;
  mutable Mutex mu_;
  CondVar stop_requested_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  bool leads_ ABSL_GUARDED_BY(mu_) = false;
  bool lost_ ABSL_GUARDED_BY(mu_) = false;
  bool campaigning_ ABSL_GUARDED_BY(mu_) = false;
  std::string noted_holder_;  // of the thread that calls Step
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_LEADERSHIP_H_
