#ifndef LIBS_KUBE_KUBE_TARGET_H_
#define LIBS_KUBE_KUBE_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/object_key.h"
#include "libs/kube/kube_api.h"

// Paths and queries of the API server's REST interface, percent-encoded:
//
//   /api/v1/namespaces/NS/pods/NAME                       core
//   /apis/batch/v1/namespaces/NS/jobs/NAME/status         any other group
//   /apis/batch/v1/jobs?limit=500                         all namespaces
//
// Pure functions. kInvalidArgument: a resource without version or plural, or a
// name that cannot be one object's ("", ".", "..", with a slash); such a URL
// would reach another object or, on DELETE, a whole collection.
namespace kq {

absl::StatusOr<std::string> CollectionTarget(const KubeResource& resource, absl::string_view ns);
absl::StatusOr<std::string> ObjectTarget(const KubeResource& resource, const ObjectKey& key, Subresource subresource);
absl::StatusOr<std::string> ListTarget(const ListRequest& request);
// `timeout` is how long the server shall keep the watch open, rounded to seconds.
absl::StatusOr<std::string> WatchTarget(const WatchRequest& request, absl::Duration timeout);

}  // namespace kq

#endif  // LIBS_KUBE_KUBE_TARGET_H_
