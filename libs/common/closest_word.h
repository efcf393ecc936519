#ifndef LIBS_COMMON_CLOSEST_WORD_H_
#define LIBS_COMMON_CLOSEST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kq {

// The one of `known` that somebody who typed `word` may have meant: the only one that
// it begins, or the one with the fewest slips between them. A slip is a letter that is
// wrong, missing or too many, or two that changed places; up to two are forgiven, fewer
// in a short word, and upper case is no slip. Empty if none is near. Pure.
std::string ClosestWord(absl::string_view word, const std::vector<std::string>& known);

}  // namespace kq

#endif  // LIBS_COMMON_CLOSEST_WORD_H_
