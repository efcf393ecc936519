#ifndef LIBS_KUBE_LIST_PAGE_H_
#define LIBS_KUBE_LIST_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kube/kube_api.h"

namespace kq {

// Decodes the body of a list. The items are moved out of the parsed document,
// not copied. If the body as a whole cannot be decoded, each item is decoded by
// itself, so that one object with, say, a thousand levels of nesting does not hide
// all others; those that cannot be are in ListPage::broken, by their keys.
// kInvalidArgument: it is no list, or its own metadata cannot be read.
absl::StatusOr<ListPage> ParseListPage(absl::string_view body);

}  // namespace kq

#endif  // LIBS_KUBE_LIST_PAGE_H_
