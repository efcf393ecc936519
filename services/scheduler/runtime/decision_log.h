#ifndef SERVICES_SCHEDULER_RUNTIME_DECISION_LOG_H_
#define SERVICES_SCHEDULER_RUNTIME_DECISION_LOG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/common/clock.h"
#include "libs/common/json.h"
#include "services/scheduler/runtime/turn.h"

namespace kq::scheduler {

struct DecisionLogOptions {
  std::string folder;                 // made if it is not there
  int64_t max_file_bytes = 64 << 20;  // a file that reached it is followed by a new one
  int max_files = 8;                  // beyond it the oldest are deleted
  int64_t buffer_limit = 200000;      // events and decisions that wait to be written
  JsonObject config;                  // what the core was made with; goes into the header
  std::string version;                // of this program
};

// Everything the core was told and everything it decided, on disk, so that a
// replay can compute the same decisions again. Append-only, one JSON object a
// line, in files "decisions-<start of the process>-<number>.jsonl":
//
//   {"header":{"version":"...","run":"...","file":0,"config":{...}}}   first line of each file
//   {"event":{...},"now":N}                                            given to the core
//   {"cycle":7,"now":N,"asked":3,"decisions":[...]}                    a cycle
//   {"gap":{"turns":2}}                                                turns that are missing here
//
// N is nanoseconds since 1970. A cycle that asked nobody and decided nothing
// after no event is left out: it changed nothing.
//
// Record never waits: the turn goes into a bounded buffer, and a thread of the
// log's own encodes and writes it. A turn that found no room, or that the disk did not
// take, is missing; the log says so at that place, and Totals counts it. Lines
// are handed to the operating system, which writes them also when this process
// is killed; a crash of the machine may lose the last seconds.
//
// Thread-safe.
class DecisionLog : public TurnRecorder {
 public:
  // Opens the first file. An error says what about the folder does not work.
  // `clock` must outlive the log.
  static absl::StatusOr<std::unique_ptr<DecisionLog>> Open(DecisionLogOptions options, const Clock* clock);
  // As Drain.
  ~DecisionLog() override;

  void Record(const Turn& turn) override;

  // Writes what waits; waits up to `timeout` if nothing does. False if there was
  // nothing. One thread only.
  bool Step(absl::Duration timeout);
  // Calls Step until Drain. For the log's thread.
  void Run();
  // Run writes what waits and returns; later records are gaps. When no thread is
  // in Run, writes here.
  void Drain();

  struct Totals {
    int64_t turns = 0;    // written
    int64_t bytes = 0;    // likewise
    int64_t lost = 0;     // turns that are missing
    int64_t errors = 0;   // failed writes
    int64_t files = 0;    // begun
    int64_t waiting = 0;  // events and decisions
  };
  Totals Now() const;

 private:
  struct State;
  explicit DecisionLog(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_DECISION_LOG_H_
