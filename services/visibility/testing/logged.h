#ifndef SERVICES_VISIBILITY_TESTING_LOGGED_H_
#define SERVICES_VISIBILITY_TESTING_LOGGED_H_

#include <functional>
#include <string>

#include "libs/common/captured_stderr.h"
#include "libs/common/log.h"

namespace kq::visibility {

// What is written to stderr while `work` runs, at this verbosity. Not thread-safe.
inline std::string Logged(int verbosity, const std::function<void()>& work) {
  return CapturedStderr([&] {
    SetLogVerbosity(verbosity);
    work();
    SetLogVerbosity(0);
  });
}

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_TESTING_LOGGED_H_
