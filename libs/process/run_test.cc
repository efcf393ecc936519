#include "libs/process/run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "libs/common/captured_stderr.h"

namespace kq {
namespace {

using Lost = std::function<void()>;
using Started = absl::StatusOr<std::unique_ptr<RunningServer>>;

// Ends the process by itself if Stop is not called.
class QuietServer : public RunningServer {
 public:
  void Stop() override { stopped_ = true; }
  ~QuietServer() override {
    if (!stopped_) ::_exit(99);
  }

 private:
  bool stopped_ = false;
};

// Runs it in a process of its own, since it takes the signals; the exit code.
int ExitCodeOf(const std::function<Started(Lost)>& start) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(RunUntilStopped("program", start));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("a signal ends it well, after its Stop") {
  for (const int signal : {SIGTERM, SIGINT}) {
    CAPTURE(signal);
    CHECK(ExitCodeOf([signal](const Lost&) -> Started {
            ::kill(::getpid(), signal);
            return std::make_unique<QuietServer>();
          }) == kExitStopped);
  }
}

TEST_CASE("a lost lease has an exit code of its own") {
  const std::string logged = CapturedStderr([] {
    CHECK(ExitCodeOf([](const Lost& lost) -> Started {
            lost();
            return std::make_unique<QuietServer>();
          }) == kExitLostLease);
  });
  CHECK_THAT(logged, Catch::Contains("\nW") && Catch::Contains("\"Stopping\" because=\"the lease was lost\""));
}

TEST_CASE("a start that fails tells whose fault it is") {
  CHECK(ExitCodeOf([](const Lost&) -> Started { return absl::InvalidArgumentError("a flag"); }) ==
        kExitBadConfiguration);
  CHECK(ExitCodeOf([](const Lost&) -> Started { return absl::UnavailableError("a port"); }) == kExitCannotStart);
}

}  // namespace
}  // namespace kq
