#include "libs/common/version.h"

namespace kq {

// The one of :commit_stamp takes its place where that is linked.
__attribute__((weak)) const char* StampedCommit() { return ""; }

absl::string_view GitCommit() {
  const absl::string_view stamp = StampedCommit();
  return stamp.empty() ? "unknown" : stamp;
}

}  // namespace kq
