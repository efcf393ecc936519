#ifndef LIBS_KUBE_CONDITIONAL_PATCH_H_
#define LIBS_KUBE_CONDITIONAL_PATCH_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "libs/common/json.h"
#include "libs/kube/kube_api.h"

namespace kq {

// The body of `request` made conditional: the server takes it only if the object
// has this uid (unless empty) and this version (unless 0), and answers kAborted
// otherwise.
Json ConditionalPatch(const PatchRequest& request, absl::string_view uid, uint64_t version);

}  // namespace kq

#endif  // LIBS_KUBE_CONDITIONAL_PATCH_H_
