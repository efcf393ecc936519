#ifndef SERVICES_VISIBILITY_ACCEPT_H_
#define SERVICES_VISIBILITY_ACCEPT_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace kq::visibility {

// Forms in which an answer can be given; all of them are JSON.
enum class Form {
  kPlain,           // application/json
  kTable,           // ;as=Table;v=v1;g=meta.k8s.io
  kAggregated,      // ;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io
  kAggregatedBeta,  // the same with v=v2beta1
};

// The form of `offered` that an Accept header likes best: larger q first, then the
// order of the header. An absent or empty header takes the first one offered. nullopt
// if none is acceptable.
std::optional<Form> ChooseForm(absl::string_view accept, const std::vector<Form>& offered);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_ACCEPT_H_
