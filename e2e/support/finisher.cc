#include "e2e/support/finisher.h"

#include <boost/json.hpp>

#include "e2e/support/test_cluster.h"
#include "libs/common/clock.h"

namespace kq::e2e {

Finisher::Finisher(KubeApi* api, const UsageWatch* watch) : thread_([this, api, watch] { Run(api, watch); }) {}

Finisher::~Finisher() { Stop(); }

void Finisher::Stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void Finisher::Run(KubeApi* api, const UsageWatch* watch) {
  const Json finished = {{"status", {{"phase", "Succeed"}, {"admissions", JsonArray()}}}};
  while (!stopped_) {
    for (const QueueUnit& unit : watch->Holders()) {
      if (stopped_) return;
      // Gone or changed meanwhile: its next turn comes.
      api->Patch({kUnits, unit.key, Subresource::kStatus, PatchType::kMerge, finished}).IgnoreError();
    }
    Clock::Real().SleepFor(absl::Milliseconds(20));
  }
}

}  // namespace kq::e2e
