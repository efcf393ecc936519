#ifndef CLI_KQCTL_COMPLETION_H_
#define CLI_KQCTL_COMPLETION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kq::kqctl {

// A script for `shell` (bash, zsh or fish) that completes commands and flags of
// kqctl. It is made from the commands themselves, so that none is left out.
// kInvalidArgument for another shell.
absl::StatusOr<std::string> CompletionScript(absl::string_view shell);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_COMPLETION_H_
