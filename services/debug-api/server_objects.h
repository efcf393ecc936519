#ifndef SERVICES_DEBUG_API_SERVER_OBJECTS_H_
#define SERVICES_DEBUG_API_SERVER_OBJECTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/api/object_key.h"
#include "libs/api/quota.h"
#include "libs/api/resources.h"
#include "libs/kube/kube_api.h"

namespace kq::debug_api {

// Of a QueueUnit on the API server, what the books can be compared with.
struct ServerUnit {
  std::string uid;
  std::string quota;
  std::string phase;  // as shown: "Enqueued" if unset
  bool finished = false;
  Resources held;  // by the one arithmetic of amounts
};

// Every QueueUnit and ElasticQuota on the API server. A value.
struct ServerObjects {
  std::map<ObjectKey, ServerUnit> units;
  std::map<ObjectKey, Quota> quotas;
  // That are there but cannot be read, "queueunits ns/name: why"; they are not compared.
  std::map<std::string, std::string> unreadable;
};

// More objects of a kind are not listed.
inline constexpr size_t kMaxListed = 500'000;

// Lists both kinds, page by page. A list whose pages are too old to go on with is
// begun anew, three times at most. Errors are the API server's, with the resource
// before them; kResourceExhausted beyond kMaxListed.
absl::StatusOr<ServerObjects> ListServerObjects(KubeApi* api);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_SERVER_OBJECTS_H_
