#include "libs/common/version.h"

namespace kq {

extern const char kCommitStamp[];  // version_stamp.cc

absl::string_view GitCommit() {
  // What Bazel gives without a stamp, and without a commit.
  const absl::string_view stamp = kCommitStamp;
  return stamp.empty() || stamp == "0" ? "unknown" : stamp;
}

}  // namespace kq
