#ifndef CLI_KQCTL_TABLE_H_
#define CLI_KQCTL_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kq::kqctl {

// How many columns of a terminal `text` (UTF-8) takes, one per character.
size_t DisplayWidth(absl::string_view text);
// The first `width` columns; "..." or the like is up to the caller.
absl::string_view FirstColumns(absl::string_view text, size_t width);

// A text without control characters, which could play tricks on a terminal:
// names and messages come from users.
std::string Printable(absl::string_view text);

// Rows of cells in aligned columns, two spaces apart, without trailing spaces.
// Not thread-safe.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns. Cells are made Printable.
  void Add(std::vector<std::string> cells);

  size_t rows() const { return rows_.size(); }
  const std::vector<std::string>& row(size_t i) const { return rows_[i]; }

  // How wide the columns are, and the widths they have at least.
  std::vector<size_t> Widths() const;
  void WidenTo(const std::vector<size_t>& widths) { least_ = widths; }

  // The header and the rows; with a width > 0 longer lines are cut to it.
  std::string Text(size_t width = 0) const;
  // One row alone.
  std::string RowText(const std::vector<std::string>& cells, size_t width = 0) const;

 private:
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths, size_t limit) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> least_;
};

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_TABLE_H_
