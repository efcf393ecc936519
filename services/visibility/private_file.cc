#include "services/visibility/private_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace kq::visibility {

absl::Status WritePrivateFile(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const auto failed = [&](const char* what) {
    return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
  };
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed("cannot create");
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size());
  const bool closed = ::close(file) == 0;
  if (!whole || !closed) return failed("cannot write");
  return ::rename(fresh.c_str(), path.c_str()) == 0 ? absl::OkStatus() : failed("cannot replace");
}

}  // namespace kq::visibility
