#include "libs/api/codec.h"
#include "libs/api/internal/node.h"

namespace kq {
namespace internal {
namespace {

// A pod has at most so many containers of a kind; etcd holds no more anyway.
constexpr size_t kMaxContainers = 1000;

// Requests, and for what is not requested the limits, as the API server fills
// them in when the pod is created.
Resources Requested(const Node& resources) {
  Resources requested = resources.Quantities("limits").amounts;
  for (const auto& [name, amount] : resources.Quantities("requests").amounts) requested.Set(name, amount);
  return requested;
}

// What all containers ask for together.
Resources ContainersRequest(const Node& spec) {
  Resources running;
  for (const Node& container : spec.List("containers", kMaxContainers))
    running.Add(Requested(container.Child("resources")));

  // Init containers run one after the other, each beside the sidecars started
  // before it; sidecars are those that are always restarted, and stay.
  Resources sidecars;
  Resources starting;
  for (const Node& container : spec.List("initContainers", kMaxContainers)) {
    const Resources own = Requested(container.Child("resources"));
    if (container.Text("restartPolicy") == "Always") {
      sidecars.Add(own);
      starting = Resources::Max(starting, sidecars);
    } else {
      starting = Resources::Max(starting, own + sidecars);
    }
  }
  running.Add(sidecars);
  return Resources::Max(running, starting);
}

}  // namespace

Resources ReadPodRequest(const Node& pod_template) {
  const Node spec = pod_template.Child("spec");
  Resources request = ContainersRequest(spec);
  // For the whole pod: what it requests wins over the sum; its limits count only
  // where neither the pod nor a container requests anything.
  const Node pod_level = spec.Child("resources");
  for (const auto& [name, amount] : pod_level.Quantities("limits").amounts) {
    if (!request.Has(name)) request.Set(name, amount);
  }
  for (const auto& [name, amount] : pod_level.Quantities("requests").amounts) request.Set(name, amount);
  request.Add(spec.Quantities("overhead").amounts);
  return request;
}

}  // namespace internal

absl::StatusOr<Resources> PodRequest(const Json& pod_template, absl::string_view path) {
  if (pod_template.is_null()) return Resources();
  if (!pod_template.is_object()) return absl::InvalidArgumentError(absl::StrCat(path, ": expected an object"));
  internal::Problems problems;
  Resources request =
      internal::ReadPodRequest(internal::Node(&pod_template.get_object(), std::string(path), &problems));
  if (!problems.Empty()) return problems.First();
  return request;
}

absl::StatusOr<Resources> ParseResourceList(const Json& list, absl::string_view path) {
  if (list.is_null()) return Resources();
  if (!list.is_object()) return absl::InvalidArgumentError(absl::StrCat(path, ": expected an object"));
  internal::Problems problems;
  internal::Amounts amounts = internal::ReadQuantities(list.get_object(), path, &problems);
  if (!problems.Empty()) return problems.First();
  return std::move(amounts.amounts);
}

}  // namespace kq
