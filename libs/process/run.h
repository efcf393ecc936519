#ifndef LIBS_PROCESS_RUN_H_
#define LIBS_PROCESS_RUN_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kq {

// What main runs: everything that a process of ours does.
class RunningServer {
 public:
  // As Stop.
  virtual ~RunningServer() = default;
  // Finishes what is on its way and ends all threads. Idempotent.
  virtual void Stop() = 0;
};

// Exit codes.
inline constexpr int kExitStopped = 0;           // by SIGTERM or SIGINT
inline constexpr int kExitCannotStart = 1;       // an address in use, a file that is not there
inline constexpr int kExitBadConfiguration = 2;  // flags, kubeconfig, configuration
inline constexpr int kExitLostLease = 3;

// Starts the server, runs it until a signal or until it lost its lease, stops it,
// and returns the exit code. `start` gets what to call, at most once and from any
// thread, when the lease is lost. Logs what it does under the program's name.
// To be called once, from the main thread, before there is any other.
int RunUntilStopped(const std::string& program,
                    const std::function<absl::StatusOr<std::unique_ptr<RunningServer>>(std::function<void()>)>& start);

}  // namespace kq

#endif  // LIBS_PROCESS_RUN_H_
