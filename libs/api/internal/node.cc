#include "libs/api/internal/node.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/api/quantity.h"
#include "libs/common/time_format.h"

namespace kq::internal {
namespace {

constexpr size_t kMaxProblems = 8;
constexpr size_t kMaxProblemBytes = 256;
constexpr size_t kMaxResources = 64;

absl::string_view View(boost::json::string_view text) { return {text.data(), text.size()}; }

// At most `limit` bytes of `text`, never half a character.
std::string Shortened(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

}  // namespace

void Problems::Add(absl::string_view path, absl::string_view what) {
  Add(absl::InvalidArgumentError(absl::StrCat(path, ": ", what)));
}

void Problems::Add(const absl::Status& status) {
  if (kept_.size() == kMaxProblems) {
    ++more_;
  } else {
    kept_.push_back(Shortened(status.message(), kMaxProblemBytes));
  }
}

std::string Problems::Text() const {
  std::string text = absl::StrJoin(kept_, "; ");
  if (more_ > 0) absl::StrAppend(&text, "; and ", more_, " more");
  return text;
}

absl::Status Problems::First() const {
  return kept_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(kept_.front());
}

template <typename T>
T Node::OrNote(absl::StatusOr<T> value, T fallback) const {
  if (value.ok()) return *std::move(value);
  problems_->Add(value.status());
  return fallback;
}

bool Node::Has(absl::string_view name) const {
  const Json* value = object_ == nullptr ? nullptr : object_->if_contains({name.data(), name.size()});
  return value != nullptr && !value->is_null();
}

std::string Node::Text(absl::string_view name, absl::string_view fallback) const {
  if (object_ == nullptr) return std::string(fallback);
  return OrNote(StringField(*object_, name, path_, fallback), std::string(fallback));
}

int64_t Node::Int(absl::string_view name, Bounds bounds, int64_t fallback) const {
  if (object_ == nullptr) return fallback;
  const int64_t value = OrNote(IntField(*object_, name, path_, fallback), fallback);
  if (value >= bounds.low && value <= bounds.high) return value;
  Complain(name, absl::StrCat(value, " is not between ", bounds.low, " and ", bounds.high));
  return fallback;
}

bool Node::Bool(absl::string_view name, bool fallback) const {
  return object_ == nullptr ? fallback : OrNote(BoolField(*object_, name, path_, fallback), fallback);
}

absl::Time Node::Time(absl::string_view name) const {
  const std::string text = Text(name);
  if (text.empty()) return absl::InfinitePast();
  const absl::StatusOr<absl::Time> time = ParseTime(text);
  if (time.ok()) return *time;
  Complain(name, time.status().message());
  return absl::InfinitePast();
}

Amounts Node::Quantities(absl::string_view name) const {
  const Node list = Child(name);
  return list.Present() ? ReadQuantities(*list.object_, list.path_, problems_) : Amounts();
}

std::map<std::string, std::string> Node::TextMap(absl::string_view name) const {
  std::map<std::string, std::string> out;
  const Node map = Child(name);
  if (!map.Present()) return out;
  for (const auto& member : *map.object_) {
    if (member.value().is_string()) {
      out.emplace(View(member.key()), View(member.value().get_string()));
    } else {
      map.Complain(View(member.key()), "expected a string");
    }
  }
  return out;
}

Node Node::Child(absl::string_view name) const {
  const JsonObject* child =
      object_ == nullptr ? nullptr : OrNote<const JsonObject*>(ObjectField(*object_, name, path_), nullptr);
  return Node(child, FieldPath(path_, name), problems_);
}

std::vector<Node> Node::List(absl::string_view name, size_t limit) const {
  std::vector<Node> out;
  if (object_ == nullptr) return out;
  const JsonArray* list = OrNote<const JsonArray*>(ArrayField(*object_, name, path_), nullptr);
  if (list == nullptr) return out;
  if (list->size() > limit) Complain(name, absl::StrCat(list->size(), " entries, at most ", limit, " are allowed"));
  const std::string path = FieldPath(path_, name);
  for (size_t i = 0; i < list->size() && i < limit; ++i) {
    const JsonObject* element = (*list)[i].if_object();
    if (element == nullptr) {
      problems_->Add(FieldPath(path, i), "expected an object");
    } else {
      out.emplace_back(element, FieldPath(path, i), problems_);
    }
  }
  return out;
}

std::vector<Node> Node::Keyed(absl::string_view name, absl::string_view key, size_t limit) const {
  std::vector<Node> list = List(name, limit);
  std::set<std::string> seen;
  for (const Node& element : list) {
    const std::string value = element.Text(key);
    if (value.empty()) {
      element.Complain(key, "is missing");
    } else if (!seen.insert(value).second) {
      element.Complain(key, absl::StrCat("a second \"", Shortened(value, 64), "\""));
    }
  }
  return list;
}

void Node::Complain(absl::string_view name, absl::string_view what) const {
  problems_->Add(FieldPath(path_, name), what);
}

Amounts ReadQuantities(const JsonObject& list, absl::string_view path, Problems* problems) {
  if (list.size() > kMaxResources) {
    problems->Add(path, absl::StrCat(list.size(), " resources, at most ", kMaxResources, " are allowed"));
  }
  Amounts out;
  std::map<std::string, std::string> texts;
  for (const auto& member : list) {
    if (texts.size() == kMaxResources) break;
    const std::string field = FieldPath(path, View(member.key()));
    const Json& value = member.value();
    if (!value.is_string() && !value.is_number()) {
      problems->Add(field, "expected a quantity");
      continue;
    }
    const std::string name = CanonicalResourceName(View(member.key()));
    const std::string text = value.is_string() ? std::string(View(value.get_string())) : JsonText(value);
    const absl::StatusOr<int64_t> amount = AmountFor(name, text);
    if (!amount.ok()) {
      problems->Add(field, amount.status().message());
    } else if (*amount < 0) {
      problems->Add(field, absl::StrCat(text, " is negative"));
    } else if (!texts.emplace(name, text).second && out.amounts.At(name) != *amount) {
      problems->Add(field, absl::StrCat("differs from the other amount of ", name));
    } else {
      out.amounts.Set(name, *amount);
    }
  }
  out.texts.assign(texts.begin(), texts.end());
  return out;
}

}  // namespace kq::internal
