#include "e2e/support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/common/clock.h"

namespace kq::e2e {

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& command, const std::string& log) {
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0) return absl::InternalError(absl::StrCat(log, ": ", strerror(errno)));
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    // A test that is killed leaves nothing behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(output);
  if (pid < 0) return absl::InternalError(absl::StrCat("fork: ", strerror(errno)));
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), code_(other.code_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    code_ = other.code_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { Kill(); }

void ChildProcess::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

bool ChildProcess::Running() { return !Wait(absl::ZeroDuration()).ok(); }

absl::StatusOr<int> ChildProcess::Wait(absl::Duration timeout) {
  const Clock& clock = Clock::Real();
  const absl::Time give_up = clock.TimeNow() + timeout;
  while (pid_ > 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      break;
    }
    if (clock.TimeNow() >= give_up) return absl::DeadlineExceededError("still running");
    clock.SleepFor(absl::Milliseconds(10));
  }
  return code_;
}

void ChildProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  code_ = 128 + SIGKILL;
}

}  // namespace kq::e2e
