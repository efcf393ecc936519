#ifndef LIBS_COMMON_VERSION_H_
#define LIBS_COMMON_VERSION_H_

#include "absl/strings/string_view.h"

// What is shown by --version, the user agent and the build_info metric. The
// commit is given by whoever builds a release (--copt=-DKQ_GIT_COMMIT='"abc"');
// everyday builds do without, so that a commit does not compile everything anew.
#ifndef KQ_GIT_COMMIT
#define KQ_GIT_COMMIT "unknown"
#endif

namespace kq {

inline constexpr absl::string_view kVersion = "0.1.0";
inline constexpr absl::string_view kGitCommit = KQ_GIT_COMMIT;

}  // namespace kq

#endif  // LIBS_COMMON_VERSION_H_
