#ifndef LIBS_KUBE_RAW_JSON_H_
#define LIBS_KUBE_RAW_JSON_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "libs/api/object_key.h"

// Finds parts of a JSON text without decoding it, however deeply they nest: for
// texts that the parser refuses, to tell which object is to blame and to decode the
// rest. On malformed text the parts end early; the parser alone judges what is
// well-formed. One pass, no recursion; pure functions.
namespace kq {

struct RawJsonMember {
  absl::string_view key;  // as written, without its quotes; empty in a list
  absl::string_view value;
};

// The members of the object, or elements of the list, that `text` is.
std::vector<RawJsonMember> RawMembers(absl::string_view text);

// The last member of that key, as the parser would have it; empty if there is none.
absl::string_view RawMember(absl::string_view object, absl::string_view key);

// Namespace and name in the text of one API object, of which nothing else need be
// well-formed: what nests too deeply does so again in metadata.managedFields.
// Empty if they are not there.
ObjectKey KeyInText(absl::string_view object);

}  // namespace kq

#endif  // LIBS_KUBE_RAW_JSON_H_
