#include "libs/common/yaml.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/common/internal/json_string.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

absl::Status Problem(const YAML::Mark& mark, absl::string_view problem) {
  if (mark.is_null()) return absl::InvalidArgumentError(absl::StrCat("YAML: ", problem));
  return absl::InvalidArgumentError(absl::StrCat("line ", mark.line + 1, ", column ", mark.column + 1, ": ", problem));
}

// The whole of `text` as a number; nullopt if it is none.
template <typename Number, typename... Format>
std::optional<Number> Parse(absl::string_view text, Format... format) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number, format...);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

bool IsNull(absl::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::optional<bool> AsBool(absl::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

// An integer of any size is a number; beyond 64 bits a double.
std::optional<Json> AsNumber(absl::string_view text) {
  if (absl::StartsWith(text, "0x")) {
    if (const auto number = Parse<uint64_t>(text.substr(2), 16)) return Json(*number);
    return std::nullopt;
  }
  if (absl::StartsWith(text, "0o")) {
    if (const auto number = Parse<uint64_t>(text.substr(2), 8)) return Json(*number);
    return std::nullopt;
  }
  if (absl::StartsWith(text, "+")) text.remove_prefix(1);
  absl::string_view digits = text;
  if (absl::StartsWith(digits, "-")) digits.remove_prefix(1);
  // from_chars also reads "inf" and "nan".
  if (digits.empty() || !(absl::ascii_isdigit(static_cast<unsigned char>(digits[0])) || digits[0] == '.')) {
    return std::nullopt;
  }
  if (const auto number = Parse<int64_t>(text, 10)) return Json(*number);
  if (const auto number = Parse<uint64_t>(text, 10)) return Json(*number);
  if (const auto number = Parse<double>(text, std::chars_format::general)) return Json(*number);
  return std::nullopt;
}

bool IsInfiniteOrNan(absl::string_view text) {
  if (absl::StartsWith(text, "-") || absl::StartsWith(text, "+")) text.remove_prefix(1);
  return absl::EqualsIgnoreCase(text, ".inf") || absl::EqualsIgnoreCase(text, ".nan");
}

// A plain scalar without a tag.
std::optional<Json> Resolve(absl::string_view text) {
  if (IsNull(text)) return Json(nullptr);
  if (const auto flag = AsBool(text)) return Json(*flag);
  return AsNumber(text);
}

// Builds the value of a document and counts what it builds.
class Converter {
 public:
  explicit Converter(const YamlLimits& limits) : limits_(limits) {}

  absl::StatusOr<Json> Convert(const YAML::Node& node, size_t depth) {
    if (depth > limits_.depth) return Problem(node.Mark(), "nested too deeply");
    if (++values_ > limits_.values) {
      return Problem(node.Mark(), absl::StrCat("more than ", limits_.values, " values; too many aliases?"));
    }
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return Json(nullptr);
      case YAML::NodeType::Scalar:
        return Scalar(node);
      case YAML::NodeType::Sequence:
        return Sequence(node, depth);
      case YAML::NodeType::Map:
        return Mapping(node, depth);
    }
    return Problem(node.Mark(), "a node of an unknown kind");
  }

 private:
  // yaml-cpp's tag is "?" for a plain scalar and "!" for a quoted one.
  absl::StatusOr<Json> Scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    const std::string& tag = node.Tag();
    if (tag == "?" || tag.empty()) {
      if (IsInfiniteOrNan(text)) return Problem(node.Mark(), absl::StrCat(text, " has no JSON form"));
      return Resolve(text).value_or(Json(text));
    }
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return Json(text);
    const std::optional<Json> value = Resolve(text);
    if (tag == "tag:yaml.org,2002:null" && value && value->is_null()) return *value;
    if (tag == "tag:yaml.org,2002:bool" && value && value->is_bool()) return *value;
    if (tag == "tag:yaml.org,2002:int" && value && (value->is_int64() || value->is_uint64())) return *value;
    if (tag == "tag:yaml.org,2002:float" && value && value->is_number()) return value->to_number<double>();
    return Problem(node.Mark(), absl::StrCat("\"", text.substr(0, 64), "\" with the tag ", tag, " is not understood"));
  }

  absl::StatusOr<Json> Sequence(const YAML::Node& node, size_t depth) {
    JsonArray array;
    for (const YAML::Node& element : node) {
      KQ_ASSIGN_OR_RETURN(Json value, Convert(element, depth + 1));
      array.push_back(std::move(value));
    }
    return Json(std::move(array));
  }

  absl::StatusOr<Json> Mapping(const YAML::Node& node, size_t depth) {
    JsonObject object;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return Problem(member.first.Mark(), "a key that is not a scalar");
      const std::string& key = member.first.Scalar();
      if (object.contains(key)) return Problem(member.first.Mark(), absl::StrCat("the key \"", key, "\" occurs twice"));
      KQ_ASSIGN_OR_RETURN(Json value, Convert(member.second, depth + 1));
      object.emplace(key, std::move(value));
    }
    return Json(std::move(object));
  }

  const YamlLimits& limits_;
  size_t values_ = 0;
};

// Whether YAML reads `text` without quotes as this very string.
bool IsSafePlain(absl::string_view text) {
  if (text.empty() || Resolve(text).has_value() || IsInfiniteOrNan(text)) return false;
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("-_./:@+=").find(c) != std::string::npos;
  };
  for (const char c : text) {
    if (!is_plain(c) && c != ' ') return false;
  }
  // What may mean something else: an indicator at an end, a mapping, YAML 1.1's booleans.
  if (!absl::ascii_isalnum(static_cast<unsigned char>(text[0])) && text[0] != '/') return false;
  if (text.back() == ':' || text.back() == ' ' || absl::StrContains(text, ": ")) return false;
  for (const absl::string_view old : {"y", "n", "yes", "no", "on", "off"}) {
    if (absl::EqualsIgnoreCase(text, old)) return false;
  }
  // Other readers take these for numbers, dates or base 60.
  return !absl::ascii_isdigit(static_cast<unsigned char>(text[0]));
}

void AppendScalar(const Json& value, std::string* out) {
  if (const auto* text = value.if_string(); text != nullptr) {
    const absl::string_view view(text->data(), text->size());
    if (IsSafePlain(view)) {
      absl::StrAppend(out, view);
    } else {
      AppendJsonString(view, out);
    }
    return;
  }
  out->append(JsonText(value));  // null, booleans, numbers, [] and {} are the same in YAML
}

bool IsBlock(const Json& value) {
  return (value.is_object() && !value.get_object().empty()) || (value.is_array() && !value.get_array().empty());
}

// Writes `value` at `indent`. The first line's indent is there already.
void AppendBlock(const Json& value, size_t indent, std::string* out) {
  if (!IsBlock(value)) {
    AppendScalar(value, out);
    out->push_back('\n');
    return;
  }
  bool first = true;
  const auto start_line = [&] {
    if (!std::exchange(first, false)) out->append(indent, ' ');
  };
  if (value.is_array()) {
    for (const Json& element : value.get_array()) {
      start_line();
      out->append("- ");
      AppendBlock(element, indent + 2, out);
    }
    return;
  }
  for (const auto& member : value.get_object()) {
    start_line();
    AppendScalar(Json(member.key()), out);
    out->push_back(':');
    if (!IsBlock(member.value())) {
      out->push_back(' ');
      AppendBlock(member.value(), 0, out);
      continue;
    }
    // A list stands at the column of its key, as kubectl writes it.
    const size_t inner = member.value().is_array() ? indent : indent + 2;
    absl::StrAppend(out, "\n", std::string(inner, ' '));
    AppendBlock(member.value(), inner, out);
  }
}

}  // namespace

absl::StatusOr<std::vector<Json>> ParseYamlDocuments(absl::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("YAML: ", text.size(), " bytes, more than the limit of ", limits.bytes));
  }
  std::vector<Json> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      KQ_ASSIGN_OR_RETURN(Json document, Converter(limits).Convert(node, 0));
      if (!document.is_null()) documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    return Problem(e.mark, e.msg);
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("YAML: ", e.what()));
  }
  return documents;
}

absl::StatusOr<Json> ParseYaml(absl::string_view text, const YamlLimits& limits) {
  KQ_ASSIGN_OR_RETURN(std::vector<Json> documents, ParseYamlDocuments(text, limits));
  if (documents.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("YAML: one document wanted, found ", documents.size()));
  }
  if (documents.empty()) return Json(nullptr);
  return std::move(documents.front());
}

std::string YamlText(const Json& value) {
  std::string out;
  AppendBlock(value, 0, &out);
  return out;
}

}  // namespace kq
