#ifndef LIBS_COMMON_YAML_H_
#define LIBS_COMMON_YAML_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/common/json.h"

// YAML texts as JSON values: configuration, kubeconfig, scenarios. yaml-cpp
// does the work; its exceptions end here.
//
// Plain scalars are read as YAML 1.2 says: null, true and false, integers (also
// 0x and 0o), decimals; all else is a string, "yes" and "no" among them. A date is
// a string. Quoted scalars are strings. Aliases are written out.
//
// Errors are kInvalidArgument and begin with the place ("line 3, column 7: ...").
// Refused besides malformed text: a key that occurs twice in one mapping, tags
// other than YAML's own, .inf and .nan, and whatever exceeds the limits below.
namespace kq {

struct YamlLimits {
  size_t bytes = 4 << 20;   // of the text
  size_t depth = 64;        // of nesting
  size_t values = 200'000;  // after aliases are written out
};

// The one document of `text`; null if there is none. More than one is an error.
absl::StatusOr<Json> ParseYaml(absl::string_view text, const YamlLimits& limits = {});
// All documents; empty ones are left out.
absl::StatusOr<std::vector<Json>> ParseYamlDocuments(absl::string_view text, const YamlLimits& limits = {});

// Block style, keys in the order of the value, ends with a newline. What it
// writes, ParseYaml reads back as the same value.
std::string YamlText(const Json& value);

}  // namespace kq

#endif  // LIBS_COMMON_YAML_H_
