#include "cli/kqctl/printing.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/common/json.h"
#include "libs/common/status_macros.h"
#include "libs/common/yaml.h"

namespace kq::kqctl {
namespace {

std::vector<std::string> KeyOf(const std::vector<std::string>& row, size_t key_columns) {
  return {row.begin(), row.begin() + static_cast<ptrdiff_t>(std::min(key_columns, row.size()))};
}

std::vector<std::string> Without(std::vector<std::string> row, std::optional<size_t> column) {
  if (column.has_value() && *column < row.size()) row[*column].clear();
  return row;
}

}  // namespace

std::string OneLineJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  // It fails for times beyond the year 9999 alone, which no server sends.
  return status.ok() ? text : absl::StrCat("{\"error\": \"", std::string(status.message()), "\"}");
}

absl::StatusOr<std::string> MachineText(const google::protobuf::Message& message, Output output) {
  KQ_ASSIGN_OR_RETURN(const Json json, ParseJson(OneLineJson(message)));
  return output == Output::kYaml ? YamlText(json) : absl::StrCat(PrettyJsonText(json), "\n");
}

void Redraw::Show(Table table, const Columns& columns, const std::string& footer) {
  if (!console_.tty) table.WidenTo(widths_);
  widths_ = table.Widths();
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < table.rows(); ++i) rows.push_back(Without(table.row(i), columns.volatile_column));
  if (!first_ && rows == last_rows_) return;
  if (console_.tty) {
    DrawInPlace(absl::StrCat(table.Text(console_.columns), footer));
  } else if (first_) {
    *console_.out << table.Text();
  } else {
    AppendChanges(table, columns);
  }
  console_.out->flush();
  last_rows_ = std::move(rows);
  first_ = false;
}

void Redraw::AppendChanges(const Table& table, const Columns& columns) {
  std::map<std::vector<std::string>, std::vector<std::string>> before;
  for (std::vector<std::string>& row : last_rows_) before[KeyOf(row, columns.key_columns)] = row;
  for (size_t i = 0; i < table.rows(); ++i) {
    const std::vector<std::string>& row = table.row(i);
    const auto known = before.find(KeyOf(row, columns.key_columns));
    if (known == before.end() || known->second != Without(row, columns.volatile_column)) {
      *console_.out << table.RowText(row);
    }
    if (known != before.end()) before.erase(known);
  }
  for (auto& [key, row] : before) {
    row[columns.state_column] = "gone";
    *console_.out << table.RowText(row);
  }
}

void Redraw::ShowText(const std::string& text) {
  if (!first_ && text == last_text_) return;
  *console_.out << text;
  console_.out->flush();
  last_text_ = text;
  first_ = false;
}

void Redraw::DrawInPlace(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (console_.lines > 2 && lines.size() > console_.lines - 1) {
    const size_t hidden = lines.size() - (console_.lines - 2);
    lines.resize(console_.lines - 2);
    lines.push_back(absl::StrCat("... and ", hidden, " more"));
  }
  // To the top, each line over the old one, and what is left below is wiped out.
  *console_.out << "\x1b[H";
  for (const std::string& line : lines) *console_.out << line << "\x1b[K\n";
  *console_.out << "\x1b[J";
}

}  // namespace kq::kqctl
