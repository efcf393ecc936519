#include "services/debug-api/server_objects.h"

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/api/codec.h"
#include "libs/api/queue_unit.h"
#include "libs/common/status_macros.h"

namespace kq::debug_api {
namespace {

const KubeResource& Units() {
  static const auto* const resource = new KubeResource{"scheduling.x-k8s.io", "v1alpha1", "queueunits"};
  return *resource;
}
const KubeResource& Quotas() {
  static const auto* const resource = new KubeResource{"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"};
  return *resource;
}

constexpr int kTries = 3;

// One list from the first page to the last. `take` gets each object.
absl::Status ListOnce(KubeApi* api, const KubeResource& resource, const std::function<void(const Json&)>& take,
                      ServerObjects* out) {
  ListRequest request;
  request.resource = resource;
  size_t count = 0;
  do {
    KQ_ASSIGN_OR_RETURN(const ListPage page, api->List(request));
    count += page.items.size();
    if (count > kMaxListed) {
      return absl::ResourceExhaustedError(absl::StrCat("there are more than ", kMaxListed));
    }
    for (const Json& object : page.items) take(object);
    for (const BrokenObject& broken : page.broken) {
      out->unreadable.emplace(absl::StrCat(resource.plural, " ", broken.key.ToString()), broken.why.message());
    }
    request.continue_token = page.continue_token;
  } while (!request.continue_token.empty());
  return absl::OkStatus();
}

// `begin` forgets what was taken.
absl::Status ListAll(KubeApi* api, const KubeResource& resource, const std::function<void()>& begin,
                     const std::function<void(const Json&)>& take, ServerObjects* out) {
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    begin();
    status = ListOnce(api, resource, take, out);
    if (!absl::IsOutOfRange(status)) break;
  }
  return WithContext(status, absl::StrCat("list ", resource.plural));
}

void TakeUnit(const Json& object, ServerObjects* out) {
  absl::StatusOr<QueueUnit> unit = ParseQueueUnit(object);
  if (!unit.ok()) {
    out->unreadable.emplace(absl::StrCat("queueunits ", KeyOf(object).ToString()), unit.status().message());
    return;
  }
  ServerUnit kept;
  kept.uid = unit->uid;
  kept.quota = unit->quota;
  kept.phase = std::string(PhaseName(unit->phase == Phase::kUnset ? Phase::kEnqueued : unit->phase));
  kept.finished = IsFinished(unit->phase);
  kept.held = Held(*unit);
  out->units.emplace(unit->key, std::move(kept));
}

void TakeQuota(const Json& object, ServerObjects* out) {
  absl::StatusOr<Quota> quota = ParseQuota(object);
  if (!quota.ok()) {
    out->unreadable.emplace(absl::StrCat("elasticquotas ", KeyOf(object).ToString()), quota.status().message());
    return;
  }
  ObjectKey key = quota->key;
  out->quotas.emplace(std::move(key), *std::move(quota));
}

}  // namespace

absl::StatusOr<ServerObjects> ListServerObjects(KubeApi* api) {
  ServerObjects objects;
  KQ_RETURN_IF_ERROR(ListAll(
      api, Quotas(), [&] { objects.quotas.clear(); }, [&](const Json& object) { TakeQuota(object, &objects); },
      &objects));
  KQ_RETURN_IF_ERROR(ListAll(
      api, Units(), [&] { objects.units.clear(); }, [&](const Json& object) { TakeUnit(object, &objects); }, &objects));
  return objects;
}

}  // namespace kq::debug_api
