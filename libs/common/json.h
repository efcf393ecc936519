#ifndef LIBS_COMMON_JSON_H_
#define LIBS_COMMON_JSON_H_

#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// JSON texts and values. Boost.JSON does the work; its exceptions end here.
//
// Reading a value by hand repeats the same three questions: is the field
// there, has it the right type, and what do I call it in the error? The Field
// functions answer them: an absent or null field is the fallback, a field of
// the wrong type is kInvalidArgument with its path
// ("spec.priority: expected an integer, found a string").
namespace kq {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

// Parses one JSON text. kInvalidArgument with the offset if it is malformed or
// nests deeper than 64. Duplicate keys: the last one wins, as in the API server.
absl::StatusOr<Json> ParseJson(absl::string_view text);
// As ParseJson, for a value that is looked at and let go: it lies in one piece of
// memory, which is freed with the last value that was moved out of it. A copy is
// independent. Such values of one text must not be changed by several threads.
absl::StatusOr<Json> ParseJsonInOnePiece(absl::string_view text);

// Compact text, keys in the order of the value.
std::string JsonText(const Json& value);
// Indented by `indent` spaces per level, for people.
std::string PrettyJsonText(const Json& value, int indent = 2);

// The value at a path of object keys; null if some step is absent or not an object.
const Json* Find(const Json& value, std::initializer_list<absl::string_view> path);

// The string at the path, or empty if it is absent or not a string. For
// metadata, where the API server vouches for the types.
std::string StringAt(const Json& value, std::initializer_list<absl::string_view> path);

// One field of `object`. `path` is where the object itself is ("spec").
absl::StatusOr<std::string> StringField(const JsonObject& object, absl::string_view name, absl::string_view path,
                                        absl::string_view fallback = "");
absl::StatusOr<int64_t> IntField(const JsonObject& object, absl::string_view name, absl::string_view path,
                                 int64_t fallback = 0);
absl::StatusOr<bool> BoolField(const JsonObject& object, absl::string_view name, absl::string_view path,
                               bool fallback = false);
// Null if absent or JSON null; the pointer lives as long as `object`.
absl::StatusOr<const JsonObject*> ObjectField(const JsonObject& object, absl::string_view name, absl::string_view path);
absl::StatusOr<const JsonArray*> ArrayField(const JsonObject& object, absl::string_view name, absl::string_view path);

// "spec" + "priority" -> "spec.priority"; "" + "spec" -> "spec"; "podSet" + 2 -> "podSet[2]".
std::string FieldPath(absl::string_view parent, absl::string_view name);
std::string FieldPath(absl::string_view parent, size_t index);

}  // namespace kq

#endif  // LIBS_COMMON_JSON_H_
