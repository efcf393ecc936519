#include "libs/common/json.h"

#include <boost/json/kind.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/storage_ptr.hpp>
#include <charconv>
#include <cmath>
#include <exception>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/common/internal/json_string.h"

namespace kq {
namespace {

constexpr size_t kMaxDepth = 64;

absl::string_view View(boost::json::string_view text) { return {text.data(), text.size()}; }
boost::json::string_view Key(absl::string_view text) { return {text.data(), text.size()}; }

absl::Status ParseError(size_t offset, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("JSON, at byte ", offset, ": ", problem));
}

// What a person calls the type of `value`.
absl::string_view TypeName(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "an integer";
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "a list";
    case boost::json::kind::object:
      return "an object";
  }
  return "an unknown type";
}

absl::Status WrongType(absl::string_view path, absl::string_view name, absl::string_view wanted, const Json& found) {
  return absl::InvalidArgumentError(
      absl::StrCat(FieldPath(path, name), ": expected ", wanted, ", found ", TypeName(found)));
}

// The value of a field; null if it is absent or JSON null.
const Json* Present(const JsonObject& object, absl::string_view name) {
  const Json* value = object.if_contains(Key(name));
  return value == nullptr || value->is_null() ? nullptr : value;
}

template <typename Number>
void AppendNumber(Number number, std::string* out) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number);
  out->append(buffer, end.ptr);
}

// Writes values as text; `indent_` below 0 means on one line.
class Writer {
 public:
  Writer(int indent, std::string* out) : indent_(indent), out_(out) {}

  void Write(const Json& value, int depth) {
    switch (value.kind()) {
      case boost::json::kind::null:
        out_->append("null");
        return;
      case boost::json::kind::bool_:
        out_->append(value.get_bool() ? "true" : "false");
        return;
      case boost::json::kind::int64:
        AppendNumber(value.get_int64(), out_);
        return;
      case boost::json::kind::uint64:
        AppendNumber(value.get_uint64(), out_);
        return;
      case boost::json::kind::double_:
        WriteDouble(value.get_double());
        return;
      case boost::json::kind::string:
        AppendJsonString(View(value.get_string()), out_);
        return;
      case boost::json::kind::array:
        WriteArray(value.get_array(), depth);
        return;
      case boost::json::kind::object:
        WriteObject(value.get_object(), depth);
        return;
    }
  }

 private:
  // JSON has no NaN and no infinity.
  void WriteDouble(double number) {
    if (std::isfinite(number)) {
      AppendNumber(number, out_);
    } else {
      out_->append("null");
    }
  }

  void WriteArray(const JsonArray& array, int depth) {
    out_->push_back('[');
    bool first = true;
    for (const Json& element : array) {
      if (!std::exchange(first, false)) out_->push_back(',');
      NewLine(depth + 1);
      Write(element, depth + 1);
    }
    if (!array.empty()) NewLine(depth);
    out_->push_back(']');
  }

  void WriteObject(const JsonObject& object, int depth) {
    out_->push_back('{');
    bool first = true;
    for (const auto& member : object) {
      if (!std::exchange(first, false)) out_->push_back(',');
      NewLine(depth + 1);
      AppendJsonString(View(member.key()), out_);
      out_->append(indent_ < 0 ? ":" : ": ");
      Write(member.value(), depth + 1);
    }
    if (!object.empty()) NewLine(depth);
    out_->push_back('}');
  }

  void NewLine(int depth) {
    if (indent_ < 0) return;
    out_->push_back('\n');
    out_->append(static_cast<size_t>(depth) * static_cast<size_t>(indent_), ' ');
  }

  const int indent_;
  std::string* const out_;
};

absl::StatusOr<Json> ParseInto(boost::json::storage_ptr storage, absl::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  size_t offset = 0;
  try {
    unsigned char scratch[4096];
    boost::json::parser parser({}, options, scratch);
    parser.reset(std::move(storage));
    boost::json::error_code error;
    offset = parser.write_some(text.data(), text.size(), error);
    if (error) return ParseError(offset, error.message());
    if (offset < text.size()) return ParseError(offset, "text after the end of the value");
    return parser.release();
  } catch (const std::exception& e) {
    return ParseError(offset, e.what());
  }
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text) { return ParseInto({}, text); }

absl::StatusOr<Json> ParseJsonInOnePiece(absl::string_view text) {
  // A value takes about four times the memory of its text.
  const size_t bytes = 4 * text.size() + 512;
  return ParseInto(boost::json::make_shared_resource<boost::json::monotonic_resource>(bytes), text);
}

std::string JsonText(const Json& value) {
  std::string out;
  Writer(-1, &out).Write(value, 0);
  return out;
}

std::string PrettyJsonText(const Json& value, int indent) {
  std::string out;
  Writer(indent < 0 ? 0 : indent, &out).Write(value, 0);
  return out;
}

const Json* Find(const Json& value, std::initializer_list<absl::string_view> path) {
  const Json* at = &value;
  for (const absl::string_view step : path) {
    const JsonObject* object = at->if_object();
    if (object == nullptr) return nullptr;
    at = object->if_contains(Key(step));
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string StringAt(const Json& value, std::initializer_list<absl::string_view> path) {
  const Json* found = Find(value, path);
  if (found == nullptr || !found->is_string()) return "";
  return std::string(View(found->get_string()));
}

absl::StatusOr<std::string> StringField(const JsonObject& object, absl::string_view name, absl::string_view path,
                                        absl::string_view fallback) {
  const Json* value = Present(object, name);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) return WrongType(path, name, "a string", *value);
  return std::string(View(value->get_string()));
}

absl::StatusOr<int64_t> IntField(const JsonObject& object, absl::string_view name, absl::string_view path,
                                 int64_t fallback) {
  const Json* value = Present(object, name);
  if (value == nullptr) return fallback;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) {
    return absl::InvalidArgumentError(absl::StrCat(FieldPath(path, name), ": ", value->get_uint64(), " is too large"));
  }
  // 3.0 and 3e2 are integers too. Beyond 2^53 a double no longer tells which one.
  constexpr double kExact = 9007199254740992.0;
  if (value->is_double()) {
    const double number = value->get_double();
    if (std::abs(number) <= kExact && number == std::trunc(number)) return static_cast<int64_t>(number);
  }
  return WrongType(path, name, "an integer", *value);
}

absl::StatusOr<bool> BoolField(const JsonObject& object, absl::string_view name, absl::string_view path,
                               bool fallback) {
  const Json* value = Present(object, name);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) return WrongType(path, name, "a boolean", *value);
  return value->get_bool();
}

absl::StatusOr<const JsonObject*> ObjectField(const JsonObject& object, absl::string_view name,
                                              absl::string_view path) {
  const Json* value = Present(object, name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) return WrongType(path, name, "an object", *value);
  return &value->get_object();
}

absl::StatusOr<const JsonArray*> ArrayField(const JsonObject& object, absl::string_view name, absl::string_view path) {
  const Json* value = Present(object, name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) return WrongType(path, name, "a list", *value);
  return &value->get_array();
}

std::string FieldPath(absl::string_view parent, absl::string_view name) {
  return parent.empty() ? std::string(name) : absl::StrCat(parent, ".", name);
}

std::string FieldPath(absl::string_view parent, size_t index) { return absl::StrCat(parent, "[", index, "]"); }

}  // namespace kq
