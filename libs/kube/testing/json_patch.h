#ifndef LIBS_KUBE_TESTING_JSON_PATCH_H_
#define LIBS_KUBE_TESTING_JSON_PATCH_H_

#include "absl/status/statusor.h"
#include "libs/common/json.h"

// The two ways of changing a JSON value that an API server takes. Pure.
namespace kq {

// RFC 7386: objects are merged field by field, null takes a field away,
// everything else (arrays too) replaces what was there.
Json MergePatch(const Json& target, const Json& patch);

// RFC 6902 with the operations test, add, replace and remove. kInvalidArgument
// names the operation that is malformed, has no target or whose test failed.
absl::StatusOr<Json> JsonPatch(const Json& target, const Json& patch);

}  // namespace kq

#endif  // LIBS_KUBE_TESTING_JSON_PATCH_H_
