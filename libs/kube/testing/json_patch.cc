#include "libs/kube/testing/json_patch.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "libs/common/status_macros.h"

namespace kq {
namespace {

// The steps of a JSON pointer (RFC 6901): "/a~1b/0" -> {"a/b", "0"}.
absl::StatusOr<std::vector<std::string>> Steps(const std::string& pointer) {
  if (pointer.empty()) return std::vector<std::string>();
  if (pointer[0] != '/') return absl::InvalidArgumentError("a path starts with /");
  std::vector<std::string> steps = absl::StrSplit(pointer.substr(1), '/');
  for (std::string& step : steps) step = absl::StrReplaceAll(step, {{"~1", "/"}, {"~0", "~"}});
  return steps;
}

absl::StatusOr<size_t> IndexOf(const std::string& step, size_t limit) {
  uint64_t index = 0;
  if (!absl::SimpleAtoi(step, &index) || index >= limit) return absl::InvalidArgumentError("no such index");
  return static_cast<size_t>(index);
}

// The value that holds the last step of the path.
absl::StatusOr<Json*> Parent(Json* value, const std::vector<std::string>& steps) {
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (JsonObject* object = value->if_object()) {
      value = object->if_contains(steps[i]);
      if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat("no field ", steps[i]));
    } else if (JsonArray* array = value->if_array()) {
      KQ_ASSIGN_OR_RETURN(const size_t index, IndexOf(steps[i], array->size()));
      value = &(*array)[index];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(steps[i], " is below a plain value"));
    }
  }
  return value;
}

absl::Status Add(Json* parent, const std::string& step, const Json& value) {
  if (JsonObject* object = parent->if_object()) {
    (*object)[step] = value;
    return absl::OkStatus();
  }
  JsonArray* array = parent->if_array();
  if (array == nullptr) return absl::InvalidArgumentError("the parent is a plain value");
  if (step == "-") {
    array->push_back(value);
    return absl::OkStatus();
  }
  KQ_ASSIGN_OR_RETURN(const size_t index, IndexOf(step, array->size() + 1));
  array->insert(array->begin() + index, value);
  return absl::OkStatus();
}

// What is at `step` of `parent`.
absl::StatusOr<Json*> Target(Json* parent, const std::string& step) {
  if (JsonObject* object = parent->if_object()) {
    Json* found = object->if_contains(step);
    if (found == nullptr) return absl::InvalidArgumentError(absl::StrCat("no field ", step));
    return found;
  }
  JsonArray* array = parent->if_array();
  if (array == nullptr) return absl::InvalidArgumentError("the parent is a plain value");
  KQ_ASSIGN_OR_RETURN(const size_t index, IndexOf(step, array->size()));
  return &(*array)[index];
}

absl::Status Remove(Json* parent, const std::string& step) {
  KQ_RETURN_IF_ERROR(Target(parent, step).status());
  if (JsonObject* object = parent->if_object()) {
    object->erase(step);
    return absl::OkStatus();
  }
  JsonArray& array = parent->as_array();
  KQ_ASSIGN_OR_RETURN(const size_t index, IndexOf(step, array.size()));
  array.erase(array.begin() + index);
  return absl::OkStatus();
}

absl::Status Apply(const Json& operation, Json* document) {
  const std::string op = StringAt(operation, {"op"});
  const Json* path = Find(operation, {"path"});
  if (path == nullptr || !path->is_string()) return absl::InvalidArgumentError("path is missing");
  KQ_ASSIGN_OR_RETURN(const std::vector<std::string> steps, Steps(StringAt(operation, {"path"})));
  if (steps.empty()) return absl::InvalidArgumentError("the whole document cannot be a target");
  KQ_ASSIGN_OR_RETURN(Json * parent, Parent(document, steps));
  if (op == "remove") return Remove(parent, steps.back());

  const Json* value = Find(operation, {"value"});
  if (value == nullptr) return absl::InvalidArgumentError("value is missing");
  if (op == "add") return Add(parent, steps.back(), *value);
  if (op == "replace") {
    KQ_ASSIGN_OR_RETURN(Json * target, Target(parent, steps.back()));
    *target = *value;
    return absl::OkStatus();
  }
  if (op == "test") {
    KQ_ASSIGN_OR_RETURN(const Json* target, Target(parent, steps.back()));
    return *target == *value ? absl::OkStatus() : absl::InvalidArgumentError("the test failed");
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown operation \"", op, "\""));
}

}  // namespace

Json MergePatch(const Json& target, const Json& patch) {
  const JsonObject* fields = patch.if_object();
  if (fields == nullptr) return patch;
  Json out = target.is_object() ? target : Json(JsonObject());
  JsonObject& object = out.as_object();
  for (const auto& [name, value] : *fields) {
    if (value.is_null()) {
      object.erase(name);
    } else {
      const Json* before = object.if_contains(name);
      Json merged = MergePatch(before == nullptr ? Json() : *before, value);
      object[name] = std::move(merged);
    }
  }
  return out;
}

absl::StatusOr<Json> JsonPatch(const Json& target, const Json& patch) {
  const JsonArray* operations = patch.if_array();
  if (operations == nullptr) return absl::InvalidArgumentError("a JSON patch is a list of operations");
  Json out = target;
  for (size_t i = 0; i < operations->size(); ++i) {
    KQ_RETURN_IF_ERROR(WithContext(Apply((*operations)[i], &out), absl::StrCat("operation ", i)));
  }
  return out;
}

}  // namespace kq
