#include "services/controllers/known_objects.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "libs/kube/kube_api.h"

namespace kq::controllers {
namespace {

// The members of `object` but for those named, as text without the closing brace.
std::string OpenText(const JsonObject& object, absl::string_view without) {
  std::string text = "{";
  for (const auto& member : object) {
    const absl::string_view key(member.key().data(), member.key().size());
    if (key == without) continue;
    absl::StrAppend(&text, text.size() > 1 ? "," : "", JsonText(Json(member.key())), ":", JsonText(member.value()));
  }
  return text;
}

// The object without metadata.managedFields, which are a third of it.
std::string TextToKeep(const Json& object) {
  const Json* metadata = Find(object, {"metadata"});
  if (metadata == nullptr || !metadata->is_object()) return JsonText(object);
  std::string text = OpenText(object.get_object(), "metadata");
  absl::StrAppend(&text, text.size() > 1 ? "," : "", "\"metadata\":", OpenText(metadata->get_object(), "managedFields"),
                  "}}");
  return text;
}

KnownObjects::Known Kept(const Json& object) {
  return {VersionOf(object), UidOf(object), std::make_shared<const std::string>(TextToKeep(object))};
}

}  // namespace

const KnownObjects::Known* KnownObjects::Find(const ObjectKey& key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : &at->second;
}

bool KnownObjects::Upsert(const Json& news, absl::string_view scope) {
  const uint64_t version = VersionOf(news);
  Listed(version, scope);
  const ObjectKey key = KeyOf(news);
  const Known* known = Find(key);
  if (known != nullptr && known->version >= version) return false;
  objects_[key] = Kept(news);
  return true;
}

bool KnownObjects::Learn(const Json& answer) {
  const ObjectKey key = KeyOf(answer);
  const uint64_t version = VersionOf(answer);
  const Known* known = Find(key);
  if (known != nullptr && known->version >= version) return false;
  if (known == nullptr && version <= Delivered(key)) return false;
  objects_[key] = Kept(answer);
  return true;
}

bool KnownObjects::Remove(const ObjectKey& key, uint64_t version, absl::string_view scope) {
  Listed(version, scope);
  const auto at = objects_.find(key);
  if (at == objects_.end() || at->second.version > version) return false;
  objects_.erase(at);
  return true;
}

bool KnownObjects::Forget(const ObjectKey& key, absl::string_view uid) {
  const auto at = objects_.find(key);
  if (at == objects_.end() || at->second.uid != uid) return false;
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

std::shared_ptr<const Json> ParseKnown(const std::shared_ptr<const std::string>& text) {
  if (text == nullptr) return nullptr;
  absl::StatusOr<Json> object = ParseJsonInOnePiece(*text);
  return object.ok() ? std::make_shared<const Json>(*std::move(object)) : nullptr;
}

}  // namespace kq::controllers
