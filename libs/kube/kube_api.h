#ifndef LIBS_KUBE_KUBE_API_H_
#define LIBS_KUBE_KUBE_API_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/common/json.h"

// The Kubernetes API server, without knowledge of any kind.
//
// Errors, for every call:
//   kNotFound            404: the object, or the whole resource (its CRD), is not there
//   kAlreadyExists       409 on create
//   kAborted             409 on anything else: read again, decide again
//   kOutOfRange          410: the version is too old, list again
//   kInvalidArgument     400, 413, 422: the object was refused; the message is the server's
//   kPermissionDenied    403          kUnauthenticated  401
//   kUnavailable         429, 5xx with the promise that nothing was done, no connection:
//                        the same call may be made again; see RetryAfter
//   kDeadlineExceeded, kUnknown
//                        the request was sent and its outcome is not known: a write
//                        may have taken effect. Never guess; read the object.
namespace kq {

// Names a resource as in a URL: {"batch", "v1", "jobs"}; core has group "".
struct KubeResource {
  std::string group;
  std::string version;
  std::string plural;

  // "jobs.batch", "pods"
  std::string ToString() const { return group.empty() ? plural : plural + "." + group; }
  friend bool operator==(const KubeResource&, const KubeResource&) = default;
};

struct ListRequest {
  KubeResource resource;
  std::string ns = {};  // empty: all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  int page_size = 500;
  std::string continue_token = {};  // of the page before; empty for the first
};

// An object that is there but cannot be decoded. Its key is empty if not even
// that can be read.
struct BrokenObject {
  ObjectKey key;
  absl::Status why;
};

struct ListPage {
  // Without kind and apiVersion, as the server sends them. They share one piece of
  // memory, which an item that is moved away and kept holds as a whole.
  std::vector<Json> items;
  std::vector<BrokenObject> broken;  // the others; they exist, so nobody may take them for removed
  uint64_t version = 0;              // the list's resourceVersion
  std::string continue_token;        // empty on the last page
};

struct WatchRequest {
  KubeResource resource;
  std::string ns;
  std::string label_selector;
  std::string field_selector;
  uint64_t from_version = 0;  // events after this one
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kBookmark;
  Json object;  // of a bookmark only metadata.resourceVersion counts
};

// One running watch. Not thread-safe, except Cancel.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  // The next event; nullopt if none came within `timeout`. kOutOfRange: list
  // again. kUnavailable: the stream was cut or ended, watch again from the last
  // version. kInvalidArgument: this event could not be decoded (the message
  // names the object), the stream goes on.
  virtual absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration timeout) = 0;
  // Lets a Next that waits in another thread return kCancelled at once.
  virtual void Cancel() = 0;
};

enum class PatchType { kMerge, kJson, kStrategicMerge };

// Which part of an object a write goes to.
enum class Subresource { kNone, kStatus };

struct PatchRequest {
  KubeResource resource;
  ObjectKey key;
  Subresource subresource = Subresource::kNone;
  PatchType type = PatchType::kMerge;
  // To make the write conditional, put metadata.resourceVersion (and uid) into
  // a merge patch: the server answers kAborted if it does not hold.
  Json patch;
};

enum class Propagation { kBackground, kForeground, kOrphan };

struct DeleteRequest {
  KubeResource resource;
  ObjectKey key;
  std::string uid = {};  // precondition if not empty
  uint64_t version = 0;  // precondition if not 0
  Propagation propagation = Propagation::kBackground;
};

// Thread-safe: any number of threads may call at once; calls block.
class KubeApi {
 public:
  virtual ~KubeApi() = default;

  virtual absl::StatusOr<ListPage> List(const ListRequest& request) = 0;
  virtual absl::StatusOr<std::unique_ptr<WatchStream>> Watch(const WatchRequest& request) = 0;
  virtual absl::StatusOr<Json> Get(const KubeResource& resource, const ObjectKey& key) = 0;
  // Create and Update return the object as the server now has it.
  virtual absl::StatusOr<Json> Create(const KubeResource& resource, absl::string_view ns, const Json& object) = 0;
  virtual absl::StatusOr<Json> Update(const KubeResource& resource, Subresource subresource, const Json& object) = 0;
  virtual absl::StatusOr<Json> Patch(const PatchRequest& request) = 0;
  virtual absl::Status Delete(const DeleteRequest& request) = 0;
};

// Whether a write that failed with `status` may nevertheless have taken effect.
bool OutcomeUnknown(const absl::Status& status);

// How long the server asked to wait before the same call, from Retry-After.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);
void SetRetryAfter(absl::Status* status, absl::Duration delay);

// Metadata of any object.
ObjectKey KeyOf(const Json& object);
std::string UidOf(const Json& object);
// metadata.resourceVersion as a number; 0 if absent. Ordered since Kubernetes
// 1.35 by contract, before that by how etcd works.
uint64_t VersionOf(const Json& object);

}  // namespace kq

#endif  // LIBS_KUBE_KUBE_API_H_
