#include "libs/kube/raw_json.h"

#include <algorithm>
#include <string>

#include "libs/common/json.h"

namespace kq {
namespace {

class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) {}

  std::vector<RawJsonMember> Members() {
    std::vector<RawJsonMember> out;
    SkipSpace();
    const bool object = Peek() == '{';
    if (!object && Peek() != '[') return out;
    do {
      ++at_;  // the bracket or a comma
      SkipSpace();
      RawJsonMember member;
      if (object) {
        if (Peek() != '"') return out;
        member.key = Unquoted(Value());
        SkipSpace();
        if (Peek() != ':') return out;
        ++at_;
        SkipSpace();
      }
      member.value = Value();
      if (member.value.empty()) return out;
      out.push_back(member);
      SkipSpace();
    } while (Peek() == ',');
    return out;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipSpace() {
    while (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t') ++at_;
  }

  static absl::string_view Unquoted(absl::string_view text) {
    return text.size() < 2 || text[0] != '"' ? absl::string_view() : text.substr(1, text.size() - 2);
  }

  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  // The value that begins here: a string, everything between matching brackets,
  // or a number or word.
  absl::string_view Value() {
    const size_t begin = at_;
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        if (depth == 0) break;
        continue;
      }
      const bool closes = c == '}' || c == ']';
      if (depth == 0 && (closes || c == ',' || c == ':')) break;
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if (closes && --depth == 0) break;
    }
    return text_.substr(begin, at_ - begin);
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<RawJsonMember> RawMembers(absl::string_view text) { return Scanner(text).Members(); }

absl::string_view RawMember(absl::string_view object, absl::string_view key) {
  absl::string_view found;
  for (const RawJsonMember& member : RawMembers(object)) {
    if (member.key == key) found = member.value;
  }
  return found;
}

ObjectKey KeyInText(absl::string_view object) {
  const absl::string_view metadata = RawMember(object, "metadata");
  const auto text = [metadata](absl::string_view field) -> std::string {
    const absl::StatusOr<Json> value = ParseJson(RawMember(metadata, field));
    return value.ok() && value->is_string() ? std::string(value->get_string().c_str()) : "";
  };
  return {text("namespace"), text("name")};
}

}  // namespace kq
