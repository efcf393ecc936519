#ifndef LIBS_KUBE_TESTING_FAKE_STORE_H_
#define LIBS_KUBE_TESTING_FAKE_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/kube/kube_api.h"
#include "libs/kube/testing/selector.h"

namespace kq {

// How a FakeStore treats the objects of one resource.
struct FakeResource {
  std::string kind;  // what objects must say; empty: anything
  bool namespaced = true;
  // Writes to the object leave .status alone and writes to .status leave the rest;
  // metadata.generation counts the changes outside metadata and status.
  bool status_subresource = false;
  Json default_status = nullptr;  // of a new object; null: none
  // Further checks of what is about to be stored: kInvalidArgument refuses it.
  std::function<absl::Status(const Json&)> validate = nullptr;
};

struct FakeStoreLimits {
  size_t history = 10000;  // changes kept per resource; older ones are compacted away
  size_t lists = 64;       // lists of which pages are still wanted; of older ones the token is 410
};

// What the API server and its etcd do with objects, without wire, faults and
// threads: one version counter, optimistic concurrency, status subresource,
// finalizers, owner references, a history for watches. FakeKubeApi puts the rest
// around it. Errors are those of KubeApi. Not thread-safe.
class FakeStore {
 public:
  using ObjectPtr = std::shared_ptr<const Json>;

  // One change of an object; kBookmark marks a place between changes.
  struct Change {
    WatchEvent::Type type = WatchEvent::Type::kBookmark;
    uint64_t version = 0;
    ObjectPtr object;  // of a removal the last state with the removal's version
    ObjectPtr before;  // null if it was not there
  };

  explicit FakeStore(FakeStoreLimits limits) : limits_(limits) {}

  void AddResource(const KubeResource& resource, FakeResource options);
  // From the first call on, objects can be created in the namespaces named so alone.
  void AddNamespace(absl::string_view name);

  absl::StatusOr<ListPage> List(const ListRequest& request);
  absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) const;
  absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, Json object, absl::Time now);
  absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, Json object);
  absl::StatusOr<Json> Patch(const PatchRequest& request);
  absl::Status Delete(const DeleteRequest& request, absl::Time now);

  // Where a watch of the request begins in the history: an index for ChangeAt.
  // kOutOfRange if the changes after its version are no longer there.
  absl::StatusOr<uint64_t> OpenHistory(const WatchRequest& request) const;
  // The change at `index`; nullptr if it has not happened yet; kOutOfRange if it was compacted away.
  absl::StatusOr<const Change*> ChangeAt(const KubeResource& resource, uint64_t index) const;

  void AddBookmark(const KubeResource& resource);
  // Forgets all changes so far and the pages of running lists.
  void Compact();
  // Deletes what has owners none of which exists any more, and finishes deletions
  // in the foreground, until nothing changes; returns how many objects went.
  int CollectGarbage(absl::Time now);

  uint64_t version() const { return version_; }
  std::vector<Json> Objects(const KubeResource& resource) const;

 private:
  struct Kind {
    KubeResource resource;
    FakeResource options;
    std::map<ObjectKey, ObjectPtr> objects;
    std::deque<Change> history;
    uint64_t first_index = 0;  // of history.front()
    uint64_t compacted = 0;    // changes up to this version are gone
  };
  struct Listing {
    std::vector<ObjectPtr> items;
    uint64_t version = 0;
  };

  absl::StatusOr<const Kind*> Lookup(const KubeResource& resource) const;
  absl::StatusOr<Kind*> Lookup(const KubeResource& resource);
  absl::StatusOr<ObjectPtr> Lookup(const Kind& kind, const ObjectKey& key) const;
  absl::StatusOr<Json> Replace(Kind* kind, Subresource subresource, const ObjectPtr& before, Json next);
  void Record(Kind* kind, WatchEvent::Type type, ObjectPtr object, ObjectPtr before);
  void Remove(Kind* kind, const ObjectPtr& before);
  void DeleteObject(Kind* kind, const ObjectPtr& before, Propagation propagation, absl::Time now);
  void Orphan(absl::string_view owner_uid);
  // The uids of all objects, without those that are being deleted in the foreground.
  std::set<std::string> LivingUids() const;
  void CollectOnce(Kind* kind, const ObjectPtr& object, const std::set<std::string>& living, absl::Time now);
  bool HasDependents(absl::string_view owner_uid, const std::set<std::string>& living) const;
  size_t Count() const;

  const FakeStoreLimits limits_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::optional<std::set<std::string>> namespaces_;
  std::map<uint64_t, Listing> listings_;
  uint64_t next_listing_ = 1;
  uint64_t version_ = 0;
  uint64_t uids_ = 0;
};

}  // namespace kq

#endif  // LIBS_KUBE_TESTING_FAKE_STORE_H_
