#include "libs/common/internal/json_string.h"

#include <cstddef>
#include <cstdint>

namespace kq {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";

uint8_t ByteAt(absl::string_view text, size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; }

bool IsBetween(uint8_t byte, uint8_t low, uint8_t high) { return low <= byte && byte <= high; }

// The length of the sequence of two to four bytes that `text` begins with; 0 if it
// begins with none: too long for what it means, a surrogate, beyond U+10FFFF, cut off.
size_t SequenceLength(absl::string_view text) {
  const uint8_t first = ByteAt(text, 0), second = ByteAt(text, 1);
  size_t length = 0;
  uint8_t low = 0x80, high = 0xBF;  // of the second byte
  if (IsBetween(first, 0xC2, 0xDF)) {
    length = 2;
  } else if (IsBetween(first, 0xE0, 0xEF)) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (IsBetween(first, 0xF0, 0xF4)) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || !IsBetween(second, low, high)) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!IsBetween(ByteAt(text, i), 0x80, 0xBF)) return 0;
  }
  return length;
}

void AppendAscii(char c, std::string* out) {
  const auto byte = static_cast<uint8_t>(c);
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

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  out->reserve(out->size() + text.size() + 2);
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    if (static_cast<uint8_t>(text[i]) < 0x80) {
      AppendAscii(text[i++], out);
    } else if (const size_t length = SequenceLength(text.substr(i)); length > 0) {
      out->append(text.data() + i, length);
      i += length;
    } else {
      out->append(kReplacement.data(), kReplacement.size());
      ++i;
    }
  }
  out->push_back('"');
}

}  // namespace kq
