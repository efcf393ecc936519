// Any bytes as an Accept header: the form is one that was offered, asking for more
// never takes a form away, and no header, however long, costs much.
//
//   bazel test --config=fuzz //services/visibility:accept_fuzz
//   bazel run --config=fuzz //services/visibility:accept_fuzz -- -max_total_time=60 DIR
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/visibility/accept.h"

namespace {

using kq::visibility::ChooseForm;
using kq::visibility::Form;

void Demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::vector<Form> all = {Form::kPlain, Form::kTable, Form::kAggregated, Form::kAggregatedBeta};
  const std::optional<Form> chosen = ChooseForm(text, all);
  for (const Form form : all) {
    const std::optional<Form> only = ChooseForm(text, {form});
    Demand(!only.has_value() || *only == form);
    // Who takes this form is given some form when there are more to choose from.
    Demand(!only.has_value() || chosen.has_value());
    Demand(chosen != form || only.has_value());
  }
  // Whoever takes anything as his first choice gets the first form that is offered.
  const std::string first = absl::StrCat("*/*,", text);
  Demand(ChooseForm(first, all).has_value());
  return 0;
}
