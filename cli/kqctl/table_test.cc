#include "cli/kqctl/table.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq::kqctl {
namespace {

TEST_CASE("columns are as wide as their widest cell, and lines have no trailing spaces", "[table]") {
  Table table({{"NAME"}, {"N", Table::Align::kRight}, {"WHY"}});
  table.Add({"a", "1", "because"});
  table.Add({"longer", "1000", ""});
  CHECK(table.Text() ==
        "NAME       N  WHY\n"
        "a          1  because\n"
        "longer  1000\n");
  CHECK(table.RowText({"b", "2", "x"}) == "b          2  x\n");
}

TEST_CASE("columns can be kept as wide as those of another table", "[table]") {
  Table wide({{"NAME"}, {"N", Table::Align::kRight}});
  wide.Add({"longer", "1000"});
  Table narrow({{"NAME"}, {"N", Table::Align::kRight}});
  narrow.WidenTo(wide.Widths());
  narrow.Add({"a", "1"});
  CHECK(narrow.RowText(narrow.row(0)) == "a          1\n");
  CHECK(narrow.Widths() == wide.Widths());
}

TEST_CASE("without rows there is a header", "[table]") { CHECK(Table({{"A"}, {"B"}}).Text() == "A  B\n"); }

TEST_CASE("missing cells are empty", "[table]") {
  Table table({{"A"}, {"B"}});
  table.Add({"x"});
  CHECK(table.Text() == "A  B\nx\n");
}

TEST_CASE("lines are cut to the width, between characters", "[table]") {
  Table table({{"NAME"}, {"WHY"}});
  table.Add({"ä", "öööö"});
  CHECK(table.Text(8) == "NAME  WH\nä     öö\n");
}

TEST_CASE("characters are counted, not bytes", "[table]") {
  CHECK(DisplayWidth("häß") == 3);
  CHECK(FirstColumns("häß", 2) == "hä");
  CHECK(FirstColumns("häß", 3) == "häß");
  CHECK(FirstColumns("häß", 0) == "");
}

TEST_CASE("nothing in a cell can move the cursor", "[table]") {
  CHECK(Printable("a\nb\tc\x1b[2J\x7f") == "a b c [2J ");
  CHECK(Printable("a\xc2\x9b"
                  "2Jä") == "a 2Jä");
  Table table({{"A"}});
  table.Add({"x\ny"});
  CHECK(table.Text() == "A\nx y\n");
}

}  // namespace
}  // namespace kq::kqctl
