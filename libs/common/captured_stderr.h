#ifndef LIBS_COMMON_CAPTURED_STDERR_H_
#define LIBS_COMMON_CAPTURED_STDERR_H_

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace kq {

// What is written to stderr while `run` runs, by its children too. For tests of what is logged.
inline std::string CapturedStderr(const std::function<void()>& run) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no temporary file");
  const int old = ::dup(STDERR_FILENO);
  if (old < 0 || ::dup2(::fileno(file), STDERR_FILENO) < 0) throw std::runtime_error("stderr cannot be led elsewhere");
  run();
  if (::dup2(old, STDERR_FILENO) < 0) throw std::runtime_error("stderr cannot be led back");
  ::close(old);
  std::string text(static_cast<size_t>(::lseek(::fileno(file), 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(::fileno(file), text.data(), text.size(), 0);
  if (got != static_cast<ssize_t>(text.size())) throw std::runtime_error("what was written cannot be read");
  std::fclose(file);
  return text;
}

}  // namespace kq

#endif  // LIBS_COMMON_CAPTURED_STDERR_H_
