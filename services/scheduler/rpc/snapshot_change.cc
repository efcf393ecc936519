#include "services/scheduler/rpc/snapshot_change.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace kq::scheduler {
namespace {

std::string NameOf(const QueueSnapshot& queue) { return queue.queue.key.name; }
std::string NameOf(const QuotaSnapshot& quota) { return quota.quota.key.ToString(); }

// Calls `changed` with each part of `now` that `before` does not share, and
// `removed` with the name of each part of `before` that `now` lacks.
template <typename Parts, typename Changed, typename Removed>
void Compare(const Parts& before, const Parts& now, Changed changed, Removed removed) {
  absl::flat_hash_set<const void*> shared;
  for (const auto& part : before) shared.insert(part.get());
  absl::flat_hash_set<std::string> names;
  for (const auto& part : now) {
    names.insert(NameOf(*part));
    if (!shared.contains(part.get())) changed(*part);
  }
  for (const auto& part : before) {
    if (std::string name = NameOf(*part); !names.contains(name)) removed(std::move(name));
  }
}

}  // namespace

void ToChange(const Snapshot* before, const Snapshot& now, Detail detail, queueing::v1::SnapshotChange* out) {
  ToPictureId(now, out->mutable_id());
  const bool whole = before == nullptr || before->epoch != now.epoch;
  out->set_whole(whole);
  const Snapshot nothing;
  if (whole) before = &nothing;

  Compare(
      before->queues, now.queues, [&](const QueueSnapshot& queue) { ToProto(queue, detail, out->add_queues()); },
      [&](std::string name) { out->add_removed_queues(std::move(name)); });
  Compare(
      before->quotas, now.quotas, [&](const QuotaSnapshot& quota) { ToProto(quota, detail, out->add_quotas()); },
      [&](std::string name) { out->add_removed_quotas(std::move(name)); });
  if (detail == Detail::kWithoutUnits) return;
  out->set_unplaced_changed(whole || before->unplaced != now.unplaced);
  if (!out->unplaced_changed() || now.unplaced == nullptr) return;
  for (const UnitSnapshot& unit : *now.unplaced) ToProto(unit, out->add_unplaced());
}

}  // namespace kq::scheduler
