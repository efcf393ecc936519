#ifndef SERVICES_VISIBILITY_TESTING_LOGGED_H_
#define SERVICES_VISIBILITY_TESTING_LOGGED_H_

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "libs/common/log.h"

namespace kq::visibility {

// What is written to stderr while `work` runs, at this verbosity. Not thread-safe.
inline std::string Logged(int verbosity, const std::function<void()>& work) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int kept = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(::fileno(file), STDERR_FILENO) >= 0);
  SetLogVerbosity(verbosity);
  work();
  SetLogVerbosity(0);
  REQUIRE(::dup2(kept, STDERR_FILENO) >= 0);
  ::close(kept);
  std::string text(static_cast<size_t>(::lseek(::fileno(file), 0, SEEK_END)), '\0');
  CHECK(::pread(::fileno(file), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_TESTING_LOGGED_H_
