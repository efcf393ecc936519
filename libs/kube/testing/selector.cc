#include "libs/kube/testing/selector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

absl::Status Malformed(absl::string_view part) {
  return absl::InvalidArgumentError(absl::StrCat("selector: cannot read \"", part, "\""));
}

// The parts between commas; a comma inside parentheses separates values.
std::vector<std::string> Split(absl::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(std::exchange(part, ""));
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

// "name op value" for the operators of equality; nullopt if there is none.
struct Equality {
  std::string name, value;
  bool equal = true;
};
std::optional<Equality> ParseEquality(absl::string_view text) {
  for (absl::string_view op : {"!=", "==", "="}) {
    const size_t at = text.find(op);
    if (at == absl::string_view::npos) continue;
    return Equality{std::string(absl::StripAsciiWhitespace(text.substr(0, at))),
                    std::string(absl::StripAsciiWhitespace(text.substr(at + op.size()))), op != "!="};
  }
  return std::nullopt;
}

// Strings as they are, other plain values as JSON prints them; nullopt if there is nothing.
std::optional<std::string> TextAt(const Json& object, const std::vector<std::string>& path) {
  const Json* value = &object;
  for (const std::string& step : path) {
    value = Find(*value, {step});
    if (value == nullptr) return std::nullopt;
  }
  if (const auto* text = value->if_string()) return std::string(text->data(), text->size());
  return JsonText(*value);
}

}  // namespace

absl::StatusOr<Selector::Part> Selector::ParseLabel(absl::string_view text) {
  Part part;
  std::string name;
  const size_t open = text.find('(');
  if (open != absl::string_view::npos) {
    if (!absl::EndsWith(text, ")")) return Malformed(text);
    const std::vector<std::string> words = absl::StrSplit(text.substr(0, open), ' ', absl::SkipEmpty());
    if (words.size() != 2 || (words[1] != "in" && words[1] != "notin")) return Malformed(text);
    name = words[0];
    part.test = words[1] == "in" ? Test::kIn : Test::kNotIn;
    for (absl::string_view value : absl::StrSplit(text.substr(open + 1, text.size() - open - 2), ',')) {
      part.values.emplace_back(absl::StripAsciiWhitespace(value));
    }
  } else if (std::optional<Equality> equality = ParseEquality(text)) {
    name = equality->name;
    part.test = equality->equal ? Test::kIn : Test::kNotIn;
    part.values = {equality->value};
  } else if (absl::ConsumePrefix(&text, "!")) {
    name = std::string(text);
    part.test = Test::kAbsent;
  } else {
    name = std::string(text);
    part.test = Test::kExists;
  }
  if (name.empty() || name.find_first_of(" !=()") != std::string::npos) return Malformed(text);
  part.path = {"metadata", "labels", name};
  return part;
}

absl::StatusOr<Selector::Part> Selector::ParseField(absl::string_view text) {
  const std::optional<Equality> equality = ParseEquality(text);
  if (!equality || equality->name.empty()) return Malformed(text);
  Part part;
  part.path = absl::StrSplit(equality->name, '.');
  part.test = equality->equal ? Test::kIn : Test::kNotIn;
  part.values = {equality->value};
  part.absent_is_empty = true;
  return part;
}

absl::StatusOr<Selector> Selector::Parse(absl::string_view labels, absl::string_view fields) {
  Selector out;
  for (const std::string& text : Split(labels)) {
    KQ_ASSIGN_OR_RETURN(Part part, ParseLabel(absl::StripAsciiWhitespace(text)));
    out.parts_.push_back(std::move(part));
  }
  for (const std::string& text : Split(fields)) {
    KQ_ASSIGN_OR_RETURN(Part part, ParseField(absl::StripAsciiWhitespace(text)));
    out.parts_.push_back(std::move(part));
  }
  return out;
}

bool Selector::Matches(const Json& object) const {
  for (const Part& part : parts_) {
    std::optional<std::string> value = TextAt(object, part.path);
    if (!value && part.absent_is_empty) value = "";
    const bool listed = value && std::find(part.values.begin(), part.values.end(), *value) != part.values.end();
    bool holds = false;
    switch (part.test) {
      case Test::kIn:
        holds = listed;
        break;
      case Test::kNotIn:
        holds = !listed;
        break;
      case Test::kExists:
        holds = value.has_value();
        break;
      case Test::kAbsent:
        holds = !value.has_value();
        break;
    }
    if (!holds) return false;
  }
  return true;
}

}  // namespace kq
