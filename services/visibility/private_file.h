#ifndef SERVICES_VISIBILITY_PRIVATE_FILE_H_
#define SERVICES_VISIBILITY_PRIVATE_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace kq::visibility {

// Writes a file of mode 0600, beside its place first and then moved there, so that
// nobody ever sees a half one. kUnavailable with the path and the system's words.
absl::Status WritePrivateFile(const std::string& path, const std::string& text);

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_PRIVATE_FILE_H_
