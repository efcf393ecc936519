#ifndef LIBS_API_INTERNAL_NODE_H_
#define LIBS_API_INTERNAL_NODE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/api/resources.h"
#include "libs/common/json.h"

// Reading an object field by field without ever giving up: what is wrong is
// noted and the fallback takes its place. Part of the codec; nobody else's.
namespace kq::internal {

// What is wrong with an object, each with its field path. Bounded: of many
// problems the first few are kept and the others are counted.
class Problems {
 public:
  // "path: what".
  void Add(absl::string_view path, absl::string_view what);
  void Add(const absl::Status& status);

  bool Empty() const { return kept_.empty(); }
  // "spec.priority: ...; spec.resource.cpu: ...; and 3 more"; empty if there are none.
  std::string Text() const;
  // The first one as kInvalidArgument, or OK.
  absl::Status First() const;

 private:
  std::vector<std::string> kept_;
  size_t more_ = 0;
};

// Amounts and, for people, their texts as they were spelled; both by canonical
// name, in name order.
struct Amounts {
  Resources amounts;
  std::vector<std::pair<std::string, std::string>> texts;
};

// The inclusive bounds of an integer field.
struct Bounds {
  int64_t low;
  int64_t high;
};
inline constexpr Bounds kInt32 = {INT32_MIN, INT32_MAX};
inline constexpr Bounds kCount32 = {0, INT32_MAX};
inline constexpr Bounds kCount64 = {0, INT64_MAX};

// One JSON object and where it is. An absent one is a node too: all of its fields
// are absent. Valid as long as the JSON and the problems are.
class Node {
 public:
  Node(const JsonObject* object, std::string path, Problems* problems)
      : object_(object), path_(std::move(path)), problems_(problems) {}

  bool Present() const { return object_ != nullptr; }
  // Whether a field is there and not null.
  bool Has(absl::string_view name) const;
  const std::string& path() const { return path_; }
  Problems* problems() const { return problems_; }

  // Fields; an absent or null one is the fallback, a broken one is noted and is it too.
  std::string Text(absl::string_view name, absl::string_view fallback = "") const;
  int64_t Int(absl::string_view name, Bounds bounds, int64_t fallback = 0) const;
  bool Bool(absl::string_view name, bool fallback) const;
  absl::Time Time(absl::string_view name) const;  // fallback: InfinitePast
  Amounts Quantities(absl::string_view name) const;
  // A map of texts: labels, annotations.
  std::map<std::string, std::string> TextMap(absl::string_view name) const;

  Node Child(absl::string_view name) const;
  // The objects of a list. Those beyond `limit` are noted and left out.
  std::vector<Node> List(absl::string_view name, size_t limit) const;
  // As List, but the field `key` of each must be given and unique.
  std::vector<Node> Keyed(absl::string_view name, absl::string_view key, size_t limit) const;

  // Notes a problem with one field.
  void Complain(absl::string_view name, absl::string_view what) const;

 private:
  // The value, or `fallback` with a note.
  template <typename T>
  T OrNote(absl::StatusOr<T> value, T fallback) const;

  const JsonObject* object_;  // null: absent
  std::string path_;
  Problems* problems_;
};

// Reads a ResourceList that lies at `path`.
Amounts ReadQuantities(const JsonObject& list, absl::string_view path, Problems* problems);

// See PodRequest in codec.h.
Resources ReadPodRequest(const Node& pod_template);

}  // namespace kq::internal

#endif  // LIBS_API_INTERNAL_NODE_H_
