#include "libs/kube/testing/fake_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "libs/common/status_macros.h"
#include "libs/kube/testing/json_patch.h"

namespace kq {
namespace {

constexpr char kForeground[] = "foregroundDeletion";

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

// Of an object whose metadata is known to be there.
JsonObject& Metadata(Json* object) { return object->as_object()["metadata"].as_object(); }
void SetVersion(Json* object, uint64_t version) { Metadata(object)["resourceVersion"] = absl::StrCat(version); }

bool Deleting(const Json& object) { return Find(object, {"metadata", "deletionTimestamp"}) != nullptr; }

const JsonArray* ArrayAt(const Json& object, absl::string_view name) {
  const Json* found = Find(object, {"metadata", name});
  return found == nullptr ? nullptr : found->if_array();
}
bool HasFinalizers(const Json& object) {
  const JsonArray* finalizers = ArrayAt(object, "finalizers");
  return finalizers != nullptr && !finalizers->empty();
}

bool DeletingInForeground(const Json& object) {
  const JsonArray* finalizers = ArrayAt(object, "finalizers");
  return Deleting(object) && finalizers != nullptr &&
         std::find(finalizers->begin(), finalizers->end(), Json(kForeground)) != finalizers->end();
}
bool HasOwner(const Json& object, const std::set<std::string>& uids) {
  const JsonArray* owners = ArrayAt(object, "ownerReferences");
  return owners != nullptr && std::any_of(owners->begin(), owners->end(),
                                          [&](const Json& owner) { return uids.count(StringAt(owner, {"uid"})) > 0; });
}

// Takes `field` of `metadata` from `before`, whatever the client sent.
void Keep(const Json& before, const char* field, JsonObject* metadata) {
  const Json* old = Find(before, {"metadata", field});
  if (old == nullptr) {
    metadata->erase(field);
  } else {
    (*metadata)[field] = *old;
  }
}

// What a change of which metadata.generation counts.
Json Substance(const Json& object) {
  JsonObject out = object.as_object();
  out.erase("metadata");
  out.erase("status");
  return out;
}

bool ValidName(absl::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (absl::string_view label : absl::StrSplit(name, '.')) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (label.empty() || !plain(label.front()) || !plain(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [&](char c) { return plain(c) || c == '-'; })) return false;
  }
  return true;
}

std::string ApiVersion(const KubeResource& resource) {
  return resource.group.empty() ? resource.version : absl::StrCat(resource.group, "/", resource.version);
}

absl::Status CheckType(const KubeResource& resource, const FakeResource& options, const Json& object) {
  if (!object.is_object()) return absl::InvalidArgumentError("the object is not a JSON object");
  const Json* metadata = Find(object, {"metadata"});
  if (metadata == nullptr || !metadata->is_object()) return absl::InvalidArgumentError("metadata: Required value");
  if (StringAt(object, {"apiVersion"}) != ApiVersion(resource)) {
    return absl::InvalidArgumentError(absl::StrCat("apiVersion: expected ", ApiVersion(resource)));
  }
  const std::string kind = StringAt(object, {"kind"});
  if (kind.empty() || (!options.kind.empty() && kind != options.kind)) {
    return absl::InvalidArgumentError(absl::StrCat("kind: expected ", options.kind, ", found \"", kind, "\""));
  }
  return absl::OkStatus();
}

absl::Status NotFound(const KubeResource& resource, const ObjectKey& key) {
  return absl::NotFoundError(absl::StrCat(resource.ToString(), " \"", key.name, "\" not found"));
}
absl::Status Conflict(const KubeResource& resource, const ObjectKey& key, absl::string_view why) {
  return absl::AbortedError(
      absl::StrCat("Operation cannot be fulfilled on ", resource.ToString(), " \"", key.name, "\": ", why));
}
constexpr char kModified[] = "the object has been modified; please apply your changes to the latest version";

// A write may name the version and the uid it is meant for.
absl::Status CheckPreconditions(const KubeResource& resource, const Json& before, const Json& next) {
  const std::string version = StringAt(next, {"metadata", "resourceVersion"});
  if (!version.empty() && version != StringAt(before, {"metadata", "resourceVersion"})) {
    return Conflict(resource, KeyOf(before), kModified);
  }
  const std::string uid = UidOf(next);
  if (!uid.empty() && uid != UidOf(before)) {
    return Conflict(
        resource, KeyOf(before),
        absl::StrCat("Precondition failed: UID in precondition: ", uid, ", UID in object meta: ", UidOf(before)));
  }
  return absl::OkStatus();
}

}  // namespace

void FakeStore::AddResource(const KubeResource& resource, FakeResource options) {
  auto kind = std::make_unique<Kind>();
  kind->resource = resource;
  kind->options = std::move(options);
  kind->compacted = version_;
  kinds_.push_back(std::move(kind));
}

void FakeStore::AddNamespace(absl::string_view name) {
  if (!namespaces_) namespaces_.emplace();
  namespaces_->emplace(name);
}

absl::StatusOr<const FakeStore::Kind*> FakeStore::Lookup(const KubeResource& resource) const {
  for (const auto& kind : kinds_) {
    if (kind->resource == resource) return kind.get();
  }
  return absl::NotFoundError(absl::StrCat(resource.ToString(), ": the server could not find the requested resource"));
}

absl::StatusOr<FakeStore::Kind*> FakeStore::Lookup(const KubeResource& resource) {
  KQ_ASSIGN_OR_RETURN(const Kind* kind, std::as_const(*this).Lookup(resource));
  return const_cast<Kind*>(kind);
}

absl::StatusOr<FakeStore::ObjectPtr> FakeStore::Lookup(const Kind& kind, const ObjectKey& key) const {
  const auto found = kind.objects.find(key);
  if (found == kind.objects.end()) return NotFound(kind.resource, key);
  return found->second;
}

absl::StatusOr<ListPage> FakeStore::List(const ListRequest& request) {
  KQ_ASSIGN_OR_RETURN(const Kind* kind, std::as_const(*this).Lookup(request.resource));
  uint64_t id = 0, offset = 0;
  if (request.continue_token.empty()) {
    KQ_ASSIGN_OR_RETURN(const Selector selector, Selector::Parse(request.label_selector, request.field_selector));
    id = next_listing_++;
    Listing& listing = listings_[id];
    listing.version = version_;
    for (const auto& [key, object] : kind->objects) {
      if ((request.ns.empty() || key.ns == request.ns) && selector.Matches(*object)) listing.items.push_back(object);
    }
    if (listings_.size() > limits_.lists) listings_.erase(listings_.begin());
  } else {
    const std::vector<std::string> parts = absl::StrSplit(request.continue_token, ':');
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &id) || !absl::SimpleAtoi(parts[1], &offset)) {
      return absl::InvalidArgumentError("continue key is not valid");
    }
  }
  const auto found = listings_.find(id);
  if (found == listings_.end()) return absl::OutOfRangeError("The provided continue parameter is too old");
  const Listing& listing = found->second;
  ListPage page;
  page.version = listing.version;
  const size_t limit = request.page_size > 0 ? request.page_size : listing.items.size();
  const size_t begin = std::min<size_t>(offset, listing.items.size());
  const size_t end = begin + std::min(limit, listing.items.size() - begin);
  for (size_t i = begin; i < end; ++i) {
    Json item = *listing.items[i];
    item.as_object().erase("kind");
    item.as_object().erase("apiVersion");
    page.items.push_back(std::move(item));
  }
  if (end < listing.items.size()) {
    page.continue_token = absl::StrCat(id, ":", end);
  } else if (begin == 0) {
    listings_.erase(found);
  }
  return page;
}

absl::StatusOr<Json> FakeStore::Get(const KubeResource& resource, const ObjectKey& key) const {
  KQ_ASSIGN_OR_RETURN(const Kind* kind, Lookup(resource));
  KQ_ASSIGN_OR_RETURN(const ObjectPtr object, Lookup(*kind, key));
  return *object;
}

absl::StatusOr<Json> FakeStore::Create(const KubeResource& resource, absl::string_view ns, Json object,
                                       absl::Time now) {
  KQ_ASSIGN_OR_RETURN(Kind * kind, Lookup(resource));
  KQ_RETURN_IF_ERROR(CheckType(resource, kind->options, object));
  if (kind->options.namespaced == ns.empty())
    return absl::InvalidArgumentError("the namespace does not fit the resource");
  if (namespaces_ && !ns.empty() && namespaces_->find(std::string(ns)) == namespaces_->end()) {
    return absl::NotFoundError(absl::StrCat("namespaces \"", ns, "\" not found"));
  }
  JsonObject& metadata = Metadata(&object);
  ObjectKey key = KeyOf(object);
  if (!key.ns.empty() && key.ns != ns) {
    return absl::InvalidArgumentError("the namespace of the object does not match the namespace of the request");
  }
  if (metadata.contains("resourceVersion") && VersionOf(object) != 0) {
    return absl::InvalidArgumentError("resourceVersion should not be set on objects to be created");
  }
  const std::string prefix = StringAt(object, {"metadata", "generateName"});
  if (key.name.empty() && !prefix.empty()) key.name = absl::StrCat(prefix, absl::StrFormat("%05x", version_ + 1));
  if (!ValidName(key.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(resource.ToString(), " is invalid: metadata.name: \"", key.name, "\""));
  }
  key.ns = std::string(ns);
  if (kind->objects.find(key) != kind->objects.end()) {
    return absl::AlreadyExistsError(absl::StrCat(resource.ToString(), " \"", key.name, "\" already exists"));
  }
  if (kind->options.status_subresource) {
    object.as_object().erase("status");
    if (!kind->options.default_status.is_null()) object.as_object()["status"] = kind->options.default_status;
  }
  if (kind->options.validate) KQ_RETURN_IF_ERROR(kind->options.validate(object));
  metadata["name"] = key.name;
  if (!ns.empty()) metadata["namespace"] = key.ns;
  metadata["uid"] = absl::StrFormat("00000000-0000-4000-8000-%012x", ++uids_);
  metadata["creationTimestamp"] = TimeText(now);
  metadata.erase("deletionTimestamp");
  if (kind->options.status_subresource) metadata["generation"] = 1;
  SetVersion(&object, ++version_);
  auto stored = std::make_shared<const Json>(std::move(object));
  kind->objects[key] = stored;
  Record(kind, WatchEvent::Type::kAdded, stored, nullptr);
  return *stored;
}

absl::StatusOr<Json> FakeStore::Update(const KubeResource& resource, Subresource subresource, Json object) {
  KQ_ASSIGN_OR_RETURN(Kind * kind, Lookup(resource));
  KQ_RETURN_IF_ERROR(CheckType(resource, kind->options, object));
  KQ_ASSIGN_OR_RETURN(const ObjectPtr before, Lookup(*kind, KeyOf(object)));
  if (VersionOf(object) == 0) {
    return absl::InvalidArgumentError("metadata.resourceVersion: Invalid value: must be specified for an update");
  }
  return Replace(kind, subresource, before, std::move(object));
}

absl::StatusOr<Json> FakeStore::Patch(const PatchRequest& request) {
  KQ_ASSIGN_OR_RETURN(Kind * kind, Lookup(request.resource));
  KQ_ASSIGN_OR_RETURN(const ObjectPtr before, Lookup(*kind, request.key));
  Json next;
  switch (request.type) {
    case PatchType::kMerge:
    case PatchType::kStrategicMerge:
      if (!request.patch.is_object()) return absl::InvalidArgumentError("the patch is not a JSON object");
      next = MergePatch(*before, request.patch);
      break;
    case PatchType::kJson: {
      KQ_ASSIGN_OR_RETURN(next, JsonPatch(*before, request.patch));
      break;
    }
  }
  KQ_RETURN_IF_ERROR(CheckType(request.resource, kind->options, next));
  if (KeyOf(next) != request.key) return absl::InvalidArgumentError("the name of the object does not match the URL");
  return Replace(kind, request.subresource, before, std::move(next));
}

// Puts `next` in the place of `before`: preconditions, what a client may not
// change, the subresource's part, and nothing at all if it is the same.
absl::StatusOr<Json> FakeStore::Replace(Kind* kind, Subresource subresource, const ObjectPtr& before, Json next) {
  KQ_RETURN_IF_ERROR(CheckPreconditions(kind->resource, *before, next));
  const bool split = kind->options.status_subresource;
  if (subresource == Subresource::kStatus && !split) return NotFound(kind->resource, KeyOf(*before));
  const auto take_status = [](const Json& from, Json* to) {
    const Json* status = Find(from, {"status"});
    to->as_object().erase("status");
    if (status != nullptr) to->as_object()["status"] = *status;
  };
  if (subresource == Subresource::kStatus) {
    Json merged = *before;
    take_status(next, &merged);
    next = std::move(merged);
  } else {
    if (split) take_status(*before, &next);
    for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation",
                              "deletionTimestamp", "deletionGracePeriodSeconds"}) {
      Keep(*before, field, &Metadata(&next));
    }
  }
  if (next == *before) return *before;
  if (kind->options.validate) KQ_RETURN_IF_ERROR(kind->options.validate(next));
  if (split && Substance(next) != Substance(*before)) {
    const Json* generation = Find(*before, {"metadata", "generation"});
    Metadata(&next)["generation"] = generation == nullptr ? 1 : generation->to_number<int64_t>() + 1;
  }
  SetVersion(&next, version_ + 1);
  auto stored = std::make_shared<const Json>(std::move(next));
  if (Deleting(*stored) && !HasFinalizers(*stored)) {
    Remove(kind, stored);
    return *stored;
  }
  ++version_;
  kind->objects[KeyOf(*stored)] = stored;
  Record(kind, WatchEvent::Type::kModified, stored, before);
  return *stored;
}

absl::Status FakeStore::Delete(const DeleteRequest& request, absl::Time now) {
  KQ_ASSIGN_OR_RETURN(Kind * kind, Lookup(request.resource));
  KQ_ASSIGN_OR_RETURN(const ObjectPtr before, Lookup(*kind, request.key));
  if (!request.uid.empty() && request.uid != UidOf(*before)) {
    return Conflict(request.resource, request.key,
                    absl::StrCat("Precondition failed: UID in precondition: ", request.uid,
                                 ", UID in object meta: ", UidOf(*before)));
  }
  if (request.version != 0 && request.version != VersionOf(*before)) {
    return Conflict(request.resource, request.key,
                    absl::StrCat("Precondition failed: ResourceVersion in precondition: ", request.version,
                                 ", ResourceVersion in object meta: ", VersionOf(*before)));
  }
  DeleteObject(kind, before, request.propagation, now);
  return absl::OkStatus();
}

void FakeStore::DeleteObject(Kind* kind, const ObjectPtr& before, Propagation propagation, absl::Time now) {
  if (propagation == Propagation::kOrphan) Orphan(UidOf(*before));
  Json next = *before;
  if (propagation == Propagation::kForeground && !Deleting(*before)) {
    Json& finalizers = Metadata(&next)["finalizers"];
    if (!finalizers.is_array()) finalizers = JsonArray();
    finalizers.as_array().push_back(kForeground);
  }
  if (!HasFinalizers(next)) {
    Remove(kind, before);
    return;
  }
  if (Deleting(*before)) return;  // it waits for its finalizers already
  Metadata(&next)["deletionTimestamp"] = TimeText(now);
  Metadata(&next)["deletionGracePeriodSeconds"] = 0;
  SetVersion(&next, ++version_);
  auto stored = std::make_shared<const Json>(std::move(next));
  kind->objects[KeyOf(*stored)] = stored;
  Record(kind, WatchEvent::Type::kModified, stored, before);
}

void FakeStore::Remove(Kind* kind, const ObjectPtr& before) {
  Json last = *before;
  SetVersion(&last, ++version_);
  kind->objects.erase(KeyOf(last));
  Record(kind, WatchEvent::Type::kDeleted, std::make_shared<const Json>(std::move(last)), before);
}

void FakeStore::Record(Kind* kind, WatchEvent::Type type, ObjectPtr object, ObjectPtr before) {
  kind->history.push_back({type, version_, std::move(object), std::move(before)});
  while (kind->history.size() > limits_.history) {
    kind->compacted = kind->history.front().version;
    kind->history.pop_front();
    ++kind->first_index;
  }
}

absl::StatusOr<uint64_t> FakeStore::OpenHistory(const WatchRequest& request) const {
  KQ_ASSIGN_OR_RETURN(const Kind* kind, Lookup(request.resource));
  if (request.from_version < kind->compacted) {
    return absl::OutOfRangeError(absl::StrCat("too old resource version: ", request.from_version));
  }
  const auto after = std::upper_bound(kind->history.begin(), kind->history.end(), request.from_version,
                                      [](uint64_t version, const Change& change) { return version < change.version; });
  return kind->first_index + static_cast<uint64_t>(after - kind->history.begin());
}

absl::StatusOr<const FakeStore::Change*> FakeStore::ChangeAt(const KubeResource& resource, uint64_t index) const {
  KQ_ASSIGN_OR_RETURN(const Kind* kind, Lookup(resource));
  if (index < kind->first_index) return absl::OutOfRangeError("too old resource version: the history is gone");
  if (index - kind->first_index >= kind->history.size()) return nullptr;
  return &kind->history[index - kind->first_index];
}

void FakeStore::AddBookmark(const KubeResource& resource) {
  const absl::StatusOr<Kind*> kind = Lookup(resource);
  if (!kind.ok()) return;
  Json object = {{"kind", (*kind)->options.kind}, {"metadata", {{"resourceVersion", absl::StrCat(version_)}}}};
  Record(*kind, WatchEvent::Type::kBookmark, std::make_shared<const Json>(std::move(object)), nullptr);
}

void FakeStore::Compact() {
  listings_.clear();
  for (const auto& kind : kinds_) {
    kind->first_index += kind->history.size();
    kind->history.clear();
    kind->compacted = version_;
  }
}

std::set<std::string> FakeStore::LivingUids() const {
  std::set<std::string> uids;
  for (const auto& kind : kinds_) {
    for (const auto& [key, object] : kind->objects) {
      if (!DeletingInForeground(*object)) uids.insert(UidOf(*object));
    }
  }
  return uids;
}

// Those with another living owner do not hold the deletion up.
bool FakeStore::HasDependents(absl::string_view owner_uid, const std::set<std::string>& living) const {
  for (const auto& kind : kinds_) {
    for (const auto& [key, object] : kind->objects) {
      if (HasOwner(*object, {std::string(owner_uid)}) && !HasOwner(*object, living)) return true;
    }
  }
  return false;
}

size_t FakeStore::Count() const {
  size_t count = 0;
  for (const auto& kind : kinds_) count += kind->objects.size();
  return count;
}

void FakeStore::Orphan(absl::string_view owner_uid) {
  for (const auto& kind : kinds_) {
    const std::map<ObjectKey, ObjectPtr> objects = kind->objects;
    for (const auto& [key, object] : objects) {
      const JsonArray* owners = ArrayAt(*object, "ownerReferences");
      if (owners == nullptr) continue;
      JsonArray rest;
      for (const Json& owner : *owners) {
        if (StringAt(owner, {"uid"}) != owner_uid) rest.push_back(owner);
      }
      if (rest.size() == owners->size()) continue;
      Json next = *object;
      Metadata(&next)["ownerReferences"] = std::move(rest);
      SetVersion(&next, ++version_);
      auto stored = std::make_shared<const Json>(std::move(next));
      kind->objects[key] = stored;
      Record(kind.get(), WatchEvent::Type::kModified, stored, object);
    }
  }
}

int FakeStore::CollectGarbage(absl::Time now) {
  const size_t before = Count();
  uint64_t version = 0;
  do {
    version = version_;
    const std::set<std::string> living = LivingUids();
    for (const auto& kind : kinds_) {
      const std::map<ObjectKey, ObjectPtr> objects = kind->objects;  // the loop changes them
      for (const auto& [key, object] : objects) CollectOnce(kind.get(), object, living, now);
    }
  } while (version != version_);
  return static_cast<int>(before - Count());
}

void FakeStore::CollectOnce(Kind* kind, const ObjectPtr& object, const std::set<std::string>& living, absl::Time now) {
  const JsonArray* owners = ArrayAt(*object, "ownerReferences");
  if (owners != nullptr && !owners->empty() && !HasOwner(*object, living)) {
    DeleteObject(kind, object, Propagation::kBackground, now);
  } else if (DeletingInForeground(*object) && !HasDependents(UidOf(*object), living)) {
    Json next = *object;
    JsonArray& finalizers = Metadata(&next)["finalizers"].as_array();
    finalizers.erase(std::find(finalizers.begin(), finalizers.end(), Json(kForeground)));
    const auto stored = std::make_shared<const Json>(std::move(next));
    if (!HasFinalizers(*stored)) Remove(kind, stored);
  }
}

std::vector<Json> FakeStore::Objects(const KubeResource& resource) const {
  std::vector<Json> out;
  const absl::StatusOr<const Kind*> kind = Lookup(resource);
  if (!kind.ok()) return out;
  for (const auto& [key, object] : (*kind)->objects) out.push_back(*object);
  return out;
}

}  // namespace kq
