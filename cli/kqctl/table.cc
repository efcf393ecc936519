#include "cli/kqctl/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kq::kqctl {
namespace {

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

size_t DisplayWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

absl::string_view FirstColumns(absl::string_view text, size_t width) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (StartsCharacter(text[i]) && ++columns > width) return text.substr(0, i);
  }
  return text;
}

std::string Printable(absl::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    // C0, DEL, and C1 as UTF-8 (0xC2 0x80..0x9F).
    const bool c1 = c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0;
    if (c < 0x20 || c == 0x7F) out[i] = ' ';
    if (c1) out.replace(i, 2, " ");
  }
  return out;
}

void Table::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (size_t i = 0; i < least_.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], least_[i]);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  return widths;
}

std::string Table::Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths, size_t limit) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t used = DisplayWidth(cells[i]);
    const std::string padding(widths[i] > used ? widths[i] - used : 0, ' ');
    absl::StrAppend(&line, i == 0 ? "" : "  ");
    if (columns_[i].align == Align::kRight) {
      absl::StrAppend(&line, padding, cells[i]);
    } else {
      absl::StrAppend(&line, cells[i], padding);
    }
  }
  if (limit > 0) line = std::string(FirstColumns(line, limit));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Table::Text(size_t width) const {
  const std::vector<size_t> widths = Widths();
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = Line(titles, widths, width);
  for (const auto& row : rows_) text += Line(row, widths, width);
  return text;
}

std::string Table::RowText(const std::vector<std::string>& cells, size_t width) const {
  return Line(cells, Widths(), width);
}

}  // namespace kq::kqctl
