#include "cli/kqctl/printing.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "proto/queueing/v1/scheduler.pb.h"

namespace kq::kqctl {
namespace {

Table Rows(const std::vector<std::vector<std::string>>& rows) {
  Table table({{"NAME"}, {"STATE"}, {"AGE"}});
  for (const auto& row : rows) table.Add(row);
  return table;
}

const Redraw::Columns kColumns{.key_columns = 1, .volatile_column = 2, .state_column = 1};

TEST_CASE("where lines are appended, only what changed comes again", "[printing]") {
  std::ostringstream out;
  Console console;
  console.out = &out;
  Redraw redraw(console);
  const auto shown = [&](const Table& table) {
    out.str("");
    redraw.Show(table, kColumns, "");
    return out.str();
  };
  CHECK(shown(Rows({{"a", "ready", "1s"}, {"b", "parked", "1s"}})) ==
        "NAME  STATE   AGE\na     ready   1s\nb     parked  1s\n");
  CHECK(shown(Rows({{"a", "ready", "2s"}, {"b", "parked", "2s"}})) == "");
  CHECK(shown(Rows({{"b", "parked", "3s"}, {"a", "assumed", "3s"}, {"c", "ready", "0s"}})) ==
        "a     assumed  3s\nc     ready    0s\n");
  // The columns stay as wide as they were.
  CHECK(shown(Rows({{"b", "ready", "4s"}, {"a", "assumed", "4s"}, {"c", "ready", "0s"}})) == "b     ready    4s\n");
  CHECK(shown(Rows({{"b", "ready", "4s"}})) == "a     gone\nc     gone\n");
}

TEST_CASE("a terminal is drawn over", "[printing]") {
  std::ostringstream out;
  Console console;
  console.out = &out;
  console.tty = true;
  console.columns = 10;
  Redraw redraw(console);
  redraw.Show(Rows({{"a", "ready", "1s"}}), kColumns, "1 of 2\n");
  CHECK(out.str() == "\x1b[HNAME  STAT\x1b[K\na     read\x1b[K\n1 of 2\x1b[K\n\x1b[J");
  out.str("");
  redraw.Show(Rows({{"a", "ready", "2s"}}), kColumns, "1 of 2\n");
  CHECK(out.str() == "");
}

TEST_CASE("what does not fit on the terminal is counted", "[printing]") {
  std::ostringstream out;
  Console console;
  console.out = &out;
  console.tty = true;
  console.lines = 4;
  Redraw redraw(console);
  redraw.Show(Rows({{"a", "x", ""}, {"b", "x", ""}, {"c", "x", ""}}), kColumns, "");
  CHECK(out.str() == "\x1b[HNAME  STATE  AGE\x1b[K\na     x\x1b[K\n... and 2 more\x1b[K\n\x1b[J");
}

TEST_CASE("equal texts are written once", "[printing]") {
  std::ostringstream out;
  Console console;
  console.out = &out;
  Redraw redraw(console);
  for (const std::string text : {"1\n", "1\n", "2\n", "1\n"}) redraw.ShowText(text);
  CHECK(out.str() == "1\n2\n1\n");
}

TEST_CASE("messages for scripts have every field", "[printing]") {
  queueing::v1::QueueSnapshot queue;
  queue.set_name("team-a");
  queue.set_ready(3);
  CHECK(OneLineJson(queue) ==
        R"({"name":"team-a","policy":"","priority":0,"ready":"3","resting":"0","parked":"0","assumed":"0",)"
        R"("trouble":"","waiting":[]})");
  CHECK_THAT(*MachineText(queue, Output::kJson), Catch::StartsWith("{\n  \"name\": \"team-a\",\n"));
  CHECK_THAT(*MachineText(queue, Output::kYaml), Catch::StartsWith("name: team-a\n"));
}

}  // namespace
}  // namespace kq::kqctl
