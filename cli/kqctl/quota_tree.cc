#include "cli/kqctl/quota_tree.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/kqctl/amounts.h"
#include "cli/kqctl/table.h"

namespace kq::kqctl {
namespace {

namespace v1 = queueing::v1;

constexpr size_t kLineColumns = 100;
constexpr size_t kNameColumns = 26;
constexpr size_t kResourceColumns = 16;
constexpr int kBarColumns = 22;
// What is deeper is not indented further, so that names keep some room.
constexpr size_t kMaxDepth = 5;

struct TreeGlyphs {
  absl::string_view branch, last, pass, blank, cut;
  BarGlyphs bar;
};

TreeGlyphs GlyphsOf(Glyphs glyphs) {
  if (glyphs == Glyphs::kUnicode) return {"├─ ", "└─ ", "│  ", "   ", "…", {"█", "░", "┃"}};
  return {"|- ", "`- ", "|  ", "   ", "~", {"#", ".", "|"}};
}

// `text` in exactly `width` columns.
std::string Fitted(absl::string_view text, size_t width, absl::string_view cut) {
  const size_t used = DisplayWidth(text);
  if (used > width) return absl::StrCat(FirstColumns(text, width - 1), cut);
  return absl::StrCat(text, std::string(width - used, ' '));
}

class Tree {
 public:
  Tree(const v1::Snapshot& snapshot, Glyphs glyphs) : glyphs_(GlyphsOf(glyphs)) {
    for (const v1::QuotaSnapshot& quota : snapshot.quotas()) quotas_.push_back(&quota);
    for (const v1::QuotaSnapshot* quota : quotas_) by_name_[quota->name()].push_back(quota);
    for (const v1::QuotaSnapshot* quota : quotas_) {
      const bool has_parent = !quota->parent().empty() && by_name_.count(quota->parent()) > 0;
      (has_parent ? children_[quota->parent()] : roots_).push_back(quota);
    }
  }

  std::string Text() {
    out_ = Row(Fitted("QUOTA", kNameColumns, ""), "RESOURCE", "USED OF MAX", {"USED", "MIN", "MAX"});
    for (const v1::QuotaSnapshot* root : roots_) Add(*root, "", "");
    // Whoever was not reached from a root has itself for an ancestor.
    for (const v1::QuotaSnapshot* quota : quotas_) {
      if (shown_.count(quota) == 0) Add(*quota, "", "");
    }
    return std::move(out_);
  }

 private:
  struct Numbers {
    std::string used, min, max;
  };

  std::string Row(const std::string& name, absl::string_view resource, absl::string_view bar, const Numbers& numbers) {
    const auto right = [](const std::string& text) {
      const size_t used = DisplayWidth(text);
      return absl::StrCat(std::string(used < 8 ? 8 - used : 0, ' '), text);
    };
    std::string line = absl::StrCat(name, "  ", Fitted(resource, kResourceColumns, glyphs_.cut), "  ",
                                    Fitted(bar, kBarColumns + 2, ""), " ", right(numbers.used), " ", right(numbers.min),
                                    " ", right(numbers.max));
    line = std::string(FirstColumns(line, kLineColumns));
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  std::string ResourceRow(const std::string& name, const v1::QuotaSnapshot& quota, const std::string& resource) {
    const std::optional<int64_t> min = FindAmount(quota.min_amounts(), resource);
    const std::optional<int64_t> max = FindAmount(quota.max_amounts(), resource);
    const int64_t used = FindAmount(quota.used(), resource).value_or(0);
    std::string bar = quota.trouble().empty() ? "unlimited" : "admits nothing";
    if (max.has_value()) {
      bar = absl::StrCat("[", Bar({used, min.value_or(0), *max}, kBarColumns, glyphs_.bar), "]");
    } else if (quota.max_amounts_size() == 0) {
      bar = "admits nothing";
    }
    const auto shown = [&resource](const std::optional<int64_t>& amount) {
      return amount.has_value() ? AmountForPeople(resource, *amount) : "-";
    };
    return Row(name, Printable(resource), bar, {AmountForPeople(resource, used), shown(min), shown(max)});
  }

  // The name of a quota; with its namespace where there are several of that name.
  std::string Label(const v1::QuotaSnapshot& quota) const {
    const bool ambiguous = by_name_.at(quota.name()).size() > 1;
    return Printable(ambiguous ? absl::StrCat(quota.namespace_(), "/", quota.name()) : quota.name());
  }

  // In as many lines as it takes, below the quota's name. `mark` is "!" where the quota admits nothing, "*" for a
  // warning, "=" for what is so.
  void AddTrouble(absl::string_view mark, const std::string& trouble, const std::string& below) {
    const std::string first = absl::StrCat(below, "   ", mark, " ");
    const std::string others = absl::StrCat(below, "     ");
    std::string line = first;
    for (const absl::string_view word : absl::StrSplit(trouble, ' ', absl::SkipEmpty())) {
      if (line != first && line != others && DisplayWidth(line) + DisplayWidth(word) > kLineColumns) {
        line.erase(line.find_last_not_of(' ') + 1);
        absl::StrAppend(&out_, FirstColumns(line, kLineColumns), "\n");
        line = others;
      }
      absl::StrAppend(&line, word, " ");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out_, FirstColumns(line, kLineColumns), "\n");
  }

  // `first` is before the quota's name, `rest` before whatever is below it.
  void Add(const v1::QuotaSnapshot& quota, const std::string& first, const std::string& rest) {
    shown_.insert(&quota);
    const std::vector<const v1::QuotaSnapshot*> children = ChildrenOf(quota);
    const std::string below = absl::StrCat(rest, children.empty() ? "" : glyphs_.pass);
    std::string name = Fitted(absl::StrCat(first, Label(quota)), kNameColumns, glyphs_.cut);
    const std::vector<std::string> resources = ResourcesOf({&quota.min_amounts(), &quota.max_amounts(), &quota.used()});
    for (const std::string& resource : resources) {
      out_ += ResourceRow(name, quota, resource);
      name = Fitted(below, kNameColumns, "");
    }
    if (resources.empty()) out_ += Row(name, "-", "admits nothing", {"-", "-", "-"});
    if (!quota.trouble().empty()) AddTrouble("!", Printable(quota.trouble()), below);
    if (!quota.lends() && quota.min_amounts_size() > 0) AddTrouble("=", "min is kept for it: it does not lend", below);
    if (!quota.warning().empty()) AddTrouble("*", absl::StrCat("warning: ", Printable(quota.warning())), below);
    const bool deeper = DisplayWidth(rest) / 3 < kMaxDepth;
    for (size_t i = 0; i < children.size(); ++i) {
      if (shown_.count(children[i]) > 0) continue;
      const bool last = i + 1 == children.size();
      Add(*children[i], absl::StrCat(rest, last ? glyphs_.last : glyphs_.branch),
          deeper ? absl::StrCat(rest, last ? glyphs_.blank : glyphs_.pass) : rest);
    }
  }

  // Of several quotas with one name only the one in force is a parent.
  std::vector<const v1::QuotaSnapshot*> ChildrenOf(const v1::QuotaSnapshot& quota) const {
    const auto children = children_.find(quota.name());
    if (children == children_.end()) return {};
    return quota.shadowed_by().empty() ? children->second : std::vector<const v1::QuotaSnapshot*>();
  }

  const TreeGlyphs glyphs_;
  std::vector<const v1::QuotaSnapshot*> quotas_;
  std::map<std::string, std::vector<const v1::QuotaSnapshot*>> by_name_;
  std::map<std::string, std::vector<const v1::QuotaSnapshot*>> children_;  // by the parent's name
  std::vector<const v1::QuotaSnapshot*> roots_;
  std::set<const v1::QuotaSnapshot*> shown_;
  std::string out_;
};

}  // namespace

std::string QuotaTreeText(const v1::Snapshot& snapshot, Glyphs glyphs) { return Tree(snapshot, glyphs).Text(); }

}  // namespace kq::kqctl
