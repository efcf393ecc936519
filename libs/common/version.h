#ifndef LIBS_COMMON_VERSION_H_
#define LIBS_COMMON_VERSION_H_

#include "absl/strings/string_view.h"

namespace kq {

// Shown by --version, the user agent and the build_info metric.
inline constexpr absl::string_view kVersion = "0.1.0";

// The commit at which the program was linked, "-dirty" behind it if something was edited;
// "unknown" in tests and in a build outside of git (tools/workspace_status.sh). A commit
// links nothing anew by itself: the program is then the same as at the commit before.
absl::string_view GitCommit();

}  // namespace kq

#endif  // LIBS_COMMON_VERSION_H_
