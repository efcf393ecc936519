#ifndef E2E_SUPPORT_FINISHER_H_
#define E2E_SUPPORT_FINISHER_H_

#include <atomic>
#include <thread>

#include "e2e/support/usage_watch.h"
#include "libs/kube/kube_api.h"

namespace kq::e2e {

// Plays the controllers for units without jobs: admitted units finish after a
// while, so that the next ones have their turn, until it is told to let the rest run.
class Finisher {
 public:
  // Both must outlive it.
  Finisher(KubeApi* api, const UsageWatch* watch);
  ~Finisher();
  void Stop();

 private:
  void Run(KubeApi* api, const UsageWatch* watch);

  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_FINISHER_H_
