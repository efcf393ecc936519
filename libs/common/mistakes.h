#ifndef LIBS_COMMON_MISTAKES_H_
#define LIBS_COMMON_MISTAKES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace kq {

// Gathers what is wrong with a configuration, so that all of it is told at once.
// Not thread-safe.
class Mistakes {
 public:
  void Add(absl::string_view mistake) { mistakes_.emplace_back(mistake); }
  // Nothing if the status is OK.
  void Add(const absl::Status& status) {
    if (!status.ok()) Add(status.message());
  }
  // kInvalidArgument with a line for each; OK if there is none.
  absl::Status Sum() const {
    return mistakes_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
  }

 private:
  std::vector<std::string> mistakes_;
};

}  // namespace kq

#endif  // LIBS_COMMON_MISTAKES_H_
