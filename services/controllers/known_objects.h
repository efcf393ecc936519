#ifndef SERVICES_CONTROLLERS_KNOWN_OBJECTS_H_
#define SERVICES_CONTROLLERS_KNOWN_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "libs/api/object_key.h"
#include "libs/common/json.h"

namespace kq::controllers {

// The objects of one resource, each in the newest version that was seen. News (the
// watch), answers (to calls of our own) and removals overtake each other; the
// rules that keep an older picture from covering a newer one:
//
//   news      older than the version known are dropped
//   answers   older than what the watch has delivered are dropped: the watch has
//             told that version already, and perhaps the removal after it
//   removals  older than the version known are dropped
//
// A watch delivers the changes of its scope (a namespace, or "" for all) in order
// of version. Objects are kept as texts, which take a tenth of the memory of parsed
// ones and are parsed when they are looked at. Not thread-safe.
class KnownObjects {
 public:
  struct Known {
    uint64_t version = 0;
    std::string uid;
    std::shared_ptr<const std::string> text;  // JSON; may be kept beyond the next change
  };

  // Null if unknown; valid until the next change.
  const Known* Find(const ObjectKey& key) const;

  // Each returns whether something changed. managedFields are left out.
  bool Upsert(const Json& news, absl::string_view scope);
  bool Learn(const Json& answer);
  bool Remove(const ObjectKey& key, uint64_t version, absl::string_view scope);
  // The object of this UID is gone, as an answer to a call of ours says.
  bool Forget(const ObjectKey& key, absl::string_view uid);
  void Listed(uint64_t version, absl::string_view scope);

  size_t size() const { return objects_.size(); }
  const absl::flat_hash_map<ObjectKey, Known>& objects() const { return objects_; }

 private:
  uint64_t Delivered(const ObjectKey& key) const;

  absl::flat_hash_map<ObjectKey, Known> objects_;
  std::map<std::string, uint64_t> delivered_;  // by scope: the newest version from its watch
};

// The object of a text; null if there is none.
std::shared_ptr<const Json> ParseKnown(const std::shared_ptr<const std::string>& text);

}  // namespace kq::controllers

#endif  // SERVICES_CONTROLLERS_KNOWN_OBJECTS_H_
