#ifndef CLI_KQCTL_CONSOLE_H_
#define CLI_KQCTL_CONSOLE_H_

#include <cstddef>
#include <ostream>

#include "libs/common/clock.h"

namespace kq::kqctl {

// The surroundings of the program: where it writes, to whom, and what time it is.
// Everything outlives the program's run.
struct Console {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  const Clock* clock = nullptr;  // for ages
  bool tty = false;              // `out` is a terminal: pictures are redrawn in place
  bool unicode = false;          // it shows more than ASCII
  size_t columns = 0;            // of the terminal; 0: no limit
  size_t lines = 0;              // likewise
};

// The exit codes.
enum ExitCode : int {
  kOk = 0,
  kRefused = 1,      // not found, or refused by the server
  kUsage = 2,        // the command line is wrong
  kUnreachable = 3,  // no server that leads could be reached
};

}  // namespace kq::kqctl

#endif  // CLI_KQCTL_CONSOLE_H_
