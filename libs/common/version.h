#ifndef LIBS_COMMON_VERSION_H_
#define LIBS_COMMON_VERSION_H_

#include "absl/strings/string_view.h"

namespace kq {

// Shown by --version, the user agent and the build_info metric.
inline constexpr absl::string_view kVersion = "0.1.0";

// The last commit that changed what programs are made of, "-dirty" behind it if something
// of that was edited (tools/workspace_status.sh). "unknown" outside of git, and in every
// program that does not link :commit_stamp, as tests, which would else run anew.
absl::string_view GitCommit();

// Of :commit_stamp, or a weak one that is empty; GitCommit's alone.
const char* StampedCommit();

}  // namespace kq

#endif  // LIBS_COMMON_VERSION_H_
