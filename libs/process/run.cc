#include "libs/process/run.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "libs/common/log.h"
#include "libs/common/version.h"

namespace kq {
namespace {

// Stands for "the lease was lost".
constexpr int kLeaseSignal = SIGUSR1;

// Signals, and the server's own wish to end, arrive as signals at the main thread,
// which alone waits for them.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, kLeaseSignal}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

}  // namespace

int RunUntilStopped(const std::string& program,
                    const std::function<absl::StatusOr<std::unique_ptr<RunningServer>>(std::function<void()>)>& start) {
  KQ_LOG(Info, absl::StrCat("Starting ", program), {{"version", kVersion}, {"commit", GitCommit()}});
  const sigset_t signals = BlockSignals();
  const auto server = start([] { ::kill(::getpid(), kLeaseSignal); });
  if (!server.ok()) {
    KQ_LOG(Error, "Cannot start", {{"err", server.status()}});
    const bool configuration = absl::IsInvalidArgument(server.status()) || absl::IsUnimplemented(server.status());
    return configuration ? kExitBadConfiguration : kExitCannotStart;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  const bool lost = signal == kLeaseSignal;
  WriteLog(lost ? LogSeverity::kWarning : LogSeverity::kInfo, __FILE__, __LINE__, "Stopping",
           {{"because", lost ? "the lease was lost" : strsignal(signal)}});
  (*server)->Stop();
  KQ_LOG(Info, "Stopped");
  return lost ? kExitLostLease : kExitStopped;
}

}  // namespace kq
