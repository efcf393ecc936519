#ifndef LIBS_KUBE_TESTING_SELECTOR_H_
#define LIBS_KUBE_TESTING_SELECTOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/common/json.h"

namespace kq {

// Which objects a list or a watch shows: the label and the field selector of a
// request, all of whose parts must hold. A value.
class Selector {
 public:
  // Labels: "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,c)", "a", "!a", with
  // commas between. Fields: "path.to.field=value" and "!=". kInvalidArgument names
  // the part that cannot be read.
  static absl::StatusOr<Selector> Parse(absl::string_view labels, absl::string_view fields);

  bool Matches(const Json& object) const;

 private:
  enum class Test { kIn, kNotIn, kExists, kAbsent };
  struct Part {
    std::vector<std::string> path;
    Test test = Test::kIn;
    std::vector<std::string> values;
    // A field that is absent has the value ""; a label that is absent has none.
    bool absent_is_empty = false;
  };

  static absl::StatusOr<Part> ParseLabel(absl::string_view text);
  static absl::StatusOr<Part> ParseField(absl::string_view text);

  std::vector<Part> parts_;
};

}  // namespace kq

#endif  // LIBS_KUBE_TESTING_SELECTOR_H_
