#include "libs/kube/list_page.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "libs/kube/raw_json.h"

namespace kq {
namespace {

absl::Status ReadMetadata(const Json& document, ListPage* page) {
  page->version = VersionOf(document);
  page->continue_token = StringAt(document, {"metadata", "continue"});
  if (page->version == 0) return absl::InvalidArgumentError("not a list: it has no metadata.resourceVersion");
  return absl::OkStatus();
}

// The slow way, for a body with something in it that the parser refuses.
absl::StatusOr<ListPage> ParseItemByItem(absl::string_view body, const absl::Status& why) {
  ListPage page;
  const absl::string_view metadata = RawMember(body, "metadata");
  const absl::StatusOr<Json> head = ParseJson(absl::StrCat("{\"metadata\":", metadata, "}"));
  const absl::string_view items = RawMember(body, "items");
  if (metadata.empty() || !head.ok() || items.empty() || items.back() != ']') return why;
  KQ_RETURN_IF_ERROR(ReadMetadata(*head, &page));
  for (const RawJsonMember& item : RawMembers(items)) {
    absl::StatusOr<Json> object = ParseJson(item.value);
    if (object.ok()) {
      page.items.push_back(*std::move(object));
    } else {
      page.broken.push_back({KeyInText(item.value), object.status()});
    }
  }
  return page;
}

}  // namespace

absl::StatusOr<ListPage> ParseListPage(absl::string_view body) {
  absl::StatusOr<Json> document = ParseJsonInOnePiece(body);
  if (!document.ok()) return ParseItemByItem(body, document.status());
  ListPage page;
  KQ_RETURN_IF_ERROR(ReadMetadata(*document, &page));
  // No items at all may be said as null.
  Json* const items = document->is_object() ? document->get_object().if_contains("items") : nullptr;
  if (items == nullptr || items->is_null()) return page;
  if (!items->is_array()) return absl::InvalidArgumentError("not a list: items is no array");
  JsonArray& array = items->get_array();
  page.items.reserve(array.size());
  for (Json& item : array) page.items.push_back(std::move(item));
  return page;
}

}  // namespace kq
