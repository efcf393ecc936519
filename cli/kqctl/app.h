#ifndef CLI_KQCTL_APP_H_
#define CLI_KQCTL_APP_H_

#include <string>
#include <vector>

#include "cli/kqctl/console.h"

namespace kq::kqctl {

// The whole program: `words` are the arguments after its name. Returns the exit
// code (console.h). What was asked for goes to console.out, everything else to
// console.err.
int RunKqctl(const std::vector<std::string>& words, const Console& console);

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_APP_H_
