#ifndef LIBS_API_OBJECT_KEY_H_
#define LIBS_API_OBJECT_KEY_H_

#include <compare>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kq {

// Namespace and name of an object. It says where an object is, not which one:
// after a delete and a new create another object has the same key. Identity is
// the UID.
struct ObjectKey {
  std::string ns;  // empty for cluster-scoped objects
  std::string name;

  // "namespace/name", or the bare name of a cluster-scoped object.
  std::string ToString() const { return ns.empty() ? name : absl::StrCat(ns, "/", name); }

  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ObjectKey& key) {
    return H::combine(std::move(h), key.ns, key.name);
  }
};

}  // namespace kq

#endif  // LIBS_API_OBJECT_KEY_H_
