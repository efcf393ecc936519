#include "cli/kqctl/quota_tree.h"

#include <google/protobuf/repeated_ptr_field.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/kqctl/table.h"
#include "cli/kqctl/testing/pictures.h"

namespace kq::kqctl {
namespace {

namespace v1 = queueing::v1;

v1::QuotaSnapshot* Add(const std::string& name, const std::string& parent, v1::Snapshot* out) {
  v1::QuotaSnapshot* quota = out->add_quotas();
  quota->set_namespace_("ns");
  quota->set_name(name);
  quota->set_parent(parent);
  return quota;
}

std::vector<std::string> Lines(const v1::Snapshot& snapshot, Glyphs glyphs = Glyphs::kAscii) {
  return absl::StrSplit(QuotaTreeText(snapshot, glyphs), '\n', absl::SkipEmpty());
}

// The first column of the lines after the header.
std::vector<std::string> Names(const v1::Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const std::string& line : Lines(snapshot)) {
    names.emplace_back(absl::StripTrailingAsciiWhitespace(absl::string_view(line).substr(0, 26)));
  }
  names.erase(names.begin());
  return names;
}

TEST_CASE("the quota tree as it is printed", "[quota_tree]") {
  testing::CheckGolden("quotas.txt", QuotaTreeText(testing::Picture(), Glyphs::kAscii));
  testing::CheckGolden("quotas_unicode.txt", QuotaTreeText(testing::Picture(), Glyphs::kUnicode));
}

TEST_CASE("no line is longer than 100 columns, whatever the names and depths", "[quota_tree]") {
  v1::Snapshot snapshot;
  std::string parent;
  for (int depth = 0; depth < 30; ++depth) {
    const std::string name = absl::StrCat("a-very-long-name-of-a-quota-at-depth-", depth);
    v1::QuotaSnapshot* quota = Add(name, parent, &snapshot);
    quota->set_trouble(std::string(300, 'x'));
    v1::Amount* used = quota->add_used();
    used->set_resource("a-vendor.example.com/a-device-with-a-long-name");
    used->set_amount(INT64_MAX);
    parent = name;
  }
  for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUnicode}) {
    const std::vector<std::string> lines = Lines(snapshot, glyphs);
    CHECK(lines.size() == 61);
    for (const std::string& line : lines) CHECK(DisplayWidth(line) <= 100);
  }
}

TEST_CASE("every quota of a cycle is shown once", "[quota_tree]") {
  v1::Snapshot snapshot;
  Add("a", "b", &snapshot);
  Add("b", "c", &snapshot);
  Add("c", "a", &snapshot);
  CHECK(Names(snapshot) == std::vector<std::string>{"a", "`- c", "   `- b"});
}

TEST_CASE("quotas of one name are told apart by their namespace", "[quota_tree]") {
  v1::Snapshot snapshot;
  v1::QuotaSnapshot* shadowed = Add("a", "", &snapshot);
  shadowed->set_trouble("not in force");
  shadowed->set_shadowed_by("other/a");
  v1::QuotaSnapshot* in_force = Add("a", "", &snapshot);
  in_force->set_namespace_("other");
  in_force->add_children("child");
  Add("child", "a", &snapshot);
  CHECK(Names(snapshot) == std::vector<std::string>{"ns/a", "   ! not in force", "other/a", "`- child"});
}

TEST_CASE("what is wrong with a quota is told in full", "[quota_tree]") {
  v1::Snapshot snapshot;
  std::string trouble;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&trouble, i == 0 ? "" : " ", "word", i);
  Add("a", "", &snapshot)->set_trouble(trouble);
  const std::vector<std::string> lines = Lines(snapshot);
  REQUIRE(lines.size() == 5);
  std::string told;
  for (size_t i = 2; i < lines.size(); ++i) {
    CHECK(DisplayWidth(lines[i]) <= 100);
    absl::StrAppend(&told, i == 2 ? "" : " ", lines[i].substr(5));
  }
  CHECK(told == trouble);
}

TEST_CASE("a warning does not look like a quota that admits nothing", "[quota_tree]") {
  v1::Snapshot snapshot;
  v1::QuotaSnapshot* quota = Add("a", "", &snapshot);
  quota->set_warning("min of cpu, 8, is above its max, 4");
  REQUIRE(Lines(snapshot).size() == 3);
  CHECK(Lines(snapshot)[2] == "   * warning: min of cpu, 8, is above its max, 4");
  quota->set_trouble("its parent is gone");
  REQUIRE(Lines(snapshot).size() == 4);
  CHECK(Lines(snapshot)[2] == "   ! its parent is gone");
}

TEST_CASE("without quotas there is a header", "[quota_tree]") { CHECK(Lines({}).size() == 1); }

}  // namespace
}  // namespace kq::kqctl
