#include "services/controllers/known_objects.h"

#include <algorithm>
#include <utility>

#include "libs/kube/kube_api.h"

namespace kq::controllers {
namespace {

KnownObjects::Object Kept(const Json& object) {
  Json copy = object;
  if (copy.is_object()) {
    Json* metadata = copy.get_object().if_contains("metadata");
    if (metadata != nullptr && metadata->is_object()) metadata->get_object().erase("managedFields");
  }
  return std::make_shared<const Json>(std::move(copy));
}

}  // namespace

KnownObjects::Object KnownObjects::Find(const ObjectKey& key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : at->second;
}

bool KnownObjects::Upsert(const Json& news, absl::string_view scope) {
  const uint64_t version = VersionOf(news);
  Listed(version, scope);
  Object& known = objects_[KeyOf(news)];
  if (known != nullptr && VersionOf(*known) >= version) return false;
  known = Kept(news);
  return true;
}

bool KnownObjects::Learn(const Json& answer) {
  const ObjectKey key = KeyOf(answer);
  const uint64_t version = VersionOf(answer);
  const auto at = objects_.find(key);
  if (at != objects_.end() && VersionOf(*at->second) >= version) return false;
  if (at == objects_.end() && version <= Delivered(key)) return false;
  objects_[key] = Kept(answer);
  return true;
}

bool KnownObjects::Remove(const ObjectKey& key, uint64_t version, absl::string_view scope) {
  Listed(version, scope);
  const auto at = objects_.find(key);
  if (at == objects_.end() || VersionOf(*at->second) > version) return false;
  objects_.erase(at);
  return true;
}

bool KnownObjects::Forget(const ObjectKey& key, absl::string_view uid) {
  const auto at = objects_.find(key);
  if (at == objects_.end() || UidOf(*at->second) != uid) return false;
  objects_.erase(at);
  return true;
}

void KnownObjects::Listed(uint64_t version, absl::string_view scope) {
  uint64_t& delivered = delivered_[std::string(scope)];
  delivered = std::max(delivered, version);
}

uint64_t KnownObjects::Delivered(const ObjectKey& key) const {
  // Either one watch for all namespaces or one for each.
  for (const std::string& scope : {std::string(), key.ns}) {
    const auto at = delivered_.find(scope);
    if (at != delivered_.end()) return at->second;
  }
  return 0;
}

}  // namespace kq::controllers
