#include "libs/kube/conditional_patch.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace kq {

Json ConditionalPatch(const PatchRequest& request, absl::string_view uid, uint64_t version) {
  Json patch = request.patch;
  const std::string wanted_uid(uid);
  switch (request.type) {
    case PatchType::kMerge:
    case PatchType::kStrategicMerge: {
      if (!patch.is_object()) return patch;  // the server will refuse it and say why
      Json& metadata = patch.as_object()["metadata"];
      if (!metadata.is_object()) metadata = JsonObject();
      if (version != 0) metadata.as_object()["resourceVersion"] = absl::StrCat(version);
      if (!wanted_uid.empty()) metadata.as_object()["uid"] = wanted_uid;
      return patch;
    }
    case PatchType::kJson: {
      if (!patch.is_array()) return patch;
      // Replacing a version by another one is a conflict; a failed "test" would be
      // reported as a malformed patch.
      JsonArray& operations = patch.as_array();
      const auto require = [&](const char* path, const std::string& value) {
        operations.insert(operations.begin(), Json{{"op", "replace"}, {"path", path}, {"value", value}});
      };
      if (version != 0) require("/metadata/resourceVersion", absl::StrCat(version));
      if (!wanted_uid.empty()) require("/metadata/uid", wanted_uid);
      return patch;
    }
  }
  return patch;
}

}  // namespace kq
