#ifndef E2E_SUPPORT_CHILD_PROCESS_H_
#define E2E_SUPPORT_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kq::e2e {

// A program that a test starts, kills and starts again. What it prints goes to a
// file. Ended with SIGKILL when the object dies, and when the thread that started
// it ends, so that no process is left. Not thread-safe.
class ChildProcess {
 public:
  // `command` is the program and its arguments; `log` is appended to.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string>& command, const std::string& log);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  bool Running();
  void Signal(int signal) const;
  // Waits for the end; the exit code, or 128 + the signal that ended it.
  // kDeadlineExceeded if it runs on.
  absl::StatusOr<int> Wait(absl::Duration timeout);
  // kill -9, and waits.
  void Kill();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;  // -1: ended, or moved from
  int code_ = 0;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_CHILD_PROCESS_H_
