#ifndef LIBS_COMMON_INTERNAL_JSON_STRING_H_
#define LIBS_COMMON_INTERNAL_JSON_STRING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kq {

// Appends `text` to `out` as a JSON string, with its quotes. Control characters
// are escaped, so the result is always one line; other bytes are kept as they are.
inline void AppendJsonString(absl::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->reserve(out->size() + text.size() + 2);
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (byte < 0x20 || byte == 0x7f) {
      out->append("\\u00");
      out->push_back(kHex[byte >> 4]);
      out->push_back(kHex[byte & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

}  // namespace kq

#endif  // LIBS_COMMON_INTERNAL_JSON_STRING_H_
