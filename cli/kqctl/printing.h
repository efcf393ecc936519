#ifndef CLI_KQCTL_PRINTING_H_
#define CLI_KQCTL_PRINTING_H_

#include <google/protobuf/message.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/kqctl/console.h"
#include "cli/kqctl/options.h"
#include "cli/kqctl/table.h"

namespace kq::kqctl {

// A message for scripts: protobuf's JSON (camelCase names, 64-bit numbers as
// strings), every field also where it has its default; or the same as YAML.
absl::StatusOr<std::string> MachineText(const google::protobuf::Message& message, Output output);
// The same JSON on one line.
std::string OneLineJson(const google::protobuf::Message& message);

// Shows a picture again and again. On a terminal it is drawn in place of the one
// before; elsewhere the first is written as a whole, and then the rows that are
// new or changed; those that vanished come once more, marked as gone. Equal
// pictures are not shown again. Not thread-safe.
class Redraw {
 public:
  explicit Redraw(const Console& console) : console_(console) {}

  // `volatile_column` changes by itself (an age); it alone is no change. Rows are
  // told apart by their first `key_columns` cells, and `state_column` says "gone"
  // of one that vanished.
  struct Columns {
    size_t key_columns = 1;
    std::optional<size_t> volatile_column;
    size_t state_column = 0;
  };
  void Show(Table table, const Columns& columns, const std::string& footer);
  // For scripts: `text` as it is, if it differs from the last one.
  void ShowText(const std::string& text);

 private:
  void DrawInPlace(const std::string& text);
  void AppendChanges(const Table& table, const Columns& columns);

  const Console& console_;
  bool first_ = true;
  std::string last_text_;
  std::vector<std::vector<std::string>> last_rows_;
  std::vector<size_t> widths_;  // so that appended lines stay in their columns
};

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_PRINTING_H_
