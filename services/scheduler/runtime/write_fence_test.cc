#include "services/scheduler/runtime/write_fence.h"

#include <catch2/catch.hpp>

#include "libs/common/simulated_clock.h"
#include "libs/kube/testing/fake_kube_api.h"
#include "services/scheduler/runtime/kinds.h"
#include "services/scheduler/runtime/testing/small_world.h"

namespace kq::scheduler {
namespace {

TEST_CASE("reads pass always, writes only while they may") {
  SimulatedClock clock;
  FakeKubeApi api({&clock, {}, false});
  AddKinds(&api);
  absl::Status may_write;
  WriteFence fence(&api, [&may_write] { return may_write; });
  const ObjectKey key{"koord-queue", "q"};
  const absl::StatusOr<Json> made = fence.Create(Queues(), "koord-queue", QueueObject("q"));
  REQUIRE(made.ok());
  const PatchRequest patch{Queues(), key, Subresource::kNone, PatchType::kMerge,
                           JsonObject{{"spec", JsonObject{{"priority", 1}}}}};
  CHECK(fence.Patch(patch).ok());
  CHECK(fence.refused() == 0);

  may_write = absl::CancelledError("does not lead");
  CHECK(absl::IsCancelled(fence.Create(Queues(), "koord-queue", QueueObject("p")).status()));
  CHECK(absl::IsCancelled(fence.Update(Queues(), Subresource::kNone, *made).status()));
  CHECK(absl::IsCancelled(fence.Patch(patch).status()));
  CHECK(absl::IsCancelled(fence.Delete({Queues(), key, "", 0, Propagation::kBackground})));
  CHECK(fence.refused() == 4);
  may_write = absl::UnavailableError("not now");
  CHECK(absl::IsUnavailable(fence.Patch(patch).status()));
  CHECK(api.Objects(Queues()).size() == 1);

  CHECK(fence.Get(Queues(), key).ok());
  ListRequest list;
  list.resource = Queues();
  CHECK(fence.List(list).ok());
  WatchRequest watch;
  watch.resource = Queues();
  watch.from_version = api.Version();
  CHECK(fence.Watch(watch).ok());
}

}  // namespace
}  // namespace kq::scheduler
