#ifndef LIBS_COMMON_INTERNAL_JSON_STRING_H_
#define LIBS_COMMON_INTERNAL_JSON_STRING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kq {

// Appends `text` to `out` as a JSON string, with its quotes. Control characters
// are escaped, so the result is always one line. Each byte that is part of no
// UTF-8 sequence becomes U+FFFD, as Go does it: whatever a stranger sent, and
// whoever cut it, what comes out is JSON.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace kq

#endif  // LIBS_COMMON_INTERNAL_JSON_STRING_H_
